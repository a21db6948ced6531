// RUN: neuron-opt %s | neuron-opt | filecheck %s
// RUN: neuron-opt %s --print-op-generic | neuron-opt | filecheck %s

// Selections by an affine value, by a range of columns, or with a row reduction.

builtin.module attributes {neuron.target = #neuron.target<trn2>} {
  // CHECK-LABEL: penguin.func @selection
  penguin.func @selection() {
    %a = penguin.alloc : <128x512xf32, sbuf>
    %b = penguin.alloc : <128x512xbf16, sbuf>
    %n = penguin.alloc : <128x512xu8, sbuf>
    %v = penguin.alloc : <128x1xf32, sbuf>
    %w = penguin.alloc : <128x1xf32, sbuf>
    penguin.for parallel %i = 0 to 4 {
      // CHECK: penguin.aff_sel_tensor_scalar is_ge %a <- %b {value = %i * 128 + l0 - l1, fill = -3.0}
      penguin.aff_sel_tensor_scalar is_ge %a <- %b {value = %i * 128 + l0 - l1, fill = -3.0}
      // CHECK-NEXT: penguin.aff_sel_tensor_scalar is_equal %a <- %b where 300 - l0 - l1 >= 0 {value = (l0) mod 8, fill = 0.0, engine = DVE}
      penguin.aff_sel_tensor_scalar is_equal %a <- %b where 300 - l0 - l1 >= 0 {value = (l0) mod 8, fill = 0.0, engine = DVE}
    }
    // CHECK: penguin.range_select is_ge is_lt %a <- %b, %v, %w {range_start = 512}
    penguin.range_select is_ge is_lt %a <- %b, %v, %w {range_start = 512}
    // CHECK-NEXT: penguin.range_select_reduce is_gt is_le %a <- %b, %v, %v, reduce_res = %w where 99 - l0 >= 0
    penguin.range_select_reduce is_gt is_le %a <- %b, %v, %v, reduce_res = %w where 99 - l0 >= 0
    // CHECK-NEXT: penguin.select_reduce %a <- %n, %b, reduce_res = %w, on_false = %v {reverse}
    penguin.select_reduce %a <- %n, %b, reduce_res = %w, on_false = %v {reverse}
    // CHECK-NEXT: penguin.select_reduce %a <- %n, %b, reduce_res = %w {on_false_imm = -inf}
    penguin.select_reduce %a <- %n, %b, reduce_res = %w {on_false_imm = -inf}
    penguin.return
  }
}
