// RUN: neuron-opt %s --split-input-file --verify-diagnostics

// Every gate of the penguin dialect, next to what it refuses.

%a = penguin.alloc : <128x512xf32, sbuf>
// near miss: `64` -> `0`
// expected-error @below {{Out-of-bound access for tensor `a` on dimension 0 index range [64, 191] exceed dimension size of 128}}
penguin.memset %a[64, 0][1 x 128, 1 x 512] {value = 0.0}
// near miss: `1]` -> `0]`
// expected-error @below {{Out-of-bound access for tensor `a` on dimension 1 (flattened) index range [1, 512] exceed dimension size of 512}}
penguin.memset %a[0, 1][1 x 128, 1 x 512] {value = 0.0}
// near miss: `[0][1 x 128]` -> ``
// expected-error @below {{access to a in sbuf must be written [partition, offset]}}
penguin.memset %a[0][1 x 128] {value = 0.0}
// near miss: `[127, 0][-1` -> `[0, 0][1`
// expected-error @below {{Negative step in Pattern[0] not supported, got -1 for a}}
penguin.memset %a[127, 0][-1 x 128, 1 x 512] {value = 0.0}

// -----

%a = penguin.alloc : <300x10xf32, hbm>
%t = penguin.alloc : <128x10xf32, sbuf>
penguin.for parallel %i = 0 to 3 {
  // near miss: `1280` -> `0`
  // expected-error @below {{index range [0, 3839] exceed dimension size of 3000}}
  penguin.sb_atom_load %t <- %a[%i * 1280][10 x 128, 1 x 10]
  // A near miss: the mask keeps the ragged tail inside.
  penguin.sb_atom_load %t <- %a[%i * 1280][10 x 128, 1 x 10] where 299 - %i * 128 - l0 >= 0
  // near miss: `1280` -> `300`
  // expected-error @below {{index range [2560, 3009] exceed dimension size of 3000}}
  penguin.sb_atom_load %t <- %a[%i * 1280][10 x 128, 1 x 10] where 300 - %i * 128 - l0 >= 0
}

// -----

// expected-error @below {{number of partitions 129 exceed architecture limitation of 128}}
%a = penguin.alloc : <129x512xf32, sbuf>

// -----

// expected-error @below {{which must be all positive, non-zero values.}}
%a = penguin.alloc : <0x512xf32, hbm>

// -----

%a = penguin.alloc : <128x512xf32, sbuf>
// near miss: `, engine = PE` -> ``
// expected-error @below {{Memset engine can only be Vector or GpSIMD or Unknown. Got PE}}
penguin.memset %a {value = 0.0, engine = PE}
// near miss: ` {engine = Pool}` -> ``
// expected-error @below {{runs on engine Pool, expected one of DVE or Unassigned}}
penguin.reciprocal %a <- %a {engine = Pool}
// near miss: `, engine = PE` -> ``
// expected-error @below {{Engine for tensor_scalar can only be Scalar or Vector or GpSIMD or Unknown. Got PE}}
penguin.tensor_scalar_ptr mult %a <- %a {imm0 = 2.0, engine = PE}
// near miss: `, engine = Activation` -> ``
// expected-error @below {{op0=subtract, op1=None is not supported on engine Activation}}
penguin.tensor_scalar_ptr subtract %a <- %a {imm0 = 2.0, engine = Activation}
// near miss: `, imm1 = 3.0` -> ``
// expected-error @below {{operand1 and op1 input arguments must be both provided or both None.}}
penguin.tensor_scalar_ptr mult %a <- %a {imm0 = 2.0, imm1 = 3.0}
// near miss: `, reverse1` -> ``
// expected-error @below {{reverse1 swaps the sides of op1, which is not given}}
penguin.tensor_scalar_ptr mult %a <- %a {imm0 = 2.0, reverse1}
// expected-error @below {{op0 takes exactly one of scalar0 and imm0}}
penguin.tensor_scalar_ptr mult %a <- %a
// near miss: `bitwise_and` -> `add`
// expected-error @below {{must be both bitvec or both arithmetic operators.}}
penguin.tensor_scalar_ptr bitwise_and %a <- %a {imm0 = 2, op1 = add, imm1 = 1.0}
// near miss: `bitwise_or` -> `add`
// expected-error @below {{Unsupported dtype 'float32' of 'dst' in a bitwise operation}}
penguin.tensor_tensor bitwise_or %a <- %a, %a

// -----

%a = penguin.alloc : <128x512xf32, hbm>
%s = penguin.alloc : <128x512xf32, sbuf>
// near miss: `%a` -> `%s`
// expected-error @below {{Expected operand 'src' of 'penguin.tensor_copy' to be in address space 'sbuf or psum', but got a hbm instead.}}
penguin.tensor_copy %s <- %a
// near miss: `%a ` -> `%s `
// expected-error @below {{Expected SB <-> DRAM or PSUM <-> SB, but got hbm -> hbm; a load goes from hbm to sbuf}}
penguin.sb_atom_load %a <- %a
// near miss: `%s <- %a` -> `%a <- %s`
// expected-error @below {{Expected SB <-> DRAM or PSUM <-> SB, but got hbm -> sbuf; a store goes from sbuf to hbm}}
penguin.sb_atom_store %s <- %a

// -----

