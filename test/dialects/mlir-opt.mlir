// REQUIRES: mlir-opt
// RUN: neuron-opt %S/penguin/roundtrip.mlir --print-op-generic | %mlir-opt --allow-unregistered-dialect --mlir-print-op-generic --mlir-print-local-scope | neuron-opt | filecheck %s --check-prefix PENGUIN
// RUN: neuron-opt %S/bir/roundtrip.mlir --print-op-generic | %mlir-opt --allow-unregistered-dialect --mlir-print-op-generic --mlir-print-local-scope | neuron-opt | filecheck %s --check-prefix BIR

// MLIR's own mlir-opt reads the generic form of all levels, and we read what it prints.

// PENGUIN: penguin.sb_atom_load @I1 %{{.*}} <- %{{.*}}[%{{.*}} * 128000][1000 x 128, 1 x 1000] where 299 - %{{.*}} * 128 - l0 >= 0
// PENGUIN: penguin.tensor_select %{{.*}} <- %{{.*}}, on_true = %{{.*}} {false_imm = nan}

// BIR: %{{.*}} = bir.location @"the result" ExternalOutput : <300x1000xf32, hbm>
// BIR: bir.matmult @I8 %{{.*}} <- %{{.*}}, %{{.*}} {accumulate_if = %{{.*}} - 1, engine = PE}
// BIR: dma.scatter f32 f32 %{{.*}}[0][4000 x 128, 4 x 1000] <- %{{.*}}[0, 0][1 x 128, 4 x 1000], %{{.*}}[0, 0][1 x 128, 4 x 1] {op = add, max_index = 300}
