// RUN: neuron-opt %s --verify-each -p 'neuron' | neuron-opt

// Masks over two lanes, with `//` and `%`, on DMA, elementwise and reductions.

builtin.module attributes {neuron.target = #neuron.target<trn2>} {
penguin.func @f(a = %a: !neuron.tensor<512x96xf32, hbm>) {

  %c = penguin.alloc init -1.0 : <512x96xf32, hbm>
  %d = penguin.alloc init 7.0 : <512x1xbf16, hbm>
  %e = penguin.alloc : <512x96xi32, hbm>
  penguin.for parallel %i = 0 to 4 {
    %t = penguin.alloc init 0.0 : <128x96xf32, sbuf>
    %u = penguin.alloc : <128x96xbf16, sbuf>
    %v = penguin.alloc : <128x96xi32, sbuf>
    %w = penguin.alloc init 3 : <128x96xi32, sbuf>
    %r = penguin.alloc init 7.0 : <128x1xbf16, sbuf>
    penguin.sb_atom_load %t <- %a[%i * 12288][96 x 128, 1 x 96] where 480 - %i * 128 - l0 >= 0 and l0 - l1 + 30 >= 0
    penguin.memset %u {value = 3.0}
    penguin.tensor_scalar_ptr mult %u <- %t where 499 - %i * 128 - l0 >= 0 and l0 - l1 + %i * 4 >= 0 and (l1) mod 3 - 1 >= 0 {imm0 = 2.0}
    penguin.tensor_copy %t <- %u where (l0 + l1) floordiv 5 - %i >= 0
    penguin.tensor_reduce max %r <- %u where 499 - %i * 128 - l0 >= 0 and l0 - l1 + %i * 40 - 130 >= 0 {axes = [1]}
    penguin.tensor_reduce add %t[0, 0][1 x 128, 1 x 1] <- %t where l1 - l0 >= 0 {axes = [1]}
    penguin.index_value %v {value = %i * 1000 + l0 * 96 + l1}
    penguin.tensor_tensor mult %w <- %v, %v where l1 * 2 - l0 >= 0
    penguin.memset %w where l0 - l1 * 2 - 9 >= 0 {value = -5}
    penguin.sb_atom_store %c[%i * 12288][96 x 128, 1 x 96] <- %t where l0 - l1 >= 0
    penguin.sb_atom_store %d[%i * 128][1 x 128, 1 x 1] <- %r
    penguin.sb_atom_store %e[%i * 12288][96 x 128, 1 x 96] <- %w
  }
  penguin.return c = %c, d = %d, e = %e

}
}
