// Masks, a rolled accumulation and a gather over arrays without equal elements.

builtin.module attributes {neuron.target = #neuron.target<trn2>} {
  penguin.func @f(a = %a: !neuron.tensor<12x10xf32, hbm>, w = %w: !neuron.tensor<65x13xf32, hbm>, rows = %rows: !neuron.tensor<5x1xi32, hbm>) {
    %out = penguin.alloc : <12x10xf32, hbm>
    %product = penguin.alloc : <6x7xf32, hbm>
    %picked = penguin.alloc : <5x10xf32, hbm>
    penguin.for parallel %i = 0 to 3 {
      %t = penguin.alloc : <5x10xf32, sbuf>
      penguin.sb_atom_load %t <- %a[%i * 50][10 x 5, 1 x 10] where 11 - %i * 5 - l0 >= 0
      penguin.tensor_scalar_ptr subtract %t <- %t {imm0 = 3.0, reverse0}
      penguin.sb_atom_store %out[%i * 50][10 x 5, 1 x 10] <- %t where 11 - %i * 5 - l0 >= 0
    }
    %left = penguin.alloc : <64x6xf32, sbuf>
    %right = penguin.alloc : <64x7xf32, sbuf>
    %sum = penguin.alloc : <6x7xf32, psum>
    %copied = penguin.alloc : <6x7xf32, sbuf>
    penguin.sb_atom_load %left <- %w[0][13 x 64, 1 x 6]
    penguin.sb_atom_load %right <- %w[6][13 x 64, 1 x 7]
    penguin.for sequential %k = 0 to 2 {
      penguin.matmul %sum <- %left[%k * 32, 0][1 x 32, 1 x 6], %right[%k * 32, 0][1 x 32, 1 x 7]
    }
    penguin.tensor_copy %copied <- %sum
    penguin.sb_atom_store %product <- %copied
    %index = penguin.alloc : <5x1xi32, sbuf>
    %found = penguin.alloc : <5x10xf32, sbuf>
    penguin.sb_atom_load %index <- %rows
    penguin.neuron_indirect_load %found <- %a[0][10 x 5, 1 x 10], %index {max_index = 12}
    penguin.sb_atom_store %picked <- %found
    penguin.return out = %out, product = %product, picked = %picked
  }
}
