// RUN: neuron-opt %s --split-input-file --verify-diagnostics

// What is expected on the line below, two lines below, on the same line.

func.func @f(%x : i32) {
  // expected-error @below {{Expected 2 operands, but got 1}}
  // expected-error @+2 {{Expected 2 operands}}
  "arith.addi"(%x) : (i32) -> i32
  "arith.subi"(%x) : (i32) -> i32
  "arith.muli"(%x) : (i32) -> i32 // expected-error {{Expected 2 operands}}
  func.return
}

// -----

// Above, and with a regular expression.

func.func @f(%x : i32) {
  "arith.addi"(%x) : (i32) -> i32
  // expected-error-re @above {{Expected {{[0-9]+}} operands, but got 1}}
  func.return
}

// -----

// An error of the parser.

// expected-error @below {{operation 'func.fun' is not registered, did you mean 'func.func'?}}
func.fun @f() {
}

// -----

// One that belongs to another file.

// expected-error @unknown {{Expected 2 operands}}
"arith.addi"() : () -> i32 loc("kernel.py":3:4)

// -----

// Nothing expected, nothing found.

func.func @f() {
  func.return
}
