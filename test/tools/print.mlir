// RUN: neuron-opt %s | filecheck %s
// RUN: neuron-opt %s | neuron-opt | filecheck %s
// RUN: neuron-opt %s --print-op-generic | neuron-opt | filecheck %s
// RUN: neuron-opt %s --print-op-generic | filecheck %s --check-prefix GENERIC
// RUN: neuron-opt %s -t 'mlir{print-generic-format=true}' | filecheck %s --check-prefix GENERIC
// RUN: neuron-opt %s --print-debuginfo | filecheck %s --check-prefix LOC
// RUN: neuron-opt - < %s | filecheck %s

func.func @f(%x: i32) -> i32 {
  %y = arith.addi %x, %x : i32
  func.return %y : i32 loc("kernel.py":7:3)
}

// CHECK:      builtin.module {
// CHECK-NEXT:   func.func @f(%x: i32) -> i32 {
// CHECK-NEXT:     %y = arith.addi %x, %x : i32
// CHECK-NEXT:     func.return %y : i32
// CHECK-NEXT:   }
// CHECK-NEXT: }

// GENERIC: %y = "arith.addi"(%x, %x) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32

// An operation is located at its name, unless the text says otherwise.
// LOC: arith.addi %x, %x : i32 loc("{{.*}}print.mlir":10:8)
// LOC: func.return %y : i32 loc("kernel.py":7:3)
