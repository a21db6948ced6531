// RUN: neuron-opt %s --verify-each -p 'neuron' | neuron-opt

// Accumulators that go on between instructions, through a loop with a ragged tail.

builtin.module attributes {neuron.target = #neuron.target<trn3>} {
penguin.func @f(a = %a: !neuron.tensor<3x100x96xf32, hbm>, b = %b: !neuron.tensor<100x96xbf16, hbm>, k = %k: !neuron.tensor<100x96xu8, hbm>, v = %v: !neuron.tensor<100x1xf32, hbm>) {
  %o = penguin.alloc init 0.0 : <9x100xf32, hbm>
  %y = penguin.alloc : <100x96xbf16, sbuf>
  %n = penguin.alloc : <100x96xu8, sbuf>
  %w = penguin.alloc : <100x1xf32, sbuf>
  %t = penguin.alloc : <100x96xf32, sbuf>
  %r = penguin.alloc : <100x1xf32, sbuf>
  penguin.sb_atom_load %y <- %b
  penguin.sb_atom_load %n <- %k
  penguin.sb_atom_load %w <- %v
  penguin.activation_accumulation Square %t <- %y {command = Zero}
  penguin.tensor_scalar_cache_reduce mult max %t <- %y, initial = %w {imm0 = 0.5, command = LoadAccumulate}
  penguin.for sequential %i = 0 to 3 {
    %x = penguin.alloc : <100x96xf32, sbuf>
    penguin.sb_atom_load %x <- %a[%i * 9600][96 x 100, 1 x 96]
    penguin.activation_accumulation Square %t <- %x where 99 - %i * 32 - l0 >= 0 {scale_imm = 0.5, command = AddAccumulate}
    penguin.tensor_scalar_cache_reduce mult max %t <- %x where 90 - %i - l1 >= 0 {imm0 = 2.0, command = AddAccumulate}
    penguin.tensor_tensor add %t <- %x, %x
    penguin.activation Exp %t <- %x
  }
  penguin.activation_accumulation Copy %t <- %y, reduce_res = %r {command = Idle}
  penguin.sb_atom_store %o[0][1 x 100, 1 x 1] <- %r
  penguin.select_reduce %t <- %n, %y, reduce_res = %r {on_false_imm = 1.5, command = AddAccumulate}
  penguin.sb_atom_store %o[100][1 x 100, 1 x 1] <- %r
  penguin.tensor_scalar_cache_cumulative mult add %t <- %y, accumulator = %r {imm0 = 0.25, command = AddAccumulate}
  penguin.sb_atom_store %o[200][1 x 100, 1 x 1] <- %r
  penguin.range_select_reduce is_ge is_lt %t <- %y, %w, %w, reduce_res = %r {command = Zero}
  penguin.sb_atom_store %o[300][1 x 100, 1 x 1] <- %r
  penguin.range_select_reduce is_ge is_le %t[32, 0][1 x 32, 1 x 96] <- %y[0, 0][1 x 32, 1 x 96], %w[0, 0][1 x 32, 1 x 1], %w[64, 0][1 x 32, 1 x 1], reduce_res = %r[64, 0][1 x 32, 1 x 1] {command = AddAccumulate}
  penguin.sb_atom_store %o[400][1 x 100, 1 x 1] <- %r
  penguin.exponential_reduce %t <- %y, max_value = %w, initial = %r {command = LoadAccumulate}
  penguin.exponential_reduce %t <- %y, reduce_res = %r {max_value_imm = 1.0, command = AddAccumulate}
  penguin.sb_atom_store %o[500][1 x 100, 1 x 1] <- %r
  penguin.tensor_scalar_cache_reduce add subtract %t <- %y, reduce_res = %r {imm0 = 1.0, negate, command = AddAccumulate}
  penguin.sb_atom_store %o[600][1 x 100, 1 x 1] <- %r
  penguin.activate2_reduce Abs %t <- %y, scalar0 = %w {op0 = mult, reduce_op = min}
  penguin.activate2_reduce Copy %t <- %y, reduce_res = %r {reduce_op = abs_max, command = AddAccumulate}
  penguin.sb_atom_store %o[700][1 x 100, 1 x 1] <- %r
  penguin.return o = %o
}
}
