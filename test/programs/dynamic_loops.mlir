// RUN: neuron-opt %s --verify-each -p 'neuron' | neuron-opt

// Loops up to a register, nested and in a static one, and one until a register is zero.

builtin.module attributes {neuron.target = #neuron.target<trn2>} {
penguin.func @f(a = %a: !neuron.tensor<120x40xf32, hbm>, w = %w: !neuron.tensor<40x8xf32, hbm>, index = %index: !neuron.tensor<1x6xi32, hbm>) {
  %c = penguin.alloc init 3.0 : <60x40xf32, hbm>
  %d = penguin.alloc init 0.0 : <40x8xf32, hbm>
  %n = penguin.alloc : <1x6xi32, sbuf>
  penguin.sb_atom_load %n <- %index
  penguin.tensor_scalar_ptr min %n <- %n {imm0 = 9, op1 = max, imm1 = 0}
  %wt = penguin.alloc : <40x8xf32, sbuf>
  penguin.sb_atom_load %wt <- %w
  penguin.for sequential %i = 0 to 6 {
    %r = penguin.load_tensor_to_register %n[0, %i][1 x 1, 1 x 1]
    penguin.dynamic_for %j = 0 to %r {
      %t = penguin.alloc init 1.0 : <1x40xf32, sbuf>
      penguin.sb_atom_load %t[0, 0][1 x 1, 1 x 39] <- %a[%j * 40 + %i][40 x 1, 1 x 39] where 37 - l1 - %j >= 0
      penguin.tensor_tensor add %t <- %t, %t
      penguin.sb_atom_store %c[%i * 400 + %j * 40][40 x 1, 1 x 40] <- %t
    }
  }
  %count = penguin.alloc : <1x2xi32, sbuf>
  %zero = penguin.register_move {value = 3}
  penguin.store_register_to_tensor %count[0, 0][1 x 1, 1 x 1] {value = %zero}
  penguin.do_while {
    %k = penguin.load_tensor_to_register %count[0, 0][1 x 1, 1 x 1]
    %less = penguin.register_alu subtract {lhs = %k, rhs = 1}
    penguin.store_register_to_tensor %count[0, 0][1 x 1, 1 x 1] {value = %less}
    %twice = penguin.register_alu add {lhs = %less, rhs = %less}
    penguin.dynamic_for %row = 0 to %twice * 3 + 1 step 2 {
      %acc = penguin.alloc : <8x40xf32, psum>
      %x = penguin.alloc : <40x40xf32, sbuf>
      penguin.sb_atom_load %x <- %a[%row * 80][40 x 40, 1 x 40]
      penguin.for sequential %part = 0 to 2 {
        penguin.matmul %acc <- %wt, %x
      }
      %out = penguin.alloc : <8x40xf32, sbuf>
      penguin.tensor_copy %out <- %acc
      penguin.sb_atom_store %d[%row][8 x 40, 1 x 8] <- %out[0, 0][1 x 8, 1 x 40] where 0 - %row >= 0
    }
    penguin.continue_if %less
  }
  penguin.return c = %c, d = %d
}
}
