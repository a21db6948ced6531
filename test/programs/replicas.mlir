// RUN: neuron-opt %s --verify-each -p 'neuron' | neuron-opt

// Rows that are copied to several groups of rows, tensors that are folded by the DMA
// engines, and constants of an instruction.

builtin.module attributes {neuron.target = #neuron.target<trn2>} {
penguin.func @f(a = %a: !neuron.tensor<3x32x40xf32, hbm>, n = %n: !neuron.tensor<32x16xi32, hbm>, w = %w: !neuron.tensor<2x40000xf32, hbm>) {
  %c = penguin.alloc : <3x128x40xbf16, hbm>
  %d = penguin.alloc : <96x16xi32, hbm>
  %e = penguin.alloc : <4x40000xf32, hbm>
  penguin.for sequential %i = 0 to 3 {
    %x = penguin.alloc : <128x40xf32, sbuf>
    %y = penguin.alloc : <128x40xbf16, sbuf>
    penguin.neuron_replicate_ap %x <- %a[%i * 1280][40 x 32, 1 x 40]
    penguin.tensor_scalar subtract %x <- %x where 40 + %i - l1 - l0 >= 0 {const0 = 2.5, reverse0, op1 = max, const1 = -1.0}
    penguin.tensor_scalar add %y <- %x {const0 = 0.5}
    penguin.sb_atom_store %c[%i * 5120][40 x 128, 1 x 40] <- %y
  }
  %m = penguin.alloc : <32x16xi32, sbuf>
  penguin.sb_atom_load %m <- %n
  penguin.tensor_scalar bitwise_and %m <- %m {const0 = -2, op1 = bitwise_xor, const1 = 2147483647}
  penguin.tensor_scalar logical_shift_left %m <- %m {const0 = 1, reverse0}
  penguin.for parallel %j = 0 to 3 {
    penguin.tiled_offloaded_fma %c[%j * 5120][40 x 128, 1 x 40] <- %a[0][0 x 4, 1280 x 1, 1 x 1280], src1 = %c[%j * 5120][40 x 128, 1 x 40], src2 = %a[%j * 1280][0 x 4, 1 x 1280] {constants = [1.0, -0.5, 0.1]}
  }
  penguin.tiled_offloaded_fma %m <- %m, src1 = %n {op = min}
  penguin.neuron_replicate_ap %d <- %m
  penguin.neuron_replicate_ap %e <- %w
  penguin.return c = %c, d = %d, e = %e
}
}
