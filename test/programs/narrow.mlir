// RUN: neuron-opt %s --verify-each -p 'neuron' | neuron-opt

// Matmuls with one row and with one column.

builtin.module attributes {neuron.target = #neuron.target<trn2>} {
penguin.func @f(a = %a: !neuron.tensor<128x1xf32, hbm>, b = %b: !neuron.tensor<128x77xf32, hbm>) {

  %c = penguin.alloc : <1x77xf32, hbm>
  %d = penguin.alloc : <77x1xf32, hbm>
  %s = penguin.alloc : <128x1xf32, sbuf>
  %m = penguin.alloc : <128x77xf32, sbuf>
  penguin.sb_atom_load %s <- %a
  penguin.sb_atom_load %m <- %b
  %p = penguin.alloc : <1x77xf32, psum>
  %q = penguin.alloc : <77x1xf32, psum>
  penguin.for sequential %k = 0 to 3 {
    penguin.matmul %p <- %s, %m
    penguin.matmul %q <- %m, %s
  }
  %x = penguin.alloc : <1x77xf32, sbuf>
  %y = penguin.alloc : <77x1xf32, sbuf>
  penguin.tensor_copy %x <- %p
  penguin.tensor_copy %y <- %q
  penguin.sb_atom_store %c <- %x
  penguin.sb_atom_store %d <- %y
  penguin.return c = %c, d = %d

}
}
