// RUN: neuron-opt -p convert-penguin-to-bir --verify-diagnostics --split-input-file %s

penguin.func @init() {
  // expected-error @below {{has an init; run penguin-initialize-tensors first}}
  %t = penguin.alloc init 0.0 : <128x64xf32, sbuf>
  penguin.return
}

// -----

penguin.func @expand() {
  // expected-error @below {{is to expand; run penguin-scalar-expansion first}}
  %t = penguin.alloc expand : <1x8xf32, sbuf>
  penguin.return
}

// -----

penguin.func @tensor_engine() {
  %s = penguin.alloc : <128x64xf32, sbuf>
  %p = penguin.alloc : <64x128xf32, psum>
  // expected-error @below {{on the tensor engine is a matmul with an identity; run penguin-lower-transpose first}}
  penguin.transpose %p <- %s
  penguin.return
}

// -----

penguin.func @names() {
  %s = penguin.alloc : <128x64xf32, sbuf>
  penguin.memset @I0 %s {value = 0.0}
  // expected-error @below {{has the name 'I0' of another one}}
  penguin.memset @I0 %s {value = 0.0}
  penguin.return
}

// -----

func.func @of_another_dialect() {
  // expected-error @below {{is not in a penguin.func, which is what is converted; move it into one}}
  %t = penguin.alloc : <128x64xf32, sbuf>
  func.return
}
