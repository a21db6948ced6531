// RUN: neuron-opt %s | neuron-opt | filecheck %s
// RUN: neuron-opt %s --print-op-generic | neuron-opt | filecheck %s

// State of the engines, and what is out of use.

builtin.module attributes {neuron.target = #neuron.target<trn2>} {
  // CHECK: bir.func @f {
  bir.func @f {
    // CHECK: %t = bir.location @t : <128x8xf32, sbuf>
    %t = bir.location @t : <128x8xf32, sbuf>
    // CHECK: %u = bir.location @u : <128x8xf32, sbuf>
    %u = bir.location @u : <128x8xf32, sbuf>
    // CHECK: %v = bir.location @v : <128x1xf32, sbuf>
    %v = bir.location @v : <128x1xf32, sbuf>
    // CHECK: bir.load_act_func_set @I0 {act_func_set_id = 3, engine = Activation}
    bir.load_act_func_set @I0 {act_func_set_id = 3, engine = Activation}
    // CHECK: bir.activation_accumulation @R0 Copy %u <- %t {command = Zero, engine = Activation}
    bir.activation_accumulation @R0 Copy %u <- %t {command = Zero, engine = Activation}
    // CHECK: bir.tensor_scalar_cache_reduce @R1 mult add %u <- %t {imm0 = 1.0, engine = DVE}
    bir.tensor_scalar_cache_reduce @R1 mult add %u <- %t {imm0 = 1.0, engine = DVE}
    // CHECK: bir.read_activation_accumulator @I1 %v {engine = Activation}
    bir.read_activation_accumulator @I1 %v {engine = Activation}
    // CHECK: bir.activation_read_accumulator @I2 %v
    bir.activation_read_accumulator @I2 %v
    // CHECK: bir.dve_read_accumulator @I3 %v {negated, engine = DVE}
    bir.dve_read_accumulator @I3 %v {negated, engine = DVE}
    // CHECK: bir.generic_relu @I4 %u <- %t
    bir.generic_relu @I4 %u <- %t
    // CHECK: bir.tonga_reduce_macro_symbolic @I5 max %v <- %t {is_first_reduce, reduce_axes = [1]}
    bir.tonga_reduce_macro_symbolic @I5 max %v <- %t {is_first_reduce, reduce_axes = [1]}
    // CHECK: bir.device_print @I6 %t[0, 0][1 x 4, 1 x 8] {prefix = "t = ", output_buffer = stderr}
    bir.device_print @I6 %t[0, 0][1 x 4, 1 x 8] {prefix = "t = ", output_buffer = stderr}
  }
}