%s = penguin.alloc : <64x512xf32, sbuf>
%p = penguin.alloc : <128x512xf32, psum>
%q = penguin.alloc : <128x512xf32, psum>
%t = penguin.alloc : <128x256xf32, sbuf>
%o = penguin.alloc : <128x512xf32, sbuf>
// near miss: ` {engine = Pool}` -> ``
// expected-error @below {{Pool cannot read or write PSUM, but 'rhs' is q: f32[128, 512] in psum}}
penguin.tensor_tensor add %o <- %o, %q {engine = Pool}
// near miss: `%p` -> `%o`
// expected-error @below {{both inputs cannot be PSUM; copy one to SBUF with tensor_copy first}}
penguin.tensor_tensor add %o <- %p, %q
// near miss: `%s` -> `%p`
// expected-error @below {{number of partitions mismatch in parameters (dst: 128, rhs: 64)}}
penguin.tensor_tensor add %o <- %o, %s
// near miss: `%t` -> `%p`
// expected-error @below {{tile shape mismatch, expected '[128, 512]' of 'dst', got [128, 256] for 'rhs'}}
penguin.tensor_tensor add %o <- %o, %t
// near miss: `scalar0 = %o` -> `scalar0 = %o[0, 0][1 x 128, 1 x 1]`
// expected-error @below {{'scalar0' must hold one element for each of 128 partitions}}
penguin.tensor_scalar_ptr add %o <- %o, scalar0 = %o
// near miss: `%p` -> `%o`
// expected-error @below {{address space 'hbm or sbuf', but got a psum instead. Copy it to SBUF first}}
penguin.dma_copy %o <- %p

// -----

builtin.module attributes {neuron.target = #neuron.target<trn2>} {
  %a = penguin.alloc : <128x8xf32, sbuf>
  // near miss: `32` -> `64`
  // expected-error @below {{access to 'dst' (a: f32[64, 8] in sbuf)}}
  penguin.memset %a[32, 0][1 x 64, 1 x 8] {value = 0.0}
  penguin.memset %a[32, 0][1 x 32, 1 x 8] {value = 0.0}
}

// -----

%b = penguin.alloc : <128x1xtf32, sbuf>
%h = penguin.alloc : <128x1xf16, sbuf>
%o = penguin.alloc : <128x512xf32, sbuf>
// near miss: `%b` -> `%h`
// expected-error @below {{'bias' param of 'penguin.activation' must be a vector of any number type but tfloat32, got 'tfloat32'}}
penguin.activation Exp %o <- %o, bias = %b
// near miss: `, scale = %h` -> ``
// expected-error @below {{'scale' param of 'penguin.activation' must be a scalar or vector of type float32, got 'float16'}}
penguin.activation Exp %o <- %o, scale = %h

// -----

builtin.module attributes {neuron.target = #neuron.target<trn1>} {
  %o = penguin.alloc : <128x512xf32, sbuf>
  %b = penguin.alloc : <128x1xf32, sbuf>
  // near miss: ` {engine = Pool}` -> ``
  // expected-error @below {{'penguin.activation' runs on engine Pool from trn3 on, got trn1; use the scalar engine}}
  penguin.activation Exp %o <- %o {engine = Pool}
  // near miss: `Reciprocal` -> `Exp`
  // expected-error @below {{reciprocal must have bias=None for trn1.}}
  penguin.activation Reciprocal %o <- %o, bias = %b
}

// -----

%w = penguin.alloc : <128x256xbf16, sbuf>
%x = penguin.alloc : <128x512xbf16, sbuf>
%y = penguin.alloc : <64x512xbf16, sbuf>
%f = penguin.alloc : <128x512xf32, sbuf>
%i = penguin.alloc : <128x512xi32, sbuf>
%acc = penguin.alloc : <128x512xf32, psum>
%n = penguin.alloc : <128x512xi32, psum>
%h = penguin.alloc : <128x512xi16, psum>
// near miss: `%f` -> `%acc`
// expected-error @below {{Result buffer of matmult must be psum! Got f: f32[128, 512] in sbuf}}
penguin.matmul %f <- %w[0, 0][1 x 128, 1 x 128], %x
// near miss: `128,` -> `64,`
// expected-error @below {{number of partitions mismatch in parameters (stationary: 128, moving: 64)}}
penguin.matmul %acc <- %w[0, 0][1 x 128, 1 x 128], %y
// expected-error @below {{size of dimension 1 in 'stationary' of 'penguin.matmul' exceed architecture limitation of 128}}
penguin.matmul %acc <- %w, %x
// near miss: `64` -> `128`
// expected-error @below {{tile shape mismatch, expected '[64, 512]' (stationary free, moving free) for 'dst', got [128, 512]}}
penguin.matmul %acc <- %w[0, 0][1 x 128, 1 x 64], %x
// near miss: `%i` -> `%x`
// expected-error @below {{Unsupported dtype 'int32' of 'moving'}}
penguin.matmul %acc <- %w[0, 0][1 x 128, 1 x 128], %i
// near miss: `%w` -> `%f`
// expected-error @below {{a float32 or tfloat32 operand goes only with another one, got bfloat16 and float32}}
penguin.matmul %acc <- %w[0, 0][1 x 128, 1 x 128], %f
// near miss: `%h` -> `%acc`
// expected-error @below {{PSUM tensor for non-transpose writes must be a 4-byte dtype (FP32/int32), got int16}}
penguin.matmul %h <- %w[0, 0][1 x 128, 1 x 128], %x
penguin.matmul %n <- %w[0, 0][1 x 128, 1 x 128], %x

// -----

