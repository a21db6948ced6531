// RUN: neuron-opt %s --split-input-file --verify-diagnostics

builtin.module attributes {neuron.target = #neuron.target<trn1>} {
  penguin.func @f() {
    %a = penguin.alloc : <8x64xf32, hbm>
    %b = penguin.alloc : <8x64xf32, hbm>
    // near miss: `trn1` -> `trn2`
    // expected-error @below {{curArchLevel > sunda: CollectiveCompute needs level 30, trn1 is 20}}
    penguin.collective_compute AllReduce %b <- %a {op = add}
    penguin.return
  }
}

// -----

// near miss: `[-1]` -> `[1]`
// expected-error @below {{CoreBarrier needs distinct cores, got [-1]}}
penguin.core_barrier {cores = [-1]}

// -----

builtin.module attributes {neuron.target = #neuron.target<trn1>} {
  // near miss: `<trn1>` -> `<trn2>`
  // expected-error @below {{'penguin.core_barrier' is available on trn2 or later, got trn1}}
  penguin.core_barrier {cores = [0, 1]}
}
