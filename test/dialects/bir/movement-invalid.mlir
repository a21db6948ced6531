// RUN: neuron-opt %s --split-input-file --verify-diagnostics

bir.func @copies {
  %n = bir.location @n : <1x8xi32, sbuf>
  %t = bir.location @t : <128x64xf32, sbuf>
  %u = bir.location @u : <128x64xbf16, sbuf>
  %p = bir.location @p : <128x64xf32, psum>
  %wide = bir.location @wide : <128x512xf32, sbuf>
  %wider = bir.location @wider : <128x512xf32, sbuf>
  %r = bir.tensor_load @L %n[0, 0][1 x 1, 1 x 1]
  // near miss: `%u[0, %r]` -> `%u[0, 0]`
  // expected-error @below {{Only one of src and dst can have dynamic access in tensor_copy: 'dst' of 'bir.tensor_copy_dynamic_src' must be static}}
  bir.tensor_copy_dynamic_src @I0 %u[0, %r][1 x 128, 1 x 8] <- %t[0, %r][1 x 128, 1 x 8]
  // near miss: `%t[0, %r]` -> `%t[0, 0]`
  // expected-error @below {{Only one of src and dst can have dynamic access in tensor_copy: 'src' of 'bir.tensor_copy_dynamic_dst' must be static}}
  bir.tensor_copy_dynamic_dst @I1 %u[0, %r][1 x 128, 1 x 8] <- %t[0, %r][1 x 128, 1 x 8]
  // expected-error @below {{'scale' must be positive, got 0}}
  bir.tensor_copy_dynamic_src @I2 %u[0, 0][1 x 128, 1 x 8] <- %t[0, %r][1 x 128, 1 x 8] {scale = 0}
  // near miss: `scale = 4` -> `scale = 8`
  // expected-error @below {{'scale' is 4, but the access of 'src' multiplies its register by 8}}
  bir.tensor_copy_dynamic_src @S4 %u[0, 0][1 x 128, 1 x 8] <- %t[0, %r * 8][1 x 128, 1 x 8] {scale = 4}
  // near miss: `%u <-` -> `%u[0, 0][1 x 128, 1 x 8] <-`
  // expected-error @below {{tile shape mismatch, expected '[128, 64]' of 'dst', got [128, 8] for 'src'}}
  bir.generic_copy @I3 %u <- %t[0, 0][1 x 128, 1 x 8]
  // near miss: `%u <-` -> `%u[0, 0][1 x 128, 1 x 8] <-`
  // expected-error @below {{tile shape mismatch, expected '[128, 64]' of 'dst', got [128, 8] for 'src'}}
  bir.abstract_copy @I4 %u <- %t[0, 0][1 x 128, 1 x 8]
  // near miss: `<- %t` -> `<- %u`
  // expected-error @below {{GPSIMDSB2SB needs equal dtypes, got float32 and bfloat16}}
  bir.gpsimd_sb2sb @I5 %u <- %t
  // expected-error @below {{Expected operand 'src' of 'bir.gpsimd_sb2sb' to be in address space 'sbuf', but got a psum instead.}}
  bir.gpsimd_sb2sb @I6 %t <- %p
  // near miss: `2 x 16` -> `1 x 16`
  // expected-error @below {{GPSIMDSB2SB needs equal elements per partition times step, got 32 and 16}}
  bir.gpsimd_sb2sb @I7 %wide[0, 0][1 x 128, 1 x 16] <- %t[0, 0][1 x 128, 2 x 16]
  // near miss: `%wide <- %wider` -> `%wide[0, 0][1 x 128, 1 x 256] <- %wider[0, 0][1 x 128, 1 x 256]`
  // expected-error @below {{GPSIMDSB2SB moves at most 1024 effective bytes per partition, got 2048}}
  bir.gpsimd_sb2sb @I8 %wide <- %wider
  // near miss: `1 x 1, 1 x 1, 1 x 1, 1 x 1, 1 x 4` -> `1 x 1, 1 x 1, 1 x 1, 1 x 4`
  // expected-error @below {{GPSIMDSB2SB has 2 to 5 dimensions}}
  bir.gpsimd_sb2sb @I9 %t[0, 0][1 x 128, 1 x 1, 1 x 1, 1 x 1, 1 x 1, 1 x 4] <- %t[0, 0][1 x 128, 1 x 1, 1 x 1, 1 x 1, 1 x 1, 1 x 4]
  // expected-error @below {{runs on engine DVE, expected one of Pool or Unassigned}}
  bir.gpsimd_sb2sb @I10 %t <- %t {engine = DVE}
}

