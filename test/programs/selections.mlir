// RUN: neuron-opt %s --verify-each -p 'neuron' | neuron-opt

// A causal softmax by selections, and a masked affine selection.

builtin.module attributes {neuron.target = #neuron.target<trn2>} {
penguin.func @f(a = %a: !neuron.tensor<200x96xf32, hbm>, p = %p: !neuron.tensor<200x96xu8, hbm>) {
  %c = penguin.alloc init 0.0 : <3x200x96xf32, hbm>
  %d = penguin.alloc init 0.0 : <2x200x1xf32, hbm>
  penguin.for parallel %i = 0 to 2 {
    %x = penguin.alloc : <128x96xf32, sbuf>
    %n = penguin.alloc : <128x96xu8, sbuf>
    %t = penguin.alloc init 0.0 : <128x96xf32, sbuf>
    %lo = penguin.alloc init 0.0 : <128x1xf32, sbuf>
    %hi = penguin.alloc : <128x1xf32, sbuf>
    %m = penguin.alloc : <128x1xf32, sbuf>
    penguin.sb_atom_load %x <- %a[%i * 12288][96 x 128, 1 x 96] where 199 - %i * 128 - l0 >= 0
    penguin.sb_atom_load %n <- %p[%i * 12288][96 x 128, 1 x 96] where 199 - %i * 128 - l0 >= 0
    penguin.index_value %hi {value = %i * 40 + l0}
    penguin.range_select_reduce is_ge is_le %t <- %x, %lo, %hi, reduce_res = %m where 199 - %i * 128 - l0 >= 0 {range_start = 2}
    penguin.sb_atom_store %c[%i * 12288][96 x 128, 1 x 96] <- %t where 199 - %i * 128 - l0 >= 0
    penguin.sb_atom_store %d[%i * 128][1 x 128, 1 x 1] <- %m where 199 - %i * 128 - l0 >= 0
    penguin.aff_sel_tensor_scalar is_ge %t <- %x where 199 - %i * 128 - l0 >= 0 and l1 - 5 >= 0 {value = %i * 40 + l0 - l1, fill = -7.0}
    penguin.aff_sel_tensor_scalar not_equal %t <- %t where 199 - %i * 128 - l0 >= 0 and l0 + l1 - 30 >= 0 {value = (l0 + l1) mod 3, fill = 9.0}
    penguin.sb_atom_store %c[%i * 12288 + 19200][96 x 128, 1 x 96] <- %t where 199 - %i * 128 - l0 >= 0
    penguin.select_reduce %t <- %n, %x, reduce_res = %m, on_false = %hi where 199 - %i * 128 - l0 >= 0 and 90 - l1 >= 0
    penguin.range_select is_gt is_lt %t <- %t, %lo, %hi where 199 - %i * 128 - l0 >= 0
    penguin.sb_atom_store %c[%i * 12288 + 38400][96 x 128, 1 x 96] <- %t where 199 - %i * 128 - l0 >= 0
    penguin.sb_atom_store %d[%i * 128 + 200][1 x 128, 1 x 1] <- %m where 199 - %i * 128 - l0 >= 0
  }
  penguin.return c = %c, d = %d
}
}
