// RUN: neuron-opt %s --verify-each -p 'neuron' | neuron-opt

// DMA transposes of rank 2 and 3.

builtin.module attributes {neuron.target = #neuron.target<trn2>} {
penguin.func @f(a = %a: !neuron.tensor<64x48xbf16, hbm>, b = %b: !neuron.tensor<16x3x40xbf16, hbm>) {

  %c = penguin.alloc : <48x64xbf16, hbm>
  %d = penguin.alloc : <40x3x16xbf16, hbm>
  %t = penguin.alloc : <48x64xbf16, sbuf>
  %u = penguin.alloc init 1.0 : <40x3x16xbf16, sbuf>
  penguin.dma_transpose_load %t <- %a {axes = [1, 0]}
  penguin.dma_transpose_load %u <- %b where 12 - l0 >= 0 {axes = [2, 1, 0]}
  penguin.sb_atom_store %c <- %t
  penguin.sb_atom_store %d <- %u
  penguin.return c = %c, d = %d

}
}
