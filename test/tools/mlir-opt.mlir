// REQUIRES: mlir-opt
// RUN: neuron-opt %s --print-op-generic | %mlir-opt --allow-unregistered-dialect | filecheck %s
// RUN: neuron-opt %s --print-op-generic --print-debuginfo | %mlir-opt --mlir-print-debuginfo --mlir-print-local-scope | neuron-opt --print-debuginfo | filecheck %s --check-prefix LOC

func.func @f(%x : i32) -> i32 {
  %y = arith.addi %x, %x : i32
  func.return %y : i32
}

// CHECK: arith.addi %arg0, %arg0 : i32
// LOC: arith.addi {{.*}} loc("{{.*}}mlir-opt.mlir":6:8)