builtin.module attributes {neuron.target = #neuron.target<trn2>} {
  %w = penguin.alloc : <128x128xbf16, sbuf>
  %x = penguin.alloc : <128x1024xbf16, sbuf>
  %acc = penguin.alloc : <128x1024xf32, psum>
  // near miss: `#neuron.target<trn2>` -> `#neuron.target<trn3>`
  // expected-error @below {{moving free size 1024 exceeds 512: loop over two halves, or use a block dimension}}
  penguin.matmul %acc <- %w, %x
  // near miss: `256` -> `512`
  // expected-error @below {{access to 'dst' crosses a PSUM bank: bytes 1024 to 3071 of a partition, banks hold 2048}}
  penguin.matmul %acc[0, 256][1 x 128, 1 x 512] <- %w, %x[0, 0][1 x 128, 1 x 512]
  penguin.matmul %acc[0, 512][1 x 128, 1 x 512] <- %w, %x[0, 0][1 x 128, 1 x 512]
}

// -----

%w = penguin.alloc : <128x64xbf16, sbuf>
%s = penguin.alloc : <64x128xbf16, sbuf>
%f = penguin.alloc : <64x128xf32, psum>
%p = penguin.alloc : <64x128xbf16, psum>
%z = penguin.alloc : <128x64xbf16, sbuf>
// near miss: ` {engine = Pool}` -> ``
// expected-error @below {{Transpose engine can only be Tensor or Vector or Unknown. Got Pool}}
penguin.transpose %p <- %w {engine = Pool}
// near miss: `%s` -> `%p`
// expected-error @below {{Operand must be no larger than (32, 32) on the vector engine, got (128, 64)}}
penguin.transpose %s <- %w
// near miss: `%f` -> `%p`
// expected-error @below {{src and dst must have same data type but got bfloat16 and float32}}
penguin.transpose %f <- %w
// near miss: `%z` -> `%p`
// expected-error @below {{expected '[64, 128]' for 'dst', got [128, 64]}}
penguin.transpose %z <- %w {engine = PE}
// near miss: `%s` -> `%p`
// expected-error @below {{Expected operand 'dst' of 'penguin.transpose' to be in address space 'psum', but got a sbuf instead.}}
penguin.transpose %s <- %w {engine = PE}
penguin.transpose %p <- %w

// -----

%a = penguin.alloc : <128x4x512xf32, sbuf>
%v = penguin.alloc : <128x4xf32, sbuf>
%n = penguin.alloc : <128x4xi32, sbuf>
// near miss: `0` -> `2`
// expected-error @below {{Reduction on partition axes is not supported, got axes [0]}}
penguin.tensor_reduce add %v <- %a {axes = [0]}
// expected-error @below {{Empty axis not supported}}
penguin.tensor_reduce add %v <- %a {axes = []}
// near miss: `1` -> `2`
// expected-error @below {{axes [1] are not the last dimensions of a source of rank 3}}
penguin.tensor_reduce add %v <- %a {axes = [1]}
// near miss: `divide` -> `subtract`
// expected-error @below {{divide is not supported in 'penguin.tensor_reduce'}}
penguin.tensor_reduce divide %v <- %a {axes = [2]}
// near miss: `, negate` -> ``
// expected-error @below {{negate option can only be used with arithmetic ops, unsupported op=bitwise_and}}
penguin.tensor_reduce bitwise_and %n[0, 0][1 x 128] <- %n {axes = [1], negate}
// near miss: `[1, 2]` -> `[2]`
// expected-error @below {{tile shape mismatch, expected '[128, 1]' for 'dst', got [128, 4]}}
penguin.tensor_reduce add %v <- %a {axes = [1, 2]}

// -----

%f = penguin.alloc : <128x512xf32, sbuf>
%h = penguin.alloc : <128x512xf16, sbuf>
%n = penguin.alloc : <128x512xi32, sbuf>
%p = penguin.alloc : <128x512xi32, psum>
%u = penguin.alloc : <128x512xu8, sbuf>
%i = penguin.alloc : <128x512xi8, sbuf>
%d = penguin.alloc : <128x512xf32, psum>
%e = penguin.alloc : <128x512xu32, psum>
// near miss: `%f,` -> `%u,`
// expected-error @below {{`predicate` must be a boolean or integer tile, got float32}}
penguin.tensor_copy_predicated %f <- %f, src = %f
// near miss: `%i` -> `%u`
// expected-error @below {{Unsupported dtype 'int8' of 'predicate' in 'penguin.tensor_copy_predicated', expected one of the following dtypes: uint8, uint16, uint32}}
penguin.tensor_copy_predicated %f <- %i, src = %f
// near miss: `%d` -> `%f`
// expected-error @below {{both inputs cannot be PSUM (src and predicate); copy one to SBUF}}
penguin.tensor_copy_predicated %f <- %e, src = %d
// near miss: `src = %h` -> `src = %f`
// expected-error @below {{`src` and `dst` must have the same dtype, got float16 and float32}}
penguin.tensor_copy_predicated %f <- %u, src = %h
// expected-error @below {{takes exactly one of src and imm}}
penguin.tensor_copy_predicated %f <- %u
// near miss: `imm = 1}` -> `imm = 1.0}`
// expected-error @below {{Scalar `src` must be float if `dst` is float, got 1 and float32}}
penguin.tensor_copy_predicated %f <- %u {imm = 1}
// near miss: `imm = 1.0}` -> `imm = 1}`
// expected-error @below {{Scalar `src` must be int if `dst` is integer, got 1.0 and int32}}
penguin.tensor_copy_predicated %n <- %u {imm = 1.0}
// near miss: `on_true = %f` -> `on_true = %f, on_false = %f`
// expected-error @below {{takes on_false as one tensor or one immediate}}
penguin.tensor_select %f <- %n, on_true = %f
// near miss: `%p` -> `%f`
// expected-error @below {{Expected operand 'dst' of 'penguin.index_value' to be in address space 'sbuf', but got a psum instead.}}
penguin.index_value %p {value = l0}
// near miss: `2147483648` -> `2147483647`
// expected-error @below {{the offset and the steps of 'penguin.index_value' must be int32, got 2147483648}}
penguin.index_value %n {value = l0 + 2147483648}
// near miss: `-2147483649` -> `-2147483648`
// expected-error @below {{the offset and the steps of 'penguin.index_value' must be int32, got -2147483649}}
penguin.index_value %n {value = l0 * -2147483649}

