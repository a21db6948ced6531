// RUN: neuron-opt %s --verify-each -p 'neuron' | neuron-opt

// K loop with a ragged end, and a second matmul under a mask over two lanes.

builtin.module attributes {neuron.target = #neuron.target<trn2>} {
penguin.func @f(a = %a: !neuron.tensor<500x128xbf16, hbm>, b = %b: !neuron.tensor<500x300xbf16, hbm>) {

  %c = penguin.alloc : <128x300xf32, hbm>
  %acc = penguin.alloc : <128x300xf32, psum>
  penguin.for sequential %k = 0 to 4 {
    %s = penguin.alloc init 0.0 : <128x128xbf16, sbuf>
    %m = penguin.alloc init 0.0 : <128x300xbf16, sbuf>
    penguin.sb_atom_load %s <- %a[%k * 16384][128 x 128, 1 x 128] where 499 - %k * 128 - l0 >= 0
    penguin.sb_atom_load %m <- %b[%k * 38400][300 x 128, 1 x 300] where 499 - %k * 128 - l0 >= 0
    penguin.matmul %acc <- %s, %m where 499 - %k * 128 - l0 >= 0
    penguin.matmul %acc[0, 0][1 x 128, 1 x 64] <- %s, %m[0, 0][1 x 128, 1 x 64] where l0 - l1 + %k * 30 - 60 >= 0
  }
  %out = penguin.alloc : <128x300xf32, sbuf>
  penguin.tensor_copy %out <- %acc
  penguin.sb_atom_store %c <- %out
  penguin.return c = %c

}
}
