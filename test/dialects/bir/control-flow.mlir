// RUN: neuron-opt %s | neuron-opt | filecheck %s
// RUN: neuron-opt %s --print-op-generic | neuron-opt | filecheck %s

// Basic blocks, branches and calls.

builtin.module attributes {neuron.target = #neuron.target<trn2>} {
  // CHECK: bir.func @g {
  bir.func @g {
    // CHECK: %b = bir.location @b ExternalInput : <8x8xi32, hbm>
    %b = bir.location @b ExternalInput : <8x8xi32, hbm>
    // CHECK: bir.return
    bir.return
  }
  // CHECK: bir.func @f {
  bir.func @f {
    // CHECK: bir.semaphore @s
    bir.semaphore @s
    // CHECK: %a = bir.location @a ExternalInput : <8x8xi32, hbm>
    %a = bir.location @a ExternalInput : <8x8xi32, hbm>
    // CHECK: bir.basic_block @entry {
    bir.basic_block @entry {
      // CHECK: %r = bir.tensor_load @I0 %a[3][1 x 1]
      %r = bir.tensor_load @I0 %a[3][1 x 1]
      // CHECK: bir.branch_hint @I1 {hint = LikelyTaken, associate_branch = "B0"}
      bir.branch_hint @I1 {hint = LikelyTaken, associate_branch = "B0"}
      // CHECK: bir.compare_and_branch @B0 IS_LTIMM {lhs = %r, rhs = 4, on_true = "exit", on_false = "body"}
      bir.compare_and_branch @B0 IS_LTIMM {lhs = %r, rhs = 4, on_true = "exit", on_false = "body"}
    }
    // CHECK: bir.basic_block @body attributes {key} {
    bir.basic_block @body attributes {key} {
      // CHECK: %n = bir.tensor_load @I2 %a[4][1 x 1]
      %n = bir.tensor_load @I2 %a[4][1 x 1]
      // CHECK: %m = bir.tensor_load @I3 %a[5][1 x 1]
      %m = bir.tensor_load @I3 %a[5][1 x 1]
      // CHECK: bir.compare_and_branch @B1 IS_GEREG {lhs = %n, rhs = %m, dtype = u32, on_true = "body", on_false = "tail", engine = SP, on_wait = [SEM_GE_IMM @s 1]}
      bir.compare_and_branch @B1 IS_GEREG {lhs = %n, rhs = %m, dtype = u32, on_true = "body", on_false = "tail", on_wait = [SEM_GE_IMM @s 1], engine = SP}
    }
    // CHECK: bir.basic_block @tail {
    bir.basic_block @tail {
      // CHECK: bir.call @I4 {target = "g", table_id = 2, arguments = ["a"]}
      bir.call @I4 {target = "g", table_id = 2, arguments = ["a"]}
      // CHECK: bir.halt @I5 {engine = DVE}
      bir.halt @I5 {engine = DVE}
      // CHECK: bir.unconditional_branch @B2 {target = "entry"}
      bir.unconditional_branch @B2 {target = "entry"}
    }
    // CHECK: bir.basic_block @exit {
    bir.basic_block @exit {
      // CHECK: bir.exit @I6
      bir.exit @I6
    }
    // CHECK: bir.loop sequential %i = 0 to 4 {
    bir.loop sequential %i = 0 to 4 {
      // CHECK: bir.basic_block @inner {
      bir.basic_block @inner {
        // CHECK: bir.break @I7
        bir.break @I7
      }
    }
  }
}
