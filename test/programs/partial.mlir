// RUN: neuron-opt %s --verify-each -p 'neuron' | neuron-opt

// Matmuls that find only a part of their destination fresh.

builtin.module attributes {neuron.target = #neuron.target<trn2>} {
penguin.func @f(a = %a: !neuron.tensor<128x128xbf16, hbm>, b = %b: !neuron.tensor<128x512xbf16, hbm>) {

  %c = penguin.alloc : <128x512xf32, hbm>
  %s = penguin.alloc : <128x128xbf16, sbuf>
  %m = penguin.alloc : <128x512xbf16, sbuf>
  penguin.sb_atom_load %s <- %a
  penguin.sb_atom_load %m <- %b
  %p = penguin.alloc init 0.0 : <128x512xf32, psum>
  penguin.matmul %p[0, 0][1 x 128, 2 x 200] <- %s, %m[0, 0][1 x 128, 1 x 200]
  penguin.for sequential %k = 2 to 8 step 3 {
    penguin.matmul %p[0, 0][1 x 128, 1 x 500] <- %s, %m[0, 0][1 x 128, 1 x 500]
    penguin.for sequential %j = 0 to 3 {
      penguin.matmul %p[0, %j * 8][1 x 128, 1 x 8] <- %s, %m[0, 0][1 x 128, 1 x 8] where %j - %k + 1 >= 0
    }
  }
  %x = penguin.alloc : <128x512xf32, sbuf>
  penguin.tensor_copy %x <- %p
  penguin.sb_atom_store %c <- %x
  penguin.return c = %c

}
}
