// RUN: neuron-opt %s --verify-each -p 'penguin-to-bir,bir-to-dma{max-instructions=5}' | neuron-opt

// Ten thousand iterations; conditions on the loop index.

builtin.module attributes {neuron.target = #neuron.target<trn2>} {
penguin.func @f(a = %a: !neuron.tensor<10000x4xf32, hbm>) {

  %c = penguin.alloc : <10000x4xf32, hbm>
  %n = penguin.alloc : <1x4xf32, sbuf>
  penguin.memset %n {value = 0.0}
  penguin.for sequential %i = 0 to 10000 {
    %t = penguin.alloc : <1x4xf32, sbuf>
    penguin.sb_atom_load %t <- %a[%i * 4][4 x 1, 1 x 4]
    penguin.tensor_tensor add %n <- %n, %t
    penguin.tensor_tensor add %t <- %n, %t where 9998 - %i >= 0
    penguin.sb_atom_store %c[39996 - %i * 4][4 x 1, 1 x 4] <- %t where (%i) mod 3 - 1 >= 0
    penguin.sb_atom_store %c[39996 - %i * 4][4 x 1, 1 x 4] <- %n where (-%i) mod 3 - 2 >= 0
    penguin.sb_atom_store %c[39996 - %i * 4][4 x 1, 1 x 4] <- %t where -((%i) mod 3) >= 0
  }
  penguin.return c = %c

}
}
