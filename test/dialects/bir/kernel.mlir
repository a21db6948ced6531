// RUN: neuron-opt %s | neuron-opt | filecheck %s
// RUN: neuron-opt %s --print-op-generic | neuron-opt | filecheck %s

// Kernels and opaque instructions, and the state of engines.

builtin.module attributes {neuron.target = #neuron.target<trn1>} {
  // CHECK: bir.func @f {
  bir.func @f {
    // CHECK: %a = bir.location @a ExternalInput : <8x64xf32, hbm>
    %a = bir.location @a ExternalInput : <8x64xf32, hbm>
    // CHECK: %b = bir.location @b ExternalInput : <8x64xf32, hbm>
    %b = bir.location @b ExternalInput : <8x64xf32, hbm>
    // CHECK: %c = bir.location @c ExternalOutput : <8x64xf32, hbm>
    %c = bir.location @c ExternalOutput : <8x64xf32, hbm>
    // CHECK: %t = bir.location @t : <128x8xf32, sbuf>
    %t = bir.location @t : <128x8xf32, sbuf>
    // CHECK: %u = bir.location @u : <128x8xf32, psum>
    %u = bir.location @u : <128x8xf32, psum>
    // CHECK: %v = bir.location @v : <128x1xf32, sbuf>
    %v = bir.location @v : <128x1xf32, sbuf>
    // CHECK: bir.custom_op @I0 (%c) <- (%a, %b) {opFunctionName = "f", opLibFile = "lib.so", ulib_to_ucode_version = "1.2", ulib_to_isa_version = "3", is_builtin, srcsShape = {{\[\[}}8, 64], [8, 64]], dstsShape = {{\[\[}}8, 64]], engine = Pool}
    bir.custom_op @I0 (%c) <- (%a, %b) {opFunctionName = "f", opLibFile = "lib.so", ulib_to_ucode_version = "1.2", ulib_to_isa_version = "3", is_builtin, srcsShape = [[8, 64], [8, 64]], dstsShape = [[8, 64]], engine = Pool}
    // CHECK: bir.bir_kernel @I1 (%c, %t, %u) <- (%a) {kernel_name = "attention", srcs_shape = {{\[\[}}8, 64]], dsts_shape = {{\[\[}}8, 64]], kernel_attrs = {scale = 2 : i64}, auto_cast = "bf16", is_causal, fused_rmsnorm, norm_type = "rms", lnc_size = 2, store_add, quant_kernel, output_layout = "bsd", lower_bound = -1, sb_buf_shape = [128, 32], psum_buf_shape = [128, 8]}
    bir.bir_kernel @I1 (%c, %t, %u) <- (%a) {kernel_name = "attention", srcs_shape = [[8, 64]], dsts_shape = [[8, 64]], kernel_attrs = {scale = 2 : i64}, auto_cast = "bf16", is_causal, fused_rmsnorm, norm_type = "rms", lnc_size = 2, store_add, quant_kernel, output_layout = "bsd", lower_bound = -1, sb_buf_shape = [128, 32], psum_buf_shape = [128, 8]}
    // CHECK: bir.nki_kernel @I2 (%c) <- () {func = "f", func_args = ["a"], func_outs = ["c"], address_rotation_scope_val = Kernel, kernel_source_val = Beta2}
    bir.nki_kernel @I2 (%c) <- () {func = "f", func_args = ["a"], func_outs = ["c"], address_rotation_scope_val = Kernel, kernel_source_val = Beta2}
    // CHECK: bir.nki_klir_kernel () <- (%a, %b) {klir_binary = "AAAA", kernel_format = "klr", nki_binary_version_identifier = "0.4", enable_device_dump, after = [flow "I2"]}
    bir.nki_klir_kernel () <- (%a, %b) {klir_binary = "AAAA", kernel_format = "klr", nki_binary_version_identifier = "0.4", enable_device_dump, after = [flow "I2"]}
    // CHECK: bir.inline_asm_bytes @I4 () <- () {asm_bytes = [0, 255], sync_type = sequencer, latency_estimate = 64} attributes {key}
    bir.inline_asm_bytes @I4 () <- () {asm_bytes = [0, 255], sync_type = sequencer, latency_estimate = 64} attributes {key}
  }
}
