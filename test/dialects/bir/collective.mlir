// RUN: neuron-opt %s | neuron-opt | filecheck %s
// RUN: neuron-opt %s --print-op-generic | neuron-opt | filecheck %s

// Collectives and ranks.

builtin.module attributes {neuron.target = #neuron.target<trn2>} {
  // CHECK: bir.func @f {
  bir.func @f {
    // CHECK: %a = bir.location @a : <8x64xf32, hbm>
    %a = bir.location @a : <8x64xf32, hbm>
    // CHECK: %b = bir.location @b : <8x64xf32, hbm>
    %b = bir.location @b : <8x64xf32, hbm>
    // CHECK: %half = bir.location @half : <4x64xf32, hbm>
    %half = bir.location @half : <4x64xf32, hbm>
    // CHECK: %counts = bir.location @counts : <4x2xu32, hbm>
    %counts = bir.location @counts : <4x2xu32, hbm>
    // CHECK: %t = bir.location @t : <128x8xf32, sbuf>
    %t = bir.location @t : <128x8xf32, sbuf>
    // CHECK: %u = bir.location @u : <128x8xf32, sbuf>
    %u = bir.location @u : <128x8xf32, sbuf>
    // CHECK: bir.collective_compute @I0 AllReduce %b <- %a {op = add, replica_groups = {{\[\[}}0, 1], [2, 3]]}
    bir.collective_compute @I0 AllReduce %b <- %a {op = add, replica_groups = [[0, 1], [2, 3]]}
    // CHECK: bir.collective_compute @I1 ReduceScatter %half <- %a {op = max, replica_groups = {{\[\[}}0, 1]], cc_dim = Partition, cc_type_hint = FSDP, stream_id = 1, queue = "cc"}
    bir.collective_compute @I1 ReduceScatter %half <- %a {op = max, replica_groups = [[0, 1]], cc_dim = Partition, cc_type_hint = FSDP, stream_id = 1, queue = "cc"}
    // CHECK: bir.collective_compute @I2 AllGather %a <- %half {replica_groups = {{\[\[}}0, 1]], initial_corebarrier, unique_tensors = Yes, use_gpsimd_dma, dma_qos = P0}
    bir.collective_compute @I2 AllGather %a <- %half {replica_groups = [[0, 1]], initial_corebarrier, unique_tensors = Yes, use_gpsimd_dma, dma_qos = P0}
    // CHECK: bir.collective_compute @I3 AllToAll %t <- %u, scratch = %t {replica_groups = {{\[\[}}0, 1]], is_local, pipe_id = 3}
    bir.collective_compute @I3 AllToAll %t <- %u, scratch = %t {replica_groups = [[0, 1]], is_local, pipe_id = 3}
    // CHECK: bir.collective_compute @I4 AllToAllV %b <- %a, counts = %counts[4][1 x 2], metadata = %counts[0][2 x 2, 1 x 2], displacements = %counts[6][1 x 2] {replica_groups = {{\[\[}}0, 1]], can_read_uninit}
    bir.collective_compute @I4 AllToAllV %b <- %a, counts = %counts[4][1 x 2], metadata = %counts[0][2 x 2, 1 x 2], displacements = %counts[6][1 x 2] {replica_groups = [[0, 1]], can_read_uninit}
    // CHECK: bir.collective_compute @I5 Permute %b <- %a {src_target_pairs = {{\[\[}}0, 1], [1, 0]], permute_chain = [0, 1]}
    bir.collective_compute @I5 Permute %b <- %a {src_target_pairs = [[0, 1], [1, 0]], permute_chain = [0, 1]}
    // CHECK: bir.collective_compute @I6 SendRecvCCE %b <- %a {engine = SP, op = min, recv_from_rank = [1], send_to_rank = [2], src1_bitmap = 1}
    bir.collective_compute @I6 SendRecvCCE %b <- %a {engine = SP, op = min, recv_from_rank = [1], send_to_rank = [2], src1_bitmap = 1}
    // CHECK: bir.collective_send @I7 %a {peer_id = 1, can_read_uninit}
    bir.collective_send @I7 %a {peer_id = 1, can_read_uninit}
    // CHECK: bir.collective_recv @I8 %b {peer_id = 0}
    bir.collective_recv @I8 %b {peer_id = 0}
    // CHECK: %r = bir.get_global_rank_id @I9 {world_size = 4}
    %r = bir.get_global_rank_id @I9 {world_size = 4}
    // CHECK: %p = bir.get_cur_processing_rank_id @I10 {iter_id = 1, channel_id = 0, stream_id = 2, replica_groups = {{\[\[}}0, 1]]}
    %p = bir.get_cur_processing_rank_id @I10 {iter_id = 1, channel_id = 0, stream_id = 2, replica_groups = [[0, 1]]}
  }
}