// -----

%t = penguin.alloc : <512x64xf32, hbm>
%c = penguin.alloc : <512x64xbf16, hbm>
%r = penguin.alloc : <128x64xf32, sbuf>
%i = penguin.alloc : <128x1xu32, sbuf>
%f = penguin.alloc : <128x1xf32, sbuf>
%p = penguin.alloc : <128x1xu32, psum>
// near miss: `%t` -> `%t[0][64 x 128, 1 x 64]`
// expected-error @below {{DMA instruction must read and write same number of elements, got 8192 (r: f32[128, 64] in sbuf) and 32768}}
penguin.sb_atom_load %r <- %t
// near miss: ` {oob = skip}` -> ``
// expected-error @below {{oob_mode.skip is not supported for direct memory access. Only oob_mode.error is allowed (got oob_mode.skip)}}
penguin.dma_copy %r <- %t[0][64 x 128, 1 x 64] {oob = skip}
// near miss: ` {rmw_op = max}` -> ``
// expected-error @below {{scatter op can only support bypass or add for now, got max}}
penguin.dma_copy %t[0][64 x 128, 1 x 64] <- %r {rmw_op = max}
// near miss: ` {dge = hwdge}` -> ``
// expected-error @below {{HWDGE DMA needs equal dtypes, got bfloat16 to float32}}
penguin.dma_copy %r <- %c[0][64 x 128, 1 x 64] {dge = hwdge}
// near miss: `%t[0` -> `%c[0`
// expected-error @below {{source and destination overlap partly in t}}
penguin.dma_copy %t[0][64 x 128, 1 x 64] <- %t[64][64 x 128, 1 x 64]
penguin.dma_copy %t[0][128 x 128, 1 x 64] <- %t[64][128 x 128, 1 x 64]
// near miss: `%t[0` -> `%c[0`
// expected-error @below {{source and destination overlap partly in t}}
penguin.dma_copy %t[0][1 x 64] as bf16 <- %t[16][1 x 64]
penguin.dma_copy %t[0][1 x 64] as bf16 <- %t[32][1 x 64]
penguin.for parallel %q = 0 to 4 {
  // near miss: `y %t` -> `y %c`
  // expected-error @below {{source and destination overlap partly in t}}
  penguin.dma_copy %t[%q * 128][1 x 64] <- %t[%q * 128 + 32][1 x 64]
  penguin.dma_copy %t[%q * 128][1 x 64] <- %t[%q * 128 + 64][1 x 64]
}
// near miss: `%p` -> `%i`
// expected-error @below {{Indirect indices tile must be on SBUF.}}
penguin.neuron_indirect_load %r <- %t[0][64 x 128, 1 x 64], %p {max_index = 512}
// near miss: `%f` -> `%i`
// expected-error @below {{Unsupported dtype 'float32' of 'index'}}
penguin.neuron_indirect_load %r <- %t[0][64 x 128, 1 x 64], %f {max_index = 512}
// near miss: `0}` -> `512}`
// expected-error @below {{DynamicAPINFO::IndirectDimMaxIndex must be > 0, got 0}}
penguin.neuron_indirect_load %r <- %t[0][64 x 128, 1 x 64], %i {max_index = 0}
// near miss: `64 ` -> `0 `
// expected-error @below {{exceed dimension size of 32768}}
penguin.neuron_indirect_load %r <- %t[0][64 x 128, 1 x 64], %i {max_index = 513}
// near miss: `, indirect_dim = 1` -> ``
// expected-error @below {{Indirect indexing on free dimension not supported, must be partition dimension or block dimension.}}
penguin.neuron_indirect_load %r <- %t[0][64 x 128, 1 x 64], %i {max_index = 64, indirect_dim = 1}
// expected-error @below {{GenericIndirectLoad/Save must have 1 element per partition for IndexAP: 128 rows, 64 indices}}
penguin.neuron_indirect_load %r <- %t[0][64 x 128, 1 x 64], %i[0, 0][1 x 64, 1 x 1] {max_index = 512}
// near miss: `, oob = skip` -> ``
// expected-error @below {{scatter add cannot have other modes except for error, got oob_mode.skip}}
penguin.neuron_indirect_rmw %t[0][64 x 128, 1 x 64] <- %r, %i {max_index = 512, oob = skip}
// near miss: `, op = min` -> ``
// expected-error @below {{scatter op can only support bypass or add for now, got min}}
penguin.neuron_indirect_rmw %t[0][64 x 128, 1 x 64] <- %r, %i {max_index = 512, op = min}

// -----

// near miss: `sbuf` -> `hbm`
// expected-error @below {{argument 'a' has type !neuron.tensor<128x8xf32, sbuf>, expected a tensor in hbm}}
penguin.func @f(a = %a: !neuron.tensor<128x8xf32, sbuf>) {
  penguin.return
}

