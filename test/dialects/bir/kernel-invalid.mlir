// RUN: neuron-opt %s --split-input-file --verify-diagnostics

builtin.module attributes {neuron.target = #neuron.target<trn2>} {
  bir.func @f {
    %a = bir.location @a ExternalInput : <8x64xf32, hbm>
    // near miss: `#neuron.target<trn2>` -> `#neuron.target<trn1>`
    // expected-error @below {{CustomOp: arch must be Sunda or Tonga, got trn2}}
    bir.custom_op @I0 (%a) <- (%a) {opFunctionName = "f", opLibFile = "lib.so"}
    // near miss: `engine = DVE, ` -> ``
    // expected-error @below {{runs on engine DVE, expected one of Unassigned}}
    bir.nki_kernel @I2 (%a) <- () {engine = DVE, func = "f"}
    // near miss: `sb_buf_shape = [128, 0], ` -> ``
    // expected-error @below {{the pair sb_buf_shape is both zero or both positive, got [128, 0]}}
    bir.nki_kernel @I3 (%a) <- () {sb_buf_shape = [128, 0], func = "f"}
    // near miss: `sb_buf_shape = [128], ` -> ``
    // expected-error @below {{'sb_buf_shape' is a pair, got [128]}}
    bir.nki_kernel @I4 (%a) <- () {sb_buf_shape = [128], func = "f"}
    // near miss: `psum_buf_shape = [128, 9], ` -> ``
    // expected-error @below {{psum_bank_count <= numBanks: 9, trn2 has 8}}
    bir.nki_kernel @I5 (%a) <- () {psum_buf_shape = [128, 9], func = "f"}
    // near miss: `psum_buf_shape = [129, 8], ` -> ``
    // expected-error @below {{psum_num_partitions <= NUM_PARTITIONS: 129 of 128}}
    bir.nki_kernel @I6 (%a) <- () {psum_buf_shape = [129, 8], func = "f"}
    // near miss: `sb_buf_shape = [128, 4], ` -> ``
    // expected-error @below {{outputs >= sb + psum buffers: 1 outputs, 2 buffers}}
    bir.nki_kernel @I7 (%a) <- () {sb_buf_shape = [128, 4], psum_buf_shape = [128, 8], func = "f"}
    // near miss: `256` -> `8`
    // expected-error @below {{'asm_bytes' is a list of bytes, got [256]}}
    bir.inline_asm_bytes @I8 () <- () {asm_bytes = [256]}
    // expected-error @below {{'asm_bytes' is a list of bytes, got []}}
    bir.inline_asm_bytes @I9 () <- () {asm_bytes = []}
  }
}

// -----

// near miss: `bir.nki_kernel @I0 () <- () {func = "f"}` -> `bir.func @g { bir.nki_kernel @I0 () <- () {func = "f"} }`
// expected-error @below {{I.getFunc() != nullptr: a kernel is in a bir.func}}
bir.nki_kernel @I0 () <- () {func = "f"}

// -----

// The engine is looked at behind the architecture.

builtin.module attributes {neuron.target = #neuron.target<trn1>} {
  bir.func @f {
    %a = bir.location @a ExternalInput : <8x64xf32, hbm>
    %b = bir.location @b : <8x64xf32, hbm>
    // near miss: `engine = DVE` -> `engine = Pool`
    // expected-error @below {{runs on engine DVE, expected one of Pool}}
    bir.custom_op @I0 (%b) <- (%a) {engine = DVE, opFunctionName = "f", opLibFile = "lib.so"}
  }
}
