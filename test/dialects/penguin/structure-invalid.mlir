// RUN: neuron-opt %s --split-input-file --verify-diagnostics

// What only the generic form can say.

%x = "penguin.alloc"() : () -> !neuron.tensor<8x8xf32, sbuf>
// expected-error @below {{has 2 accesses, expected one for each of dst}}
"penguin.memset"(%x) <{value = #neuron.imm<0.0>, accesses = #neuron.accesses<[0, 0][1 x 8, 1 x 4], [0, 0][1 x 8, 1 x 4]>, engine = #neuron<engine Unassigned>}> : (!neuron.tensor<8x8xf32, sbuf>) -> ()
// expected-error @below {{access to x has no partition pair}}
"penguin.memset"(%x) <{value = #neuron.imm<0.0>, accesses = #neuron.accesses<[0, 0][]>, engine = #neuron<engine Unassigned>}> : (!neuron.tensor<8x8xf32, sbuf>) -> ()

// -----

// expected-error @below {{loop body takes exactly one index argument}}
"penguin.for"() <{kind = #neuron<loop parallel>, lower = 0 : i64, upper = 4 : i64, step = 1 : i64}> ({
^bb0(%i: index, %j: index):
}) : () -> ()

// -----

// expected-error @below {{has 1 arguments and 2 names}}
"penguin.func"() <{sym_name = "f", arg_names = ["a", "b"], mutable = array<i64>}> ({
^bb0(%a: !neuron.tensor<8x8xf32, hbm>):
  "penguin.return"() <{names = []}> : () -> ()
}) : () -> ()

// -----

// expected-error @below {{argument names ['a', 'a'] are not distinct}}
"penguin.func"() <{sym_name = "f", arg_names = ["a", "a"], mutable = array<i64>}> ({
^bb0(%a: !neuron.tensor<8x8xf32, hbm>, %b: !neuron.tensor<8x8xf32, hbm>):
  "penguin.return"() <{names = []}> : () -> ()
}) : () -> ()

// -----

// expected-error @below {{no argument 1 to be mutable}}
"penguin.func"() <{sym_name = "f", arg_names = ["a"], mutable = array<i64: 1>}> ({
^bb0(%a: !neuron.tensor<8x8xf32, hbm>):
  "penguin.return"() <{names = []}> : () -> ()
}) : () -> ()

// -----

"penguin.func"() <{sym_name = "f", arg_names = ["a"], mutable = array<i64>}> ({
^bb0(%a: !neuron.tensor<8x8xf32, hbm>):
  // expected-error @below {{has 1 outputs and 2 names}}
  "penguin.return"(%a) <{names = ["a", "b"]}> : (!neuron.tensor<8x8xf32, hbm>) -> ()
}) : () -> ()

// -----

penguin.func @f(a = %a: !neuron.tensor<8x8xf32, hbm>) {
  // expected-error @below {{output names ['c', 'c'] are not distinct}}
  penguin.return c = %a, c = %a
}

// -----

penguin.func @f() {
  %t = penguin.alloc : <8x8xf32, sbuf>
  // expected-error @below {{output 't' has type !neuron.tensor<8x8xf32, sbuf>, expected a tensor in hbm}}
  penguin.return t = %t
}

// -----

dma.block @b {
}
// near miss: `symbols<[]>` -> `symbols<[@b]>`
// expected-error @below {{DMATrigger must have queue and block set}}
"bir.dma_trigger"() <{inst_name = "I1", blocks = #neuron.symbols<[]>, engine = #neuron<engine SP>}> : () -> ()

// -----

%x = penguin.alloc : <8x8xf32, sbuf>
%h = penguin.alloc : <8x8xf32, hbm>
"dma.block"() <{block_name = "b"}> ({
  // expected-error @below {{access to x has no partitions}}
  "dma.copy"(%x, %h) <{dst_dtype = #neuron.dtype<f32>, src_dtype = #neuron.dtype<f32>, accesses = #neuron.accesses<[0, 0][], [0][32 x 8, 4 x 8]>}> : (!neuron.tensor<8x8xf32, sbuf>, !neuron.tensor<8x8xf32, hbm>) -> ()
}) : () -> ()