// -----

// near miss: `0 {` -> `3 {`
// expected-error @below {{loop step must be positive, got 0}}
penguin.for parallel %i = 0 to 3 step 0 {
}

// -----

%p = penguin.alloc : <4x8xf8e4m3fn_x4, sbuf>
%q = penguin.alloc : <4x8xu32, hbm>
// near miss: `%q` -> `%q[0][8 x 4, 1 x 8] as f8e4m3fn_x4`
// expected-error @below {{DMA may move but not cast packed types, got uint32 to float8_e4m3fn_x4}}
penguin.sb_atom_load %p <- %q
// near miss: `1.0` -> `0.0`
// expected-error @below {{memset of packed float8_e4m3fn_x4 takes only 0, got 1.0}}
penguin.memset %p {value = 1.0}

// -----

%a = penguin.alloc : <128x2x3x5x7x11xf32, sbuf>
// near miss: `, 1 x 2] {` -> `, 1 x 1] {`
// expected-error @below {{access to 'dst' has 5 free dimensions, exceed max supported number of dimension 4}}
penguin.memset %a[0, 0][1 x 128, 2310 x 1, 1154 x 1, 385 x 2, 76 x 2, 10 x 2, 3 x 2, 1 x 2] {value = 0.0}

// -----

%a = penguin.alloc : <300x10xf32, hbm>
%t = penguin.alloc : <128x10xf32, sbuf>
%n = penguin.alloc : <128x10xi32, sbuf>
// near miss: `1280` -> `0`
// expected-error @below {{an offset cannot use lane l0}}
penguin.sb_atom_load %t <- %a[l0 * 1280][10 x 128, 1 x 10]
// near miss: ` where 5 - l129 >= 0` -> ``
// expected-error @below {{uses lane l129, but the instruction has 2 lanes}}
penguin.memset %t where 5 - l129 >= 0 {value = 0.0}
// expected-error @below {{uses lane l2, but the instruction has 2 lanes}}
penguin.index_value %n {value = l2}

// -----

// expected-error @below {{unknown element type 'bf16128x256xbf16'}}
%p = penguin.alloc : <128x256xbf16128x256xbf16, sbuf>

// -----

