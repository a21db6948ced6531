// RUN: neuron-opt %s | neuron-opt | filecheck %s
// RUN: neuron-opt %s --print-op-generic | neuron-opt | filecheck %s

// Random numbers, with their states.

builtin.module attributes {neuron.target = #neuron.target<trn3>} {
  // CHECK-LABEL: penguin.func @random
  penguin.func @random() {
    %a = penguin.alloc : <128x512xf32, sbuf>
    %n = penguin.alloc : <128x512xi32, sbuf>
    %v = penguin.alloc : <128x1xf32, sbuf>
    %seed = penguin.alloc : <1x1xu32, sbuf>
    %s = penguin.alloc : <128x24xu32, sbuf>
    %p = penguin.alloc : <128x6xu32, sbuf>
    // CHECK: penguin.set_rng_seed %s <- %seed
    penguin.set_rng_seed %s <- %seed
    // CHECK-NEXT: penguin.rand_set_state %p <- %p {engine = Pool}
    penguin.rand_set_state %p <- %p {engine = Pool}
    // CHECK-NEXT: penguin.rand_get_state %s <- %s where 63 - l0 >= 0
    penguin.rand_get_state %s <- %s where 63 - l0 >= 0
    // CHECK-NEXT: penguin.rng %n, %s <- %s
    penguin.rng %n, %s <- %s
    // CHECK-NEXT: penguin.rng %n, %p <- %p {engine = Pool}
    penguin.rng %n, %p <- %p {engine = Pool}
    // CHECK-NEXT: penguin.rand2 %a, %s <- %s
    penguin.rand2 %a, %s <- %s
    // CHECK-NEXT: penguin.rand2 %a, %s <- %s, low = %v {high_imm = 2.0}
    penguin.rand2 %a, %s <- %s, low = %v {high_imm = 2.0}
    // CHECK-NEXT: penguin.dropout_mask %a, %s <- %a, %s, probability = %v
    penguin.dropout_mask %a, %s <- %a, %s, probability = %v
    // CHECK-NEXT: penguin.dropout_mask %n, %s <- %n, %s {probability_imm = 0.5, keep_threshold}
    penguin.dropout_mask %n, %s <- %n, %s {probability_imm = 0.5, keep_threshold}
    // CHECK-NEXT: penguin.get_rand_state %p <- %p where 63 - l0 >= 0 {engine = Pool}
    penguin.get_rand_state %p <- %p where 63 - l0 >= 0 {engine = Pool}
    // CHECK-NEXT: penguin.rand LFSR %n, %p <- %p
    penguin.rand LFSR %n, %p <- %p {rand_num_steps = 1, distribution = Raw, params = []}
    // CHECK-NEXT: penguin.rand PCG32 %n, %p <- %p where 63 - l0 >= 0 {rand_num_steps = 3}
    penguin.rand PCG32 %n, %p <- %p where 63 - l0 >= 0 {rand_num_steps = 3}
    // CHECK-NEXT: penguin.rand PHILOX_1 %n, %p <- %p {engine = DVE}
    penguin.rand PHILOX_1 %n, %p <- %p {engine = DVE}
    penguin.return
  }
}
