// RUN: neuron-opt %s --print-debuginfo | neuron-opt --print-debuginfo | filecheck %s
// RUN: neuron-opt %s --print-debuginfo | neuron-opt -p neuron --print-debuginfo | filecheck %s --check-prefix DMA

// Locations of a kernel's lines survive text, and every lowering.

builtin.module attributes {neuron.target = #neuron.target<trn2>} {
  // CHECK: penguin.func @f(inout a = %a: !neuron.tensor<128x8xf32, hbm> loc("k.py":3:1)) {
  penguin.func @f(inout a = %a: !neuron.tensor<128x8xf32, hbm> loc("k.py":3:1)) {
    // CHECK-NEXT: %t = penguin.alloc : <128x8xf32, sbuf> loc("k.py":4:9)
    %t = penguin.alloc : <128x8xf32, sbuf> loc("k.py":4:9)
    // CHECK-NEXT: penguin.sb_atom_load %t <- %a loc("k.py":5:5)
    penguin.sb_atom_load %t <- %a loc("k.py":5:5)
    // CHECK-NEXT: penguin.sb_atom_store %a <- %t loc("k.py":6:5)
    penguin.sb_atom_store %a <- %t loc("k.py":6:5)
    penguin.return a = %a
  } loc("k.py":2:1)
}

// DMA: %t = bir.location @t : <128x8xf32, sbuf> loc("k.py":4:9)
// DMA: dma.copy f32 f32 %t{{.*}} loc("k.py":5:5)
// DMA: bir.dma_trigger @I0 [@I0] {engine = SP} loc("k.py":5:5)
// DMA: bir.dma_trigger @I1 [@I1] {engine = SP} loc("k.py":6:5)