builtin.module {
  %n = "penguin.alloc"() : () -> !neuron.tensor<128x10xi32, sbuf>
  // expected-error @below {{an access or predicate uses loop index d0, but the operation has 0 index operands}}
  "penguin.index_value"(%n) <{value = #neuron.affine<d0 + l1>}> : (!neuron.tensor<128x10xi32, sbuf>) -> ()
}

// -----

%a = penguin.alloc : <64x128xf32, hbm>
%b = penguin.alloc : <64x128xbf16, hbm>
%t = penguin.alloc : <128x64xf32, sbuf>
%u = penguin.alloc : <128x32xf32, sbuf>
%h = penguin.alloc : <128x64xf32, hbm>
%q = penguin.alloc : <16x128xf32, hbm>
%r = penguin.alloc : <128x16xf32, sbuf>
%v = penguin.alloc : <100x16xbf16, sbuf>
// near miss: `[0, 1]` -> `[1, 0]`
// expected-error @below {{(0, 1) provided for 2D transpose, only (1, 0) supported.}}
penguin.dma_transpose_load %t <- %a {axes = [0, 1]}
// near miss: `[1, 0, 2]` -> `[2, 1, 0]`
// expected-error @below {{(1, 0, 2) provided for 3D transpose, only (2, 1, 0) supported.}}
penguin.dma_transpose_load %t[0, 0][1 x 8, 8 x 8, 1 x 8] <- %a[0][1 x 8, 1 x 8, 1 x 8] {axes = [1, 0, 2]}
// near miss: `[3, 2, 1, 0]` -> `[3, 1, 2, 0]`
// expected-error @below {{(3, 2, 1, 0) provided for 4D transpose, only (3, 1, 2, 0) supported.}}
penguin.dma_transpose_load %t[0, 0][1 x 2, 1 x 2, 1 x 2, 1 x 2] <- %a[0][1 x 2, 1 x 2, 1 x 2, 1 x 2] {axes = [3, 2, 1, 0]}
// expected-error @below {{unsupported tile.ndim 1}}
penguin.dma_transpose_load %t[0, 0][1 x 8] <- %a[0][1 x 8] {axes = [0]}
// near miss: `%a` -> `%h`
// expected-error @below {{tile shape mismatch, expected '[128, 64]' for 'dst', got [64, 128]}}
penguin.dma_transpose_load %t[0, 0][1 x 64, 0 x 128] <- %a {axes = [1, 0]}
// near miss: `%b` -> `%a`
// expected-error @below {{DMA transpose input and output should have the same type, but it has in Dtype::bfloat16 out Dtype::float32}}
penguin.dma_transpose_load %t <- %b {axes = [1, 0]}
// near miss: `%h` -> `%t`
// expected-error @below {{Transpose dst must be in SB, but it is in hbm}}
penguin.dma_transpose_load %h <- %a {axes = [1, 0]}
// near miss: `, oob = skip` -> ``
// expected-error @below {{oob_mode.skip is not supported for direct memory access. Only oob_mode.error is allowed (got oob_mode.skip)}}
penguin.dma_transpose_load %t <- %a {axes = [1, 0], oob = skip}
// near miss: `, dge = swdge` -> ``
// expected-error @below {{SWDGE is not a valid dge_mode for non-indirect dma_transpose}}
penguin.dma_transpose_load %t <- %a {axes = [1, 0], dge = swdge}
// near miss: `, dge = hwdge` -> ``
// expected-error @below {{Hardware DGE transpose src tile must have 16 partitions, but it has 64}}
penguin.dma_transpose_load %t <- %a {axes = [1, 0], dge = hwdge}
// near miss: `, dge = hwdge` -> ``
// expected-error @below {{Hardware DGE DMA transpose can only be used for 2 byte data types, but the type is float32}}
penguin.dma_transpose_load %r <- %q {axes = [1, 0], dge = hwdge}
// near miss: `, dge = hwdge` -> ``
// expected-error @below {{Hardware DGE transpose src tile must have 16 partitions, but it has 4; of rank 3 and 4 also 1, 2, 4 or 8 where they and the last dimension but one are a multiple of 16, got [4, 2, 100]}}
penguin.dma_transpose_load %v[0, 0][1 x 100, 4 x 2, 1 x 4] <- %b[0][128 x 4, 512 x 2, 1 x 100] {axes = [2, 1, 0], dge = hwdge}
penguin.dma_transpose_load %v[0, 0][1 x 100, 4 x 4, 1 x 4] <- %b[0][128 x 4, 512 x 4, 1 x 100] {axes = [2, 1, 0], dge = hwdge}

// -----

%b = penguin.alloc : <512x256xbf16, hbm>
%f = penguin.alloc : <512x64xf32, hbm>
%i = penguin.alloc : <16x1xu32, sbuf>
%j = penguin.alloc : <8x1xu32, sbuf>
%n = penguin.alloc : <16x1xi32, sbuf>
%w = penguin.alloc : <16x2xu32, sbuf>
%c = penguin.alloc : <64x1x16xbf16, sbuf>
%d = penguin.alloc : <64x1x16xf32, sbuf>
%e = penguin.alloc : <64x16xbf16, sbuf>
%g = penguin.alloc : <64x1x8xbf16, sbuf>
// near miss: `%e <- %b[0][256 x 16, 1 x 64], %i {axes = [1, 0]` -> `%c <- %b[0][256 x 16, 256 x 1, 1 x 64], %i {axes = [2, 1, 0]`
// expected-error @below {{provided for gather transpose, only 3D supported.}}
penguin.dma_indirect_transpose %e <- %b[0][256 x 16, 1 x 64], %i {axes = [1, 0], max_index = 512}
// expected-error @below {{Source tensor for DMA gather transpose must have 2B dtype, got float32}}
penguin.dma_indirect_transpose %d <- %f[0][64 x 16, 64 x 1, 1 x 64], %i {axes = [2, 1, 0], max_index = 512}
// expected-error @below {{Indices tensor for DMA gather transpose must have uint32 dtype, got int32}}
penguin.dma_indirect_transpose %c <- %b[0][256 x 16, 64 x 1, 1 x 64], %n {axes = [2, 1, 0], max_index = 512}
// expected-error @below {{Indices tensor for DMA gather transpose must have shape Nx1}}
penguin.dma_indirect_transpose %c <- %b[0][256 x 16, 64 x 1, 1 x 64], %w {axes = [2, 1, 0], max_index = 512}
// expected-error @below {{Size of indices tensor for DMA gather transpose must be multiple of 16}}
penguin.dma_indirect_transpose %g <- %b[0][256 x 8, 64 x 1, 1 x 64], %j {axes = [2, 1, 0], max_index = 512}
// near miss: `, dge = hwdge` -> ``
// expected-error @below {{Indirect DMA transpose operations must use SWDGE mode, got hwdge}}
penguin.dma_indirect_transpose %c <- %b[0][256 x 16, 64 x 1, 1 x 64], %i {axes = [2, 1, 0], max_index = 512, dge = hwdge}
// near miss: `256` -> `16`
// expected-error @below {{exceed dimension size of 131072}}
penguin.dma_indirect_transpose %c <- %b[0][256 x 16, 64 x 1, 1 x 64], %i {axes = [2, 1, 0], max_index = 513}

// -----

builtin.module attributes {neuron.target = #neuron.target<trn1>} {
  %b = penguin.alloc : <512x64xbf16, hbm>
  %i = penguin.alloc : <16x1xu32, sbuf>
  %c = penguin.alloc : <64x1x16xbf16, sbuf>
  %eye = penguin.alloc : <64x64xf32, sbuf>
  %x = penguin.alloc : <64x32xf32, sbuf>
  %p = penguin.alloc : <32x64xf32, psum>
  // near miss: `#neuron.target<trn1>` -> `#neuron.target<trn2>`
  // expected-error @below {{DMA transpose with a vector of dynamic offsets is not supported on trn1}}
  penguin.dma_indirect_transpose %c <- %b[0][64 x 16, 64 x 1, 1 x 64], %i {axes = [2, 1, 0], max_index = 512}
  // near miss: ` {is_transpose}` -> ``
  // expected-error @below {{trn1 has no transpose mode; multiply by an identity}}
  penguin.matmul %p <- %x, %eye {is_transpose}
}

// -----

%t = penguin.alloc : <64x8xf32, sbuf>
%h = penguin.alloc : <64x8xf16, sbuf>
%k = penguin.alloc : <48x8xf32, sbuf>
// near miss: `%t` -> `%h`
// expected-error @below {{StreamShuffle does not support cast, got float16 to float32}}
penguin.stream_shuffle %t <- %h {mask = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31]}
// expected-error @below {{StreamShuffle Mask must have 32 elements, got 2}}
penguin.stream_shuffle %t <- %t {mask = [0, 1]}
// near miss: `30, 32]` -> `30, 31]`
// expected-error @below {{StreamShuffle Mask entry must be <32, got 32 (255 keeps)}}
penguin.stream_shuffle %t <- %t {mask = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 32]}
// near miss: `[31, 1` -> `[0, 1`
// expected-error @below {{StreamShuffle takes partition 32 of 'dst' from 63 of 'src', which has 48}}
penguin.stream_shuffle %k <- %k {mask = [31, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31]}

