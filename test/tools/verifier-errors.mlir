// RUN: not neuron-opt %s 2>&1 | filecheck %s
// RUN: not neuron-opt %s > %t 2>&1 && filecheck %s < %t

// All errors of a module are shown at once, in program order, each with its line.

func.func @f(%x : i32, %y : f32) {
  "arith.addi"(%x) : (i32) -> i32
  func.func @g() {
    %a = "arith.addi"(%y, %y) : (f32, f32) -> f32
  }
  func.return %x : i32
}

// CHECK:      verifier-errors.mlir:7:3: error: 'arith.addi' op Expected 2 operands, but got 1
// CHECK-NEXT:   "arith.addi"(%x) : (i32) -> i32
// CHECK-NEXT:   ^
// CHECK:      verifier-errors.mlir:8:3: error: 'func.func' op
// CHECK:      verifier-errors.mlir:9:10: error: 'arith.addi' op must be a terminator, as the last of its block
// CHECK-NEXT:     %a = "arith.addi"(%y, %y) : (f32, f32) -> f32
// CHECK-NEXT:          ^
// CHECK:      verifier-errors.mlir:9:10: error: 'arith.addi' op operand 'lhs' at position 0 does not verify: 
// CHECK:      verifier-errors.mlir:11:3: error: 'func.return' op Expected arguments to have the same types as the function output types
// CHECK-NOT:  error:
// CHECK-NOT:  builtin.module
