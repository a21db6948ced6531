// RUN: neuron-opt %s --split-input-file --verify-diagnostics

bir.func @branches {
  %a = bir.location @a ExternalInput : <8x8xi32, hbm>
  %r = bir.tensor_load @L %a[3][1 x 1]
  // expected-error @below {{'bir.unconditional_branch' branches from a bir.basic_block to another only}}
  bir.unconditional_branch @B {target = "one"}
  // near miss: `one` -> `backEdgeAssertCondition`
  // expected-error @below {{backEdgeAssertCondition: block 'one' has 2 back edges}}
  bir.basic_block @one {
    // near miss: `nowhere` -> `two`
    // expected-error @below {{BasicBlock does not exist! ('nowhere')}}
    bir.unconditional_branch @B0 {target = "nowhere"}
  }
  bir.basic_block @two {
    // near miss: `on_false = "one"` -> `on_false = "two"`
    // expected-error @below {{onFalse == I.getParent()->getNextNode(): neither 'one' nor 'one' is the next block}}
    bir.compare_and_branch @B1 IS_EQIMM {lhs = %r, rhs = 0, on_true = "one", on_false = "one"}
  }
  // near miss: `two` -> `name`
  // expected-error @below {{name 'two' is given twice}}
  bir.basic_block @two {
    // near miss: `bir.exit @B2` -> `bir.no_op @B2`
    // expected-error @below {{'bir.exit' must be the last of its block}}
    bir.exit @B2
    // near miss: `IS_EQREG` -> `IS_LTIMM`
    // expected-error @below {{IS_EQREG compares with a register, got 0}}
    bir.compare_and_branch @B3 IS_EQREG {lhs = %r, rhs = 0, on_true = "one", on_false = "last"}
  }
  bir.basic_block @last {
    // near miss: `bir.break @B4` -> `bir.loop sequential %i = 0 to 2 { bir.break @B4 }`
    // expected-error @below {{'bir.break' stands in a loop only}}
    bir.break @B4
  }
  // near miss: `B9` -> `B3`
  // expected-error @below {{the function has no branch 'B9'}}
  bir.branch_hint @B5 {hint = LikelyTaken, associate_branch = "B9"}
}

// -----

bir.func @comparisons {
  %a = bir.location @a ExternalInput : <8x8xi32, hbm>
  %r = bir.tensor_load @L %a[3][1 x 1]
  bir.basic_block @one {
    // near miss: `, dtype = i64` -> ``
    // expected-error @below {{a branch compares scalars of at most 32 bits, got int64}}
    bir.compare_and_branch @B0 IS_EQIMM {lhs = %r, rhs = 0, dtype = i64, on_true = "one", on_false = "two"}
  }
  bir.basic_block @two {
    // near miss: `IS_LTIMM` -> `IS_LTREG`
    // expected-error @below {{IS_LTIMM compares with an immediate, got d0}}
    bir.compare_and_branch @B1 IS_LTIMM {lhs = %r, rhs = %r, on_true = "two", on_false = "three"}
  }
  bir.basic_block @three {
    // expected-error @below {{'lhs' must be a register, got 4}}
    bir.compare_and_branch @B2 IS_LTREG {lhs = 4, rhs = %r, on_true = "three", on_false = "four"}
  }
  bir.basic_block @four {
    // near miss: `2` -> `1`
    // expected-error @below {{'lhs' must be a register or an immediate, got the expression d0 * 2}}
    bir.compare_and_branch @B3 IS_LTREG {lhs = %r * 2, rhs = %r, on_true = "four", on_false = "five"}
  }
  bir.basic_block @five {
  }
}

// -----

bir.func @f {
  // near miss: `target = "f"` -> `target = "h"`
  // expected-error @below {{function 'f' calls itself}}
  bir.call @I0 {target = "f"}
  // near miss: `target = "g"` -> `target = "h"`
  // expected-error @below {{the module has no function 'g' to call}}
  bir.call @I1 {target = "g"}
}

bir.func @h {
}

// -----

bir.func @outer {
  // expected-error @below {{stands inside another function; functions stand side by side in a module}}
  bir.func @inner {
    bir.return
  }
  bir.return
}
