// RUN: neuron-opt %s --split-input-file --verify-diagnostics

penguin.func @loops(a = %a: !neuron.tensor<8x8xi32, hbm>) {
  %n = penguin.load_tensor_to_register %a[3][1 x 1]
  // expected-error @below {{loop body takes exactly one index argument}}
  "penguin.dynamic_for"(%n) <{lower = 0 : i64, upper = #neuron.affine<d0>, step = 1 : i64}> ({
    %k = penguin.register_move {value = 1}
  }) : (index) -> ()
  // near miss: `0 {` -> `8 {`
  // expected-error @below {{loop step must be positive, got 0}}
  penguin.dynamic_for %i = 0 to %n step 0 {
  }
  // near miss: `2` -> `1`
  // expected-error @below {{Only scalar values supported in Dynamic For Loop upper bound expressions currently: expected c + k * register}}
  penguin.dynamic_for %i = 0 to %n + %n floordiv 2 {
  }
  // expected-error @below {{Only scalar values supported in Dynamic For Loop upper bound expressions currently: expected c + k * register}}
  penguin.dynamic_for %i = 0 to 4 {
  }
  penguin.for sequential %k = 0 to 4 {
    // near miss: `%k` -> `%n`
    // expected-error @below {{expressions currently: the upper bound is no register}}
    penguin.dynamic_for %i = 0 to %k {
    }
    // near miss: `continue_if %k` -> `continue_if %n`
    // expected-error @below {{DoWhile: condition is a runtime integer, got a loop index}}
    penguin.do_while {
      penguin.continue_if %k
    }
  }
  // expected-error @below {{a do-while body takes no arguments and ends in continue_if}}
  penguin.do_while {
    penguin.return
  }
  penguin.for sequential %k = 0 to 4 {
    // expected-error @below {{'penguin.continue_if' stands in a do-while only}}
    penguin.continue_if %n
  }
  penguin.return
}

// -----

penguin.func @pairs(inout i = %i: !neuron.tensor<8x8xi32, hbm>, inout l = %l: !neuron.tensor<8x8xi64, hbm>) {
  %n = penguin.load_tensor_to_register %i[3][1 x 1]
  %p = penguin.load_tensor_to_register %l[3][1 x 1]
  %q = penguin.register_alu mult {lhs = %p, rhs = 4294967296, is_64bit}
  // near miss: `%q` -> `%n`
  // expected-error @below {{'rhs' is a pair of registers, expected one register of 32 bits}}
  %x = penguin.register_alu add {lhs = %n, rhs = %q}
  // near miss: `%p` -> `%n`
  // expected-error @below {{'value' is a pair of registers, expected one register of 32 bits}}
  %v = penguin.register_move {value = %p, dtype = u32}
  // near miss: `%p` -> `%n`
  // expected-error @below {{register and tensor must have the same number of bytes. Got src=int64 dst=int32}}
  penguin.store_register_to_tensor %i[0][1 x 1] {value = %p}
  // near miss: `%n` -> `%q`
  // expected-error @below {{register and tensor must have the same number of bytes. Got src=int32 dst=int64}}
  penguin.store_register_to_tensor %l[0][1 x 1] {value = %n}
  // near miss: `%i[0]` -> `%l[0]`
  // expected-error @below {{register and tensor must have the same number of bytes. Got src=int64 dst=int32}}
  penguin.store_register_to_tensor %i[0][1 x 1] {value = 4294967296}
  penguin.store_register_to_tensor %l[0][1 x 1] {value = 1}
  // near miss: `%p` -> `%n`
  // expected-error @below {{expressions currently: the upper bound is a pair of registers}}
  penguin.dynamic_for %k = 0 to %p {
  }
  // near miss: `continue_if %p` -> `continue_if %n`
  // expected-error @below {{DoWhile: condition is a runtime integer, got a pair of registers}}
  penguin.do_while {
    penguin.continue_if %p
  }
  %t = penguin.alloc : <1x8xi32, sbuf>
  penguin.dma_copy %t <- %i[%p][8 x 1, 1 x 8]
  // near miss: `%p` -> `%n`
  // expected-error @below {{an offset of 64 bits reaches HBM only, but 'dst' is t: i32[1, 4] in sbuf; use a register of 32 bits}}
  penguin.dma_copy %t[0, %p][1 x 1, 1 x 4] <- %i[0][8 x 1, 1 x 4]
  penguin.return
}

// -----

penguin.func @registers(inout a = %a: !neuron.tensor<8x8xf32, hbm>, inout i = %i: !neuron.tensor<8x8xi32, hbm>) {
  %n = penguin.load_tensor_to_register %i[3][1 x 1]
  // near miss: `average` -> `add`
  // expected-error @below {{'average' is rejected by the encoder of RegisterAlu}}
  %x = penguin.register_alu average {lhs = %n, rhs = 1}
  // near miss: `2` -> `1`
  // expected-error @below {{'rhs' must be a register or an immediate, got the expression d0 * 2}}
  %y = penguin.register_alu add {lhs = %n, rhs = %n * 2}
  // near miss: `4294967296` -> `32`
  // expected-error @below {{immediate 4294967296 of 'rhs' does not fit a register of 32 bits}}
  %z = penguin.register_alu add {lhs = %n, rhs = 4294967296}
  // near miss: ` where %n >= 0` -> ``
  // expected-error @below {{a sequencer instruction has no mask}}
  %m = penguin.register_alu add where %n >= 0 {lhs = %n, rhs = 4}
  // near miss: `, dtype = bf16` -> ``
  // expected-error @below {{RegisterMove has dtypes float32, uint32, int32, int64, got bfloat16}}
  %d = penguin.register_move {value = 0, dtype = bf16}
  // near miss: `, dtype = i64` -> ``
  // expected-error @below {{64bit REG MOVE instr must have ImmediateValue src}}
  %w = penguin.register_move {value = %n, dtype = i64}
  // near miss: `2` -> `1`
  // expected-error @below {{a register holds one element, got 2}}
  penguin.store_register_to_tensor %i[0][1 x 2] {value = %n}
  // near miss: `%a` -> `%i`
  // expected-error @below {{InstTensorLoad/InstTensorSave register and tensor must have the same number of bytes. Got src=int32 dst=float32}}
  penguin.store_register_to_tensor %a[0][1 x 1] {value = %n}
  %p = penguin.alloc : <1x1xi32, psum>
  // expected-error @below {{InstTensorLoad/InstTensorSave cannot write psum}}
  penguin.store_register_to_tensor %p {value = %n}
  // near miss: `64` -> `8`
  // expected-error @below {{Out-of-bound access for tensor `i`}}
  penguin.store_register_to_tensor %i[64][1 x 1] {value = %n}
  penguin.return
}

// -----

penguin.func @outer() {
  penguin.for sequential %k = 0 to 4 {
    // expected-error @below {{stands inside another function; functions stand side by side in a module}}
    penguin.func @inner() {
      penguin.return
    }
  }
  penguin.return
}
