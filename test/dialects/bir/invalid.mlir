// RUN: neuron-opt %s --split-input-file --verify-diagnostics

// What the bir dialect refuses beside the rules it shares with penguin.

// expected-error @below {{name 'a' is given twice}}
bir.func @locations {
  %a = bir.location @a : <128x8xf32, sbuf>
  %b = bir.location @a : <128x8xf32, sbuf>
}

// -----

// expected-error @below {{name 'I0' is given twice}}
bir.func @instructions {
  %a = bir.location @a : <128x8xf32, sbuf>
  bir.memset @I0 %a {value = 0.0}
  bir.memset @I0 %a {value = 0.0}
}

// -----

bir.func @kinds {
  // near miss: `sbuf` -> `hbm`
  // expected-error @below {{location of kind ExternalInput must be in hbm, got sbuf}}
  %a = bir.location @a ExternalInput : <128x8xf32, sbuf>
  // expected-error @below {{only an input is mutable, got kind ExternalOutput}}
  %b = bir.location @b mutable ExternalOutput : <128x8xf32, hbm>
}

// -----

builtin.module attributes {neuron.target = #neuron.target<trn1>} {
  bir.func @arch {
    dma.block @b {
    }
    %a = bir.location @a mutable ExternalInput : <128x8xf32, hbm>
    %t = bir.location @t : <128x8xf32, sbuf>
    // near miss: ` {dge = hwdge}` -> ``
    // expected-error @below {{Found Instruction with unsupported DGE type DGEType::HWDGE on Sunda Arch}}
    bir.load @I0 %t <- %a {dge = hwdge}
    // near miss: ` {engine = PE}` -> ``
    // expected-error @below {{InstDMA cannot be on PE engine}}
    bir.load @I1 %t <- %a {engine = PE}
    // near miss: ` {rmw_op = add}` -> ``
    // expected-error @below {{Save has no op field; an accumulating store is a bir.dma_copy}}
    bir.save @I2 %a <- %t {rmw_op = add}
    // near miss: ` {engine = PE}` -> ``
    // expected-error @below {{InstDMA cannot be on PE engine}}
    bir.dma_trigger @I3 [@b] {engine = PE}
  }
}

// -----

bir.func @engines {
  %t = bir.location @t : <128x8xf32, sbuf>
  // near miss: ` {engine = PE}` -> ``
  // expected-error @below {{runs on engine PE, expected one of DVE, Pool or Unassigned}}
  bir.tensor_tensor @I0 add %t <- %t, %t {engine = PE}
}

// -----

bir.func @transposes {
  %table = bir.location @table ExternalInput : <512x64xbf16, hbm>
  %t = bir.location @t : <64x128xbf16, sbuf>
  %index = bir.location @index : <16x1xu32, sbuf>
  %cube = bir.location @cube : <64x1x1x16xbf16, sbuf>
  // near miss: `%t <- %table[0][64 x 128, 1 x 64] {axes = [1, 0]` -> `%t[0, 0][1 x 64, 128 x 1, 128 x 1, 1 x 128] <- %table[0][64 x 128, 64 x 1, 64 x 1, 1 x 64] {axes = [3, 1, 2, 0]`
  // expected-error @below {{DMA Tranpose must have 4-D access pattern.}}
  bir.dma_copy_transpose @I0 %t <- %table[0][64 x 128, 1 x 64] {axes = [1, 0]}
  // near miss: `axes = [3, 1, 2, 0]` -> `axes = [3, 1, 2, 0], engine = Pool`
  // expected-error @below {{Transpose with DynamicAP only on Pool, got DMA}}
  bir.dma_copy_gather_transpose @I1 %cube <- %table[0][64 x 16, 64 x 1, 64 x 1, 1 x 64], %index {max_index = 512, axes = [3, 1, 2, 0]}
  // near miss: `[3, 2, 1, 0]` -> `[3, 1, 2, 0]`
  // expected-error @below {{DGE xbar dynamic transpose only supports TransposeOps::XZYW, but it is (3, 2, 1, 0)}}
  bir.dma_copy_gather_transpose @I2 %cube <- %table[0][64 x 16, 64 x 1, 64 x 1, 1 x 64], %index {max_index = 512, axes = [3, 2, 1, 0], engine = Pool}
}

// -----

// expected-error @below {{a location has contents where its kind is Const}}
%a = bir.location @a Const : <8x8xf32, hbm>
// near miss: `8` -> `4`
// expected-error @below {{an identity is a square matrix}}
%b = bir.location @b Const identity : <8x4xf32, hbm>

// -----

bir.func @read_only {
  %a = bir.location @a ExternalInput : <128x8xf32, hbm>
  %b = bir.location @b mutable ExternalInput : <128x8xf32, hbm>
  %t = bir.location @t : <128x8xf32, sbuf>
  // near miss: `%a` -> `%b`
  // expected-error @below {{Cannot update immutable parameter `a`, it is an input that is not marked mutable}}
  bir.save @I0 %a <- %t
  bir.save @I1 %b <- %t
}

// -----

// Opaque instructions and triggers have names like the others.

// expected-error @below {{name 'K' is given twice}}
bir.func @opaque {
  %t = bir.location @t : <128x8xf32, sbuf>
  bir.nki_kernel @K (%t) <- (%t) {func = "f"}
  bir.memset @K %t {value = 0.0}
}

// -----

// expected-error @below {{name 'K' is given twice}}
bir.func @two_kernels {
  %t = bir.location @t : <128x8xf32, sbuf>
  bir.nki_kernel @K (%t) <- (%t) {func = "f"}
  bir.loop sequential %i = 0 to 2 {
    bir.custom_op @K (%t) <- (%t) {opFunctionName = "g", opLibFile = "l"}
  }
}

// -----

// expected-error @below {{name 'T' is given twice}}
bir.func @triggers {
  %a = bir.location @a : <8x8xf32, hbm>
  dma.block @d {
    dma.copy f32 f32 %a[0][4 x 32] <- %a[128][4 x 32]
  }
  bir.dma_trigger @T [@d] {engine = SP}
  bir.no_op @T
}

// -----

// A legal near miss: a name of each kind; instructions without one.
bir.func @names {
  %t = bir.location @K : <128x8xf32, sbuf>
  bir.nki_kernel @K (%t) <- (%t) {func = "f"}
  bir.nki_kernel (%t) <- (%t) {func = "f"}
  bir.memset %t {value = 0.0}
  bir.memset %t {value = 0.0}
}
