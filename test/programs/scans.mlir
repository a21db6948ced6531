// RUN: neuron-opt %s --verify-each -p 'neuron' | neuron-opt

// Scans and row reductions, in a loop with a ragged tail.

builtin.module attributes {neuron.target = #neuron.target<trn2>} {
penguin.func @f(a = %a: !neuron.tensor<300x96xf32, hbm>, b = %b: !neuron.tensor<300x96xbf16, hbm>) {
  %c = penguin.alloc init 0.0 : <5x300x96xf32, hbm>
  %d = penguin.alloc init 0.0 : <3x300xf32, hbm>
  penguin.for parallel %i = 0 to 3 {
    %x = penguin.alloc : <128x96xf32, sbuf>
    %y = penguin.alloc : <128x96xbf16, sbuf>
    %t = penguin.alloc : <128x96xf32, sbuf>
    %r = penguin.alloc : <128x1xf32, sbuf>
    penguin.sb_atom_load %x <- %a[%i * 12288][96 x 128, 1 x 96] where 299 - %i * 128 - l0 >= 0
    penguin.sb_atom_load %y <- %b[%i * 12288][96 x 128, 1 x 96] where 299 - %i * 128 - l0 >= 0
    penguin.tensor_tensor_scan mult add %t <- %y, %x where 299 - %i * 128 - l0 >= 0 {initial_imm = 0.5}
    penguin.sb_atom_store %c[%i * 12288][96 x 128, 1 x 96] <- %t where 299 - %i * 128 - l0 >= 0
    penguin.tensor_scalar_cache_cumulative add max %t <- %x, accumulator = %r where 299 - %i * 128 - l0 >= 0 {imm0 = 1.0}
    penguin.sb_atom_store %c[%i * 12288 + 28800][96 x 128, 1 x 96] <- %t where 299 - %i * 128 - l0 >= 0
    penguin.sb_atom_store %d[%i * 128][1 x 128, 1 x 1] <- %r where 299 - %i * 128 - l0 >= 0
    penguin.scalar_tensor_tensor mult subtract %t <- %x, %y, scalar0 = %r where 299 - %i * 128 - l0 >= 0 {reverse1}
    penguin.scalar_tensor_tensor add mult %t <- %x, %x where 299 - %i * 128 - l0 >= 0 and l0 - l1 >= 0 {imm0 = 0.25}
    penguin.sb_atom_store %c[%i * 12288 + 57600][96 x 128, 1 x 96] <- %t where 299 - %i * 128 - l0 >= 0
    penguin.tensor_scalar_cache_reduce mult min %t <- %x, reduce_res = %r where 299 - %i * 128 - l0 >= 0 and 94 - l1 >= 0 {imm0 = 2.0}
    penguin.sb_atom_store %c[%i * 12288 + 86400][96 x 128, 1 x 96] <- %t where 299 - %i * 128 - l0 >= 0
    penguin.sb_atom_store %d[%i * 128 + 300][1 x 128, 1 x 1] <- %r where 299 - %i * 128 - l0 >= 0
    penguin.activation_accumulation Square %t <- %y, reduce_res = %r where 299 - %i * 128 - l0 >= 0 {scale_imm = 0.5}
    penguin.sb_atom_store %c[%i * 12288 + 115200][96 x 128, 1 x 96] <- %t where 299 - %i * 128 - l0 >= 0
    penguin.sb_atom_store %d[%i * 128 + 600][1 x 128, 1 x 1] <- %r where 299 - %i * 128 - l0 >= 0
  }
  penguin.return c = %c, d = %d
}
}
