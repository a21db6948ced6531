// RUN: neuron-opt %s | neuron-opt | filecheck %s
// RUN: neuron-opt %s --print-op-generic | neuron-opt | filecheck %s

// The 8-wide search of the vector engine.

builtin.module attributes {neuron.target = #neuron.target<trn2>} {
  // CHECK-LABEL: penguin.func @search
  penguin.func @search() {
    %a = penguin.alloc : <128x512xf32, sbuf>
    %b = penguin.alloc : <128x512xbf16, sbuf>
    %v = penguin.alloc : <128x8xf32, sbuf>
    %n = penguin.alloc : <128x8xu32, sbuf>
    %h = penguin.alloc : <128x8xu16, sbuf>
    // CHECK: penguin.sunda_max8 %v <- %a
    penguin.sunda_max8 %v <- %a
    // CHECK-NEXT: penguin.sunda_max_index8 %n <- %a, %v
    penguin.sunda_max_index8 %n <- %a, %v
    // CHECK-NEXT: penguin.sunda_match_replace8 %b <- %a, %v {imm = -inf}
    penguin.sunda_match_replace8 %b <- %a, %v {imm = -inf}
    // CHECK-NEXT: penguin.max_index_and_match_replace %a, %h <- %a, %v {imm = 0.0, engine = DVE}
    penguin.max_index_and_match_replace %a, %h <- %a, %v {imm = 0.0, engine = DVE}
    penguin.return
  }
}
