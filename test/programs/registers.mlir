// RUN: neuron-opt %s --verify-each -p 'neuron' | neuron-opt

// Offsets in registers: their DMA stays dynamic at every level.

builtin.module attributes {neuron.target = #neuron.target<trn2>} {
penguin.func @f(a = %a: !neuron.tensor<120x40xf32, hbm>, index = %index: !neuron.tensor<1x6xi32, hbm>) {
  %c = penguin.alloc init 3.0 : <6x40xf32, hbm>
  %n = penguin.alloc : <1x6xi32, sbuf>
  penguin.sb_atom_load %n <- %index
  penguin.tensor_scalar_ptr max %n <- %n {imm0 = 0}
  penguin.for sequential %i = 0 to 6 {
    %t = penguin.alloc init 1.0 : <1x40xf32, sbuf>
    %r = penguin.load_tensor_to_register %n[0, %i][1 x 1, 1 x 1]
    penguin.sb_atom_load %t[0, 0][1 x 1, 1 x 39] <- %a[%r * 40 + %i][40 x 1, 1 x 39] where 37 - l1 >= 0
    penguin.sb_atom_store %c[%i * 40][40 x 1, 1 x 40] <- %t where 30 + %i - l1 >= 0
  }
  penguin.return c = %c
}
}