// -----

builtin.module attributes {neuron.target = #neuron.target<trn1>} {
  bir.func @arch {
    %t = bir.location @t : <128x64xf32, sbuf>
    // expected-error @below {{curArchLevel >= min.value(): GPSIMDSB2SB needs level 30, trn1 is 20}}
    bir.gpsimd_sb2sb @I0 %t <- %t
  }
}

// -----

bir.func @addresses {
  %a = bir.location @a ExternalInput : <512x64xf32, hbm>
  %t = bir.location @t : <128x64xf32, sbuf>
  %cube = bir.location @cube : <128x8x8xf32, sbuf>
  %address = bir.location @address : <128x1xu64, sbuf>
  %cubes = bir.location @cubes : <128x1x1xu64, sbuf>
  %two = bir.location @two : <128x2xu64, sbuf>
  %few = bir.location @few : <64x1xu64, sbuf>
  %index = bir.location @index : <128x1xi32, sbuf>
  %hbm = bir.location @hbm : <128x1xu64, hbm>
  // near miss: `<- %t` -> `<- %a`
  // expected-error @below {{ReadVarAddr reads the address of a tensor in hbm}}
  bir.read_var_addr @I0 %address <- %t
  // near miss: `%hbm <-` -> `%address <-`
  // expected-error @below {{addresses are in sbuf}}
  bir.read_var_addr @I1 %hbm <- %a
  // near miss: `%index <-` -> `%address <-`
  // expected-error @below {{loading mem addr, which must be uint64, got int32}}
  bir.read_var_addr @I2 %index <- %a
  // near miss: `%cubes` -> `%address`
  // expected-error @below {{indirect DMA's AddrAP should be 2D}}
  bir.indirect_load @I3 %t <- %cubes
  // near miss: `%two` -> `%address`
  // expected-error @below {{Currently only support 1 address per partition for Indirect DMA, got 2}}
  bir.indirect_load @I4 %t <- %two
  // near miss: `%address[0, 0][1 x 64, 1 x 1]` -> `%few`
  // expected-error @below {{Addr Tensor partition dim must match its tensor shape, got 64 of 128}}
  bir.indirect_load @I5 %t[0, 0][1 x 64, 1 x 64] <- %address[0, 0][1 x 64, 1 x 1]
  // near miss: `%few` -> `%address`
  // expected-error @below {{'address' has 64 partitions, 'dst' 128}}
  bir.indirect_load @I6 %t <- %few
  // near miss: `%cube <-` -> `%t <-`
  // expected-error @below {{Currently only support 2D DataAP for Indirect DMA}}
  bir.indirect_load @I7 %cube <- %address
  // near miss: `2 x 32` -> `1 x 32`
  // expected-error @below {{Must have step 1 in final dim of IndirectLoad output AP, got 2}}
  bir.indirect_load @I8 %t[0, 0][1 x 128, 2 x 32] <- %address
  // near miss: `offset = %index` -> `offset = %index {engine = Pool}`
  // expected-error @below {{Indirect DMA bound-check can only be on Pool engine, got DMA}}
  bir.indirect_load @I9 %t <- %address, checked = %index, index = %index, offset = %index
  // near miss: `index = %index {` -> `index = %index, offset = %index {`
  // expected-error @below {{must have 3 args and 2 outputs for bound-check}}
  bir.indirect_load @I10 %t <- %address, checked = %index, index = %index {engine = Pool}
  // near miss: `%few` -> `%address`
  // expected-error @below {{'address' has 64 partitions, 'src' 128}}
  bir.indirect_save @I11 %t, %few
}
