// RUN: neuron-opt %s --split-input-file --verify-diagnostics

bir.func @f {
  %i = bir.location @i ExternalInput : <1x4xi32, hbm>
  %t = bir.location @t : <128x8xf32, sbuf>
  %v = bir.location @v : <128x1xf32, sbuf>
  // near miss: ` {act_func_set_id = -1}` -> ``
  // expected-error @below {{'act_func_set_id' is the number of a set, got -1}}
  bir.load_act_func_set @I0 {act_func_set_id = -1}
  // near miss: ` {engine = DVE}` -> ``
  // expected-error @below {{runs on engine DVE, expected one of Activation or Unassigned}}
  bir.load_act_func_set @I1 {engine = DVE}
  // expected-error @below {{reads the accumulators of engine DVE, which no instruction in front of it has reset; start with reset_reduce or load_reduce}}
  bir.dve_read_accumulator @U %v
  bir.activation_accumulation @R0 Copy %t <- %t
  bir.tensor_scalar_cache_reduce @R1 mult add %t <- %t {imm0 = 1.0}
  // near miss: `%t` -> `%v`
  // expected-error @below {{an accumulator holds one value per partition}}
  bir.read_activation_accumulator @I2 %t
  // near miss: `%t` -> `%v`
  // expected-error @below {{an accumulator holds one value per partition}}
  bir.activation_read_accumulator @I3 %t
  // near miss: ` {engine = Activation}` -> ``
  // expected-error @below {{runs on engine Activation, expected one of DVE or Unassigned}}
  bir.dve_read_accumulator @I4 %v {engine = Activation}
  // near miss: `%t` -> `%v`
  // expected-error @below {{tile shape mismatch, expected '[128, 8]' of 'dst', got [128, 1] for 'src'}}
  bir.generic_relu @I5 %t <- %v
  // near miss: `2` -> `1`
  // expected-error @below {{'reduce_axes' are axes of a 2-D input, got [2]}}
  bir.tonga_reduce_macro_symbolic @I6 add %v <- %t {reduce_axes = [2]}
  %r = bir.tensor_load @L %i[0][1 x 1]
  // near miss: ` where 4 - %r >= 0` -> ``
  // expected-error @below {{a device print has no mask}}
  bir.device_print @I7 %t where 4 - %r >= 0 {prefix = ""}
  // near miss: ` where 4 - l0 >= 0` -> ``
  // expected-error @below {{uses lane l0, but the instruction has 0 lanes}}
  bir.device_print @I8 %t where 4 - l0 >= 0 {prefix = ""}
}
