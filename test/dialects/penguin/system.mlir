// RUN: neuron-opt %s | neuron-opt | filecheck %s
// RUN: neuron-opt %s --print-op-generic | neuron-opt | filecheck %s
// RUN: neuron-opt %s -p 'convert-penguin-to-bir' | filecheck %s --check-prefix BIR

// Collectives, ranks, barriers and prints, and what they become.

builtin.module attributes {neuron.target = #neuron.target<trn2>} {
// CHECK-LABEL: penguin.func @f
penguin.func @f() {
  %a = penguin.alloc : <8x64xf32, hbm>
  %b = penguin.alloc : <8x64xf32, hbm>
  %s = penguin.alloc : <1x1xi32, hbm>
  // CHECK: penguin.collective_compute AllReduce %b <- %a {op = add, replica_groups = {{\[\[}}0, 1]]}
  // BIR: bir.collective_compute @I0 AllReduce %b <- %a {op = add, replica_groups = {{\[\[}}0, 1]]}
  penguin.collective_compute AllReduce %b <- %a {op = add, replica_groups = [[0, 1]]}
  // CHECK-NEXT: penguin.collective_send %a {peer_id = 1}
  // BIR-NEXT: bir.collective_send @I1 %a {peer_id = 1}
  penguin.collective_send %a {peer_id = 1}
  // CHECK-NEXT: penguin.collective_recv %b {peer_id = 1}
  // BIR-NEXT: bir.collective_recv @I2 %b {peer_id = 1}
  penguin.collective_recv %b {peer_id = 1}
  // CHECK-NEXT: %r = penguin.get_global_rank_id {world_size = 2}
  // BIR-NEXT: %r = bir.get_global_rank_id @I3 {world_size = 2}
  %r = penguin.get_global_rank_id {world_size = 2}
  // CHECK-NEXT: %q = penguin.get_cur_processing_rank_id {iter_id = 0, channel_id = 1, replica_groups = {{\[\[}}0, 1]]}
  // BIR-NEXT: %q = bir.get_cur_processing_rank_id @I4 {iter_id = 0, channel_id = 1, replica_groups = {{\[\[}}0, 1]]}
  %q = penguin.get_cur_processing_rank_id {iter_id = 0, channel_id = 1, replica_groups = [[0, 1]]}
  // CHECK-NEXT: penguin.core_barrier semaphore = %s {cores = [0, 1]}
  // BIR-NEXT: bir.core_barrier @I5 semaphore = %s {cores = [0, 1]}
  penguin.core_barrier semaphore = %s {cores = [0, 1]}
  // CHECK-NEXT: penguin.core_barrier {cores = [0, 1], id = 3}
  // BIR-NEXT: bir.core_barrier @I6 {cores = [0, 1], id = 3}
  penguin.core_barrier {cores = [0, 1], id = 3}
  // CHECK-NEXT: penguin.device_print %a {prefix = "a = "}
  // BIR-NEXT: bir.device_print @I7 %a {prefix = "a = "}
  penguin.device_print %a {prefix = "a = "}
  penguin.return
}
}