// -----

%s = penguin.alloc : <64x128xbf16, sbuf>
%i = penguin.alloc : <64x2xu16, sbuf>
%n = penguin.alloc : <64x2xi32, sbuf>
%k = penguin.alloc : <32x2xu16, sbuf>
%big = penguin.alloc : <64x300xu16, sbuf>
%o = penguin.alloc : <64x32xbf16, sbuf>
%f = penguin.alloc : <64x32xf32, sbuf>
%x = penguin.alloc : <24x128xbf16, sbuf>
%y = penguin.alloc : <24x2xu16, sbuf>
%z = penguin.alloc : <24x32xbf16, sbuf>
// near miss: `%k` -> `%i`
// expected-error @below {{src_buffer and index must have same partition dimension size, got 64 and 32}}
penguin.indirect_copy %o <- %s, %k {num_valid_indices = 32}
// expected-error @below {{partition dimension size must be a multiple of 16, got 24}}
penguin.indirect_copy %z <- %x, %y {num_valid_indices = 32}
// near miss: `, num_elem_per_idx = 3` -> ``
// expected-error @below {{num_elem_per_idx must be one of [1, 2, 4, 8, 16, 32], got 3}}
penguin.indirect_copy %o <- %s, %i {num_valid_indices = 32, num_elem_per_idx = 3}
// near miss: `33` -> `32`
// expected-error @below {{num_valid_indices cannot exceed total indices per core, got 33 of 32}}
penguin.indirect_copy %o <- %s, %i {num_valid_indices = 33}
// near miss: `%big` -> `%i`
// expected-error @below {{number of indices per core must be <= 4096, got 4800}}
penguin.indirect_copy %o <- %s, %big {num_valid_indices = 32}
// near miss: `16` -> `32`
// expected-error @below {{tile shape mismatch, expected '[64, 16]' for 'dst', got [64, 32]}}
penguin.indirect_copy %o <- %s, %i {num_valid_indices = 16}
// near miss: `%n` -> `%i`
// expected-error @below {{TensorIndirect Indices data type must be uint16, got int32}}
penguin.indirect_copy %o <- %s, %n {num_valid_indices = 32}
// near miss: `%f` -> `%o`
// expected-error @below {{src and dst must have same data type but got bfloat16 and float32}}
penguin.indirect_copy %f <- %s, %i {num_valid_indices = 32}

// -----

%s = penguin.alloc : <64x128xbf16, sbuf>
%p = penguin.alloc : <64x128xbf16, psum>
%i = penguin.alloc : <64x32xu32, sbuf>
%n = penguin.alloc : <64x32xi32, sbuf>
%o = penguin.alloc : <64x32xbf16, sbuf>
%w = penguin.alloc : <64x16xbf16, sbuf>
// near miss: `%n` -> `%i`
// expected-error @below {{Unsupported dtype 'int32' of 'index', expected one of the following dtypes: uint32}}
penguin.pool_gather %o <- %s, %n
// near miss: `%w` -> `%o`
// expected-error @below {{tile shape mismatch, expected '[64, 16]' of 'dst', got [64, 32] for 'index'}}
penguin.pool_gather %w <- %s, %i
// near miss: `%p` -> `%s`
// expected-error @below {{Expected operand 'src' of 'penguin.pool_gather' to be in address space 'sbuf', but got a psum instead.}}
penguin.pool_gather %o <- %p, %i

// -----

%f = penguin.alloc : <1x1xf32, sbuf>
%n = penguin.alloc : <1x2xi32, sbuf>
// expected-error @below {{register and tensor must have the same number of bytes. Got src=float32 dst=int32}}
%r = penguin.load_tensor_to_register %f
// expected-error @below {{a register holds one element, got 2}}
%q = penguin.load_tensor_to_register %n

// -----

// near miss: `128` -> `64`
// expected-error @below {{an identity is a square matrix, got shape [128, 64]}}
%a = penguin.constant identity : <128x64xf32, hbm>
// near miss: `sbuf` -> `hbm`
// expected-error @below {{a constant is in hbm, got sbuf; load it to SBUF}}
%b = penguin.constant identity : <64x64xf32, sbuf>
// near miss: `8x` -> `4x`
// expected-error @below {{4 bytes do not fill a tensor of 8 bytes}}
%c = penguin.constant bytes "AAECAw==" : <8xu8, hbm>
%d = penguin.constant splat 0.0 : <64x64xf32, hbm>
%t = penguin.alloc : <64x64xf32, sbuf>
// expected-error @below {{Cannot update immutable parameter `d`, it is a constant}}
penguin.sb_atom_store %d <- %t

// -----

