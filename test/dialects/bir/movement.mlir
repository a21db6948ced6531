// RUN: neuron-opt %s | neuron-opt | filecheck %s
// RUN: neuron-opt %s --print-op-generic | neuron-opt | filecheck %s

// Copies and indirect DMA that passes of the back end create.

builtin.module attributes {neuron.target = #neuron.target<trn2>} {
  // CHECK: bir.func @f {
  bir.func @f {
    // CHECK: %a = bir.location @a ExternalInput : <512x64xf32, hbm>
    %a = bir.location @a ExternalInput : <512x64xf32, hbm>
    // CHECK: %t = bir.location @t : <128x64xf32, sbuf>
    %t = bir.location @t : <128x64xf32, sbuf>
    // CHECK: %u = bir.location @u : <128x64xbf16, sbuf>
    %u = bir.location @u : <128x64xbf16, sbuf>
    // CHECK: %n = bir.location @n : <1x8xi32, sbuf>
    %n = bir.location @n : <1x8xi32, sbuf>
    // CHECK: %address = bir.location @address : <128x1xu64, sbuf>
    %address = bir.location @address : <128x1xu64, sbuf>
    // CHECK: %index = bir.location @index : <128x1xi32, sbuf>
    %index = bir.location @index : <128x1xi32, sbuf>
    // CHECK: %offset = bir.location @offset : <128x1xi32, sbuf>
    %offset = bir.location @offset : <128x1xi32, sbuf>
    // CHECK: %checked = bir.location @checked : <128x1xi32, sbuf>
    %checked = bir.location @checked : <128x1xi32, sbuf>
    // CHECK: %r = bir.tensor_load @I0 %n[0, 0][1 x 1, 1 x 1]
    %r = bir.tensor_load @I0 %n[0, 0][1 x 1, 1 x 1]
    // CHECK: bir.generic_copy @I1 %u <- %t {can_read_uninit}
    bir.generic_copy @I1 %u <- %t {can_read_uninit}
    // CHECK: bir.abstract_copy @I2 %u <- %t {dma_qos = P1, engine = Activation}
    bir.abstract_copy @I2 %u <- %t {dma_qos = P1, engine = Activation}
    // CHECK: bir.tensor_copy_dynamic_src @I3 %u[0, 0][1 x 128, 1 x 8] <- %t[0, %r * 8][1 x 128, 1 x 8] {scale = 8, engine = Pool}
    bir.tensor_copy_dynamic_src @I3 %u[0, 0][1 x 128, 1 x 8] <- %t[0, %r * 8][1 x 128, 1 x 8] {scale = 8, engine = Pool}
    // CHECK: bir.tensor_copy_dynamic_dst @I4 %u[0, %r * 8][1 x 128, 1 x 8] <- %t[0, 0][1 x 128, 1 x 8] {can_read_uninit}
    bir.tensor_copy_dynamic_dst @I4 %u[0, %r * 8][1 x 128, 1 x 8] <- %t[0, 0][1 x 128, 1 x 8] {can_read_uninit}
    // CHECK: bir.gpsimd_sb2sb @I5 %t[0, 0][1 x 64, 1 x 32] <- %t[64, 0][1 x 64, 1 x 32] {engine = Pool}
    bir.gpsimd_sb2sb @I5 %t[0, 0][1 x 64, 1 x 32] <- %t[64, 0][1 x 64, 1 x 32] {engine = Pool}
    // CHECK: bir.read_var_addr @I6 %address <- %a {engine = Pool, queue = "q"}
    bir.read_var_addr @I6 %address <- %a {engine = Pool, queue = "q"}
    // CHECK: bir.indirect_load @I7 %t <- %address {engine = Pool}
    bir.indirect_load @I7 %t <- %address {engine = Pool}
    // CHECK: bir.indirect_load @I8 %t <- %address, checked = %checked, index = %index, offset = %offset {runtime_semaphore_wait_value = 16, engine = Pool}
    bir.indirect_load @I8 %t <- %address, checked = %checked, index = %index, offset = %offset {runtime_semaphore_wait_value = 16, engine = Pool}
    // CHECK: bir.indirect_save @I9 %t, %address {engine = Pool}
    bir.indirect_save @I9 %t, %address {engine = Pool}
    // CHECK: bir.indirect_save @I10 %t, %address, index = %index, offset = %offset
    bir.indirect_save @I10 %t, %address, index = %index, offset = %offset
  }
}
