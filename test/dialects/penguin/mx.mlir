// RUN: neuron-opt %s | neuron-opt | filecheck %s
// RUN: neuron-opt %s --print-op-generic | neuron-opt | filecheck %s

// Microscaling: trn3 only.

builtin.module attributes {neuron.target = #neuron.target<trn3>} {
  // CHECK-LABEL: penguin.func @mx
  penguin.func @mx() {
    %x = penguin.alloc : <128x512xbf16, sbuf>
    %q = penguin.alloc : <128x128xf8e4m3fn_x4, sbuf>
    %s = penguin.alloc : <128x128xu8, sbuf>
    %d = penguin.alloc : <16x128xf8e8m0fnu, sbuf>
    %w = penguin.alloc : <128x64xf4e2m1fn_x4, sbuf>
    %acc = penguin.alloc : <64x128xf32, psum>
    // CHECK: penguin.quantize_mx %q, %s <- %x
    penguin.quantize_mx %q, %s <- %x
    // CHECK-NEXT: penguin.quantize_mx %q[0, 0][1 x 32, 1 x 128], %s[0, 0][1 x 4, 1 x 128] <- %x[0, 0][1 x 32, 1 x 512] {engine = DVE}
    penguin.quantize_mx %q[0, 0][1 x 32, 1 x 128], %s[0, 0][1 x 4, 1 x 128] <- %x[0, 0][1 x 32, 1 x 512] {engine = DVE}
    // CHECK-NEXT: penguin.matmul_mx %acc <- %w, %q, %s[0, 0][1 x 128, 1 x 64], %d
    penguin.matmul_mx %acc <- %w, %q, %s[0, 0][1 x 128, 1 x 64], %d
    // CHECK-NEXT: penguin.matmul_mx %acc <- %w, %q, %s[0, 0][1 x 128, 1 x 64], %d {accumulate = accumulate}
    penguin.matmul_mx %acc <- %w, %q, %s[0, 0][1 x 128, 1 x 64], %d {accumulate = accumulate}
    penguin.return
  }
}
