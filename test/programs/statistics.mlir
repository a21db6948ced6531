// RUN: neuron-opt %s --verify-each -p 'neuron' | neuron-opt

// Batch normalisation forwards and backwards, with a ragged last tile.

builtin.module attributes {neuron.target = #neuron.target<trn2>} {
penguin.func @f(a = %a: !neuron.tensor<200x96xf32, hbm>, g = %g: !neuron.tensor<200x96xf32, hbm>) {
  %c = penguin.alloc init 0.0 : <200x2xf32, hbm>
  %d = penguin.alloc init 0.0 : <200x3xf32, hbm>
  %h = penguin.alloc init 0.0 : <200x96xf32, hbm>
  %e = penguin.alloc init 0.0 : <200x96xbf16, hbm>
  penguin.for parallel %i = 0 to 2 {
    %x = penguin.alloc : <128x96xf32, sbuf>
    %y = penguin.alloc : <128x96xf32, sbuf>
    %s = penguin.alloc : <128x12xf32, sbuf>
    %m = penguin.alloc : <128x2xf32, sbuf>
    %t = penguin.alloc : <128x3xf32, sbuf>
    %o = penguin.alloc : <128x96xbf16, sbuf>
    penguin.sb_atom_load %x <- %a[%i * 12288][96 x 128, 1 x 96] where 199 - %i * 128 - l0 >= 0
    penguin.sb_atom_load %y <- %g[%i * 12288][96 x 128, 1 x 96] where 199 - %i * 128 - l0 >= 0
    penguin.for sequential %j = 0 to 2 {
      penguin.sunda_bn_stats %s[0, %j * 6][1 x 128, 1 x 6] <- %x[0, %j * 48][1 x 128, 1 x 48] where 199 - %i * 128 - l0 >= 0
    }
    penguin.sunda_bn_aggr %m <- %s where 199 - %i * 128 - l0 >= 0
    penguin.bn_gradients %t <- %x, %y, %m[0, 0][1 x 128, 1 x 1], %m[0, 1][1 x 128, 1 x 1] where 199 - %i * 128 - l0 >= 0
    penguin.bn_backprop %o <- %x, %y, %m[0, 0][1 x 128, 1 x 1], %t where 199 - %i * 128 - l0 >= 0 {total_elements = 96.0}
    penguin.bn_backprop2 %y <- %x, %y, %m[0, 0][1 x 128, 1 x 1], %t[0, 1][1 x 128, 1 x 1], %m where 199 - %i * 128 - l0 >= 0 {total_elements = 96.0}
    penguin.sb_atom_store %h[%i * 12288][96 x 128, 1 x 96] <- %y where 199 - %i * 128 - l0 >= 0
    penguin.sb_atom_store %c[%i * 256][2 x 128, 1 x 2] <- %m where 199 - %i * 128 - l0 >= 0
    penguin.sb_atom_store %d[%i * 384][3 x 128, 1 x 3] <- %t where 199 - %i * 128 - l0 >= 0
    penguin.sb_atom_store %e[%i * 12288][96 x 128, 1 x 96] <- %o where 199 - %i * 128 - l0 >= 0
  }
  penguin.return c = %c, d = %d, e = %e, h = %h
}
}
