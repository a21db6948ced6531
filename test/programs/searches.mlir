// RUN: neuron-opt %s --verify-each -p 'neuron' | neuron-opt

// Two rounds of the 8 largest, as top-k kernels do it.

builtin.module attributes {neuron.target = #neuron.target<trn2>} {
penguin.func @f(a = %a: !neuron.tensor<64x200xbf16, hbm>) {
  %c = penguin.alloc : <64x16xbf16, hbm>
  %d = penguin.alloc : <64x16xu32, hbm>
  %e = penguin.alloc : <64x200xbf16, hbm>
  %x = penguin.alloc : <64x200xbf16, sbuf>
  %y = penguin.alloc : <64x200xbf16, sbuf>
  %v = penguin.alloc : <64x16xbf16, sbuf>
  %n = penguin.alloc : <64x16xu32, sbuf>
  %h = penguin.alloc : <64x8xu16, sbuf>
  penguin.sb_atom_load %x <- %a
  penguin.tensor_copy %y <- %x
  penguin.for sequential %i = 0 to 2 {
    penguin.sunda_max8 %v[0, %i * 8][1 x 64, 1 x 8] <- %y
    penguin.sunda_max_index8 %n[0, %i * 8][1 x 64, 1 x 8] <- %x, %v[0, %i * 8][1 x 64, 1 x 8]
    penguin.sunda_match_replace8 %y <- %y, %v[0, %i * 8][1 x 64, 1 x 8] {imm = -inf}
  }
  penguin.max_index_and_match_replace %x, %h <- %x, %v[0, 0][1 x 64, 1 x 8] {imm = 0.0}
  penguin.tensor_copy %n[0, 8][1 x 64, 1 x 8] <- %h
  penguin.sb_atom_store %c <- %v
  penguin.sb_atom_store %d <- %n
  penguin.sb_atom_store %e <- %x
  penguin.return c = %c, d = %d, e = %e
}
}