%eye = penguin.alloc : <64x64xbf16, sbuf>
%x = penguin.alloc : <64x32xbf16, sbuf>
%p = penguin.alloc : <32x64xbf16, psum>
%f = penguin.alloc : <32x64xf32, psum>
%w = penguin.alloc : <64x32xbf16, sbuf>
// near miss: ` {is_transpose}` -> ``
// expected-error @below {{Transpose mode on or after Gen3 requires input and output dtypes to be the same, got bfloat16 to float32}}
penguin.matmul %f <- %x, %eye {is_transpose}
// near miss: `%w` -> `%eye`
// expected-error @below {{tile shape mismatch, expected '[32, 32]' (stationary free, moving free) for 'dst', got [32, 64]}}
penguin.matmul %p <- %x, %w {is_transpose}
penguin.matmul %p <- %x, %eye {is_transpose}

// -----

// An error that shows an operation shows it also where it is not valid.
// expected-error @below {{Operation using value defined out of its IsolatedFromAbove parent: IndexValueOp(penguin.index_value %n {value = <d0> + l1})}}
builtin.module {
  // expected-error @below {{operand #0 is used before its definition}}
  // expected-error @+1 {{uses loop index d0, but the operation has 0 index operands}}
  "penguin.index_value"(%n) <{value = #neuron.affine<d0 + l1>}> : (!neuron.tensor<128x10xi32, sbuf>) -> ()
}
%n = "penguin.alloc"() : () -> !neuron.tensor<128x10xi32, sbuf>

// -----

penguin.func @f(a = %a: !neuron.tensor<128x8xf32, hbm>, inout b = %b: !neuron.tensor<128x8xf32, hbm>) {
  %t = penguin.alloc : <128x8xf32, sbuf>
  // near miss: `%a` -> `%b`
  // expected-error @below {{Cannot update immutable parameter `a`, it is an argument that is not marked inout}}
  penguin.sb_atom_store %a <- %t
  penguin.sb_atom_store %b <- %t
  penguin.return
}

// -----

// Numbers of bitwise operations are integers.

%n = penguin.alloc : <128x512xi32, sbuf>
// near miss: `inf` -> `7.0`
// expected-error @below {{bitvec op is not valid: imm0 is inf, expected an integer}}
penguin.tensor_scalar_ptr bitwise_and %n <- %n {imm0 = inf}
// near miss: `nan` -> `7`
// expected-error @below {{bitvec op is not valid: imm1 is nan, expected an integer}}
penguin.tensor_scalar_ptr bitwise_and %n <- %n {imm0 = 3, op1 = bitwise_or, imm1 = nan}
// near miss: `0.5` -> `5`
// expected-error @below {{bitvec op is not valid: imm0 is 0.5, expected an integer}}
penguin.tensor_scalar_ptr bitwise_and %n <- %n {imm0 = 0.5}

// -----

// Each iteration counts, however late.

builtin.module attributes {neuron.target = #neuron.target<trn2>} {
  %t = penguin.alloc : <128x8xf32, sbuf>
  penguin.for parallel %i = 0 to 5000 {
    // near miss: `4999` -> `5000`
    // expected-error @below {{expected an access of 16 partitions to start at partition 0, 32, 64 or 96, got 7}}
    penguin.memset %t[((%i) floordiv 4999) * 7, 0][1 x 16, 1 x 8] {value = 0.0}
    // Legal near miss: all quadrants, again and again.
    penguin.memset %t[((%i) mod 4) * 32, 0][1 x 32, 1 x 8] {value = 0.0}
    penguin.for parallel %j = 0 to 5000 {
      // near miss: `mod 5)` -> `mod 4)`
      // expected-error @below {{Out-of-bound access for tensor `t` on dimension 0 index range [0, 159]}}
      penguin.memset %t[((%i + %j) mod 5) * 32, 0][1 x 32, 1 x 8] {value = 0.0}
    }
  }
}

// -----

%a = penguin.alloc : <128x512xf32, sbuf>
%b = penguin.alloc : <128x512xf32, sbuf>
%n = penguin.alloc : <128x512xi32, sbuf>
%p = penguin.alloc : <128x512xf32, psum>
// near miss: `2 x` -> `1 x`
// expected-error @below {{the access on the partition dimension must be contiguous, but 'dst' (a: f32[64, 512] in sbuf) steps by 2 partitions; gather}}
penguin.memset %a[0, 0][2 x 64, 1 x 512] {value = 0.0}
// near miss: `0 x 128` -> `1 x 128`
// expected-error @below {{'src' (b: f32[128, 512] in sbuf) repeats one partition}}
penguin.activation Exp %a <- %b[0, 0][0 x 128, 1 x 512]
penguin.tensor_copy %a <- %b[0, 0][0 x 128, 1 x 512]
penguin.for parallel %i = 0 to 2 {
  // near miss: `2 x 32` -> `1 x 32`
  // expected-error @below {{'src' (b: f32[32, 512] in sbuf) steps by 2 partitions}}
  penguin.tensor_copy %a[%i * 32, 0][1 x 32, 1 x 512] <- %b[%i * 64, 0][2 x 32, 1 x 512]
}
// near miss: `abs` -> `max`
// expected-error @below {{abs takes one operand and is not supported in 'penguin.tensor_tensor'}}
penguin.tensor_tensor abs %a <- %a, %b
// near miss: `%p` -> `%b`
// expected-error @below {{the input/output tiles cannot be in PSUM if op is power, which runs on GpSimd, but 'rhs'}}
penguin.tensor_tensor pow %a <- %a, %p
// near miss: `, engine = Pool` -> ``
// expected-error @below {{bitvec operators must run on Vector Engine, got bitwise_and on engine Pool}}
penguin.tensor_scalar_ptr bitwise_and %n <- %n {imm0 = 3, engine = Pool}
