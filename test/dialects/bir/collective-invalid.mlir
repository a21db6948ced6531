// RUN: neuron-opt %s --split-input-file --verify-diagnostics

builtin.module attributes {neuron.target = #neuron.target<trn1>} {
  bir.func @arch {
    %a = bir.location @a : <8x64xf32, hbm>
    %b = bir.location @b : <8x64xf32, hbm>
    // near miss: `#neuron.target<trn1>` -> `#neuron.target<trn2>`
    // expected-error @below {{curArchLevel}}
    bir.collective_compute @I0 AllReduce %b <- %a {op = add}
  }
}

// -----

bir.func @f {
  %in = bir.location @in ExternalInput : <8x64xf32, hbm>
  %out = bir.location @out ExternalOutput : <8x64xf32, hbm>
  %a = bir.location @a : <8x64xf32, hbm>
  %b = bir.location @b : <8x64xf32, hbm>
  %c = bir.location @c : <8x64xbf16, hbm>
  %w = bir.location @w : <2x3xu32, hbm>
  %half = bir.location @half : <4x64xf32, hbm>
  %i = bir.location @i : <1x4xi32, hbm>
  %t = bir.location @t : <128x64xf32, sbuf>
  %p = bir.location @p : <128x64xf32, psum>
  // near miss: `AllReduce` -> `AllGather`
  // expected-error @below {{AllReduce needs an op: add, max or min}}
  bir.collective_compute @I0 AllReduce %b <- %a
  // near miss: ` {op = add}` -> ``
  // expected-error @below {{AllToAll reduces nothing, but has op add}}
  bir.collective_compute @I1 AllToAll %b <- %a {op = add}
  // near miss: `mult` -> `add`
  // expected-error @below {{a collective reduces by add, max or min, got mult}}
  bir.collective_compute @I2 AllReduce %b <- %a {op = mult}
  // near miss: `, replica_groups = [[0, 1], [2]]` -> ``
  // expected-error @below {{replica groups differ in size}}
  bir.collective_compute @I3 AllReduce %b <- %a {op = add, replica_groups = [[0, 1], [2]]}
  // near miss: `, replica_groups = [[0, 1], [1, 2]]` -> ``
  // expected-error @below {{replica groups have a rank twice}}
  bir.collective_compute @I4 AllReduce %b <- %a {op = add, replica_groups = [[0, 1], [1, 2]]}
  // expected-error @below {{src_target_pairs has [source, target] pairs}}
  bir.collective_compute @I5 Permute %b <- %a {src_target_pairs = [[0, 1, 2]]}
  // near miss: `%b {` -> `%t {`
  // expected-error @below {{a second output is a scratchpad in sbuf}}
  bir.collective_compute @I6 AllReduce %b <- %a, scratch = %b {op = add}
  // near miss: `%p` -> `%t`
  // expected-error @below {{a collective reaches hbm and sbuf, but 'src' is}}
  bir.collective_compute @I7 AllReduce %t <- %p {op = add}
  // near miss: `2` -> `1`
  // expected-error @below {{partitions of 'src' must be contiguous, got step 2}}
  bir.collective_compute @I8 AllReduce %t[0, 0][1 x 64, 1 x 64] <- %t[0, 0][2 x 64, 1 x 64] {op = add}
  // near miss: `, is_local` -> ``
  // expected-error @below {{a local collective is located in sbuf, but 'dst' is}}
  bir.collective_compute @I9 AllReduce %b <- %a {op = add, is_local}
  // near miss: ` {replica_groups = [[0, 1]]}` -> ``
  // expected-error @below {{Illegal src/dst ratio for AllGather: in=512, out=512, 2 ranks per group}}
  bir.collective_compute @I10 AllGather %b <- %a {replica_groups = [[0, 1]]}
  // near miss: `, replica_groups = [[0, 1]]` -> ``
  // expected-error @below {{Illegal src/dst ratio for ReduceScatter: in=512, out=512, 2 ranks per group}}
  bir.collective_compute @I11 ReduceScatter %b <- %a {op = add, replica_groups = [[0, 1]]}
  // near miss: `%half <- %a` -> `%a <- %half`
  // expected-error @below {{Illegal src/dst ratio for AllGather: in=512, out=256, a whole number of ranks per group}}
  bir.collective_compute @I90 AllGather %half <- %a
  // near miss: `%a <- %half` -> `%half <- %a`
  // expected-error @below {{Illegal src/dst ratio for ReduceScatter: in=256, out=512, a whole number of ranks per group}}
  bir.collective_compute @I91 ReduceScatter %a <- %half {op = add}
  // near miss: `AllReduce` -> `ReduceScatter`
  // expected-error @below {{Illegal src/dst ratio for AllReduce: in=512, out=256, 2 ranks per group}}
  bir.collective_compute @I12 AllReduce %half <- %a {op = add, replica_groups = [[0, 1]]}
  // near miss: `%c` -> `%a`
  // expected-error @below {{a collective does not cast: src is float32, dst bfloat16}}
  bir.collective_compute @I13 AllReduce %c <- %a {op = add}
  // near miss: `SendRecv` -> `AllGather`
  // expected-error @below {{SendRecv has 1 argument, but 2 ranks in recv_from_rank}}
  bir.collective_compute @I14 SendRecv %b <- %a {recv_from_rank = [0, 1], send_to_rank = [1]}
  // near miss: `AllToAllV` -> `AllGather`
  // expected-error @below {{AllToAllV requires at least one data input and one metadata input, got 1}}
  bir.collective_compute @I15 AllToAllV %b <- %a
  // expected-error @below {{AllToAllV metadata input must be uint32, got int32}}
  bir.collective_compute @I16 AllToAllV %b <- %a, metadata = %i
  // near miss: `1 x 3]` -> `1 x 2]`
  // expected-error @below {{'metadata' has 2 row(s) of a number for each of 2 ranks, got w: u32[2, 3] in hbm}}
  bir.collective_compute @I29 AllToAllV %b <- %a, metadata = %w[0][3 x 2, 1 x 3] {replica_groups = [[0, 1]]}
  // near miss: `<- %a, metadata = %i` -> `<- %a`
  // expected-error @below {{AllReduce has no metadata}}
  bir.collective_compute @I17 AllReduce %b <- %a, metadata = %i {op = add}
  // near miss: `%in` -> `%a`
  // expected-error @below {{Collective instruction cannot read IO tensors ('src' is in)}}
  bir.collective_compute @I18 AllReduce %b <- %in {op = add}
  // near miss: `%out` -> `%a`
  // expected-error @below {{Collective instruction cannot write IO tensors ('dst' is out)}}
  bir.collective_compute @I19 AllReduce %out <- %a {op = add}
  // near miss: ` where 4 - l0 >= 0` -> ``
  // expected-error @below {{a collective has no mask}}
  bir.collective_compute @I20 AllReduce %b <- %a where 4 - l0 >= 0 {op = add}
  // near miss: `-1` -> `1`
  // expected-error @below {{'peer_id' is a rank, got -1}}
  bir.collective_send @I21 %a {peer_id = -1}
  // near miss: `%p` -> `%out`
  // expected-error @below {{a collective reaches hbm and sbuf, but 'dst' is}}
  bir.collective_recv @I22 %p {peer_id = 0}
  // near miss: `0` -> `8`
  // expected-error @below {{'world_size' must be positive, got 0}}
  %r = bir.get_global_rank_id @I23 {world_size = 0}
  // near miss: `-1` -> `1`
  // expected-error @below {{'iter_id' is negative: -1}}
  %q = bir.get_cur_processing_rank_id @I24 {iter_id = -1, channel_id = 0, replica_groups = [[0]]}
  // expected-error @below {{'replica_groups' is empty}}
  %s = bir.get_cur_processing_rank_id @I25 {iter_id = 0, channel_id = 0, replica_groups = []}
}

// -----

bir.func @loops {
  %i = bir.location @i ExternalInput : <1x4xi32, hbm>
  %a = bir.location @a : <128x64xf32, sbuf>
  %b = bir.location @b : <128x64xf32, sbuf>
  %r = bir.tensor_load @L %i[0][1 x 1]
  bir.dynamic_for_loop %k = 0 to %r {
    // expected-error @below {{isLocal: in a dynamic loop only local collectives are allowed}}
    bir.collective_compute @I0 AllReduce %b <- %a {op = add}
    // near miss: `SendRecv` -> `AllGather`
    // expected-error @below {{SendRecv is not allowed in a dynamic loop}}
    bir.collective_compute @I1 SendRecv %b <- %a {is_local, recv_from_rank = [0], send_to_rank = [1]}
    bir.collective_compute @I2 AllReduce %b <- %a {op = add, is_local}
  }
}
