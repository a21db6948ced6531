// RUN: neuron-opt %s --split-input-file --verify-diagnostics

// What an index of offsets must be, and which operands may have one.

builtin.module attributes {neuron.target = #neuron.target<trn2>} {
  bir.func @early {
    %x = bir.location @x : <128x64xf32, sbuf>
    %y = bir.location @y : <128x16xf32, sbuf>
    %i = bir.location @i : <128x1xu16, sbuf>
    // near miss: `%x, src_index = %i {src_num_indices = 16}` -> `%x[0, 0][1 x 128, 1 x 16]`
    // expected-error @below {{tensor indirection of 'src' is available on NeuronCore-v4 (Trn3) and later, got trn2; gather with local_gather}}
    bir.tensor_copy @I0 %y <- %x, src_index = %i {src_num_indices = 16}
    bir.return
  }
}

// -----

builtin.module attributes {neuron.target = #neuron.target<trn3>} {
  bir.func @indices {
    %x = bir.location @x : <128x64xf32, sbuf>
    %y = bir.location @y : <128x16xf32, sbuf>
    %z = bir.location @z : <128x48xf32, sbuf>
    %i = bir.location @i : <128x2xu16, sbuf>
    %s = bir.location @s : <128x2xi16, sbuf>
    %p = bir.location @p : <128x2xu16, psum>
    %h = bir.location @h : <64x2xu16, sbuf>
    %a = bir.location @a : <40x64xf32, sbuf>
    %b = bir.location @b : <40x16xf32, sbuf>
    %c = bir.location @c : <40x2xu16, sbuf>
    // near miss: `src_index = %i` -> `src_index = %i {src_num_indices = 16}`
    // expected-error @below {{takes src_index and src_num_indices together}}
    bir.tensor_copy @I0 %y <- %x[0, 0][1 x 128, 1 x 16], src_index = %i
    // near miss: `%s` -> `%i`
    // expected-error @below {{TensorIndirect Indices data type must be uint16, got int16 for 'src_index'}}
    bir.tensor_copy @I1 %y <- %x, src_index = %s {src_num_indices = 16}
    // near miss: `%p` -> `%i`
    // expected-error @below {{Expected operand 'src_index' of 'bir.tensor_copy' to be in address space 'sbuf', but got a psum instead.}}
    bir.tensor_copy @I2 %y <- %x, src_index = %p {src_num_indices = 16}
    // near miss: `%h` -> `%i`
    // expected-error @below {{number of partitions mismatch in parameters (src: 128, src_index: 64)}}
    bir.tensor_copy @I3 %y <- %x, src_index = %h {src_num_indices = 16}
    // near miss: `%z <- %x, src_index = %i {src_num_indices = 48}` -> `%y <- %x, src_index = %i {src_num_indices = 16}`
    // expected-error @below {{'src' has 48 indices, expected 1 to 32: partitions share their offsets 16 at a time, and i: u16[128, 2] in sbuf holds offset i of a group in its row i % 16, column i // 16}}
    bir.tensor_copy @I4 %z <- %x, src_index = %i {src_num_indices = 48}
    // near miss: `%b <- %a, src_index = %c {src_num_indices = 16}` -> `%b[0, 0][1 x 40, 1 x 8] <- %a, src_index = %c {src_num_indices = 8}`
    // expected-error @below {{'src' has 16 indices, expected 1 to 8}}
    bir.tensor_copy @I5 %b <- %a, src_index = %c {src_num_indices = 16}
    // near miss: `[1 x 128, 2 x 32]` -> `[1 x 128, 1 x 32]`
    // expected-error @below {{'src' has an index, so its access is one run in each partition, got [(2, 32)]; pick from a contiguous view}}
    bir.tensor_copy @I6 %y <- %x[0, 0][1 x 128, 2 x 32], src_index = %i {src_num_indices = 16}
    // near miss: `Pool` -> `DVE`
    // expected-error @below {{'bir.tensor_copy' runs on engine Pool, which picks no columns of 'src'; expected DVE, Activation}}
    bir.tensor_copy @I7 %y <- %x, src_index = %i {src_num_indices = 16, engine = Pool}
    // near miss: ` where 7 - l0 >= 0` -> ``
    // expected-error @below {{'bir.tensor_copy' takes no mask, as columns of 'src' are picked; give it smaller accesses}}
    bir.tensor_copy @I8 %y <- %x, src_index = %i where 7 - l0 >= 0 {src_num_indices = 16}
    // near miss: `%x[0, 0][1 x 128, 1 x 16] <- %x[0, 8]` -> `%x[0, 0][1 x 128, 1 x 16] <- %x[0, 16]`
    // expected-error @below {{in-place accesses are the same pattern or disjoint; write to another tile}}
    bir.tensor_copy @I9 %x[0, 0][1 x 128, 1 x 16] <- %x[0, 8][1 x 128, 1 x 48], src_index = %i {src_num_indices = 16}
    // near miss: `%x <- %x` -> `%x[0, 32][1 x 128, 1 x 32] <- %x[0, 0][1 x 128, 1 x 32]`
    // expected-error @below {{'bir.tensor_copy' writes 'dst' where it reads 'src' of `x`, and picks columns; write to another tile}}
    bir.tensor_copy @I10 %x <- %x, dst_index = %i, src_index = %i {dst_num_indices = 16, src_num_indices = 16}
    bir.return
  }
}

// -----

builtin.module attributes {neuron.target = #neuron.target<trn3>} {
  bir.func @places {
    %x = bir.location @x : <64x64xf32, sbuf>
    %y = bir.location @y : <32x16xf32, sbuf>
    %p = bir.location @p : <64x16xf32, psum>
    %q = bir.location @q : <32x16xf32, psum>
    %i = bir.location @i : <64x1xu16, sbuf>
    %a = bir.location @a at [(40, 0)] : <16x1xu16, sbuf>
    %b = bir.location @b at [(40, 64)] : <16x16xf32, sbuf>
    %c = bir.location @c at [(32, 128)] : <16x1xu16, sbuf>
    %d = bir.location @d at [(32, 192)] : <16x16xf32, sbuf>
    // near miss: `%i[32, 0]` -> `%i[0, 0]`
    // expected-error @below {{'src' starts at partition 0 and 'src_index' at 32; both start at the same partition}}
    bir.tensor_copy @I0 %y <- %x[0, 0][1 x 32, 1 x 64], src_index = %i[32, 0][1 x 32, 1 x 1] {src_num_indices = 16}
    // near miss: `%i[32, 0]` -> `%i[0, 0]`
    // expected-error @below {{'src' starts at partition 0 and 'dst_index' at 32; both start at the same partition}}
    bir.tensor_copy @I1 %x[32, 0][1 x 32, 1 x 64] <- %y, dst_index = %i[32, 0][1 x 32, 1 x 1] {dst_num_indices = 16}
    // near miss: `%i[32, 0]` -> `%i[0, 0]`
    // expected-error @below {{'src_index' starts at partition 0 and 'dst_index' at 32; both start at the same partition}}
    bir.tensor_copy @I2 %x[32, 0][1 x 32, 1 x 64] <- %p[0, 0][1 x 32, 1 x 16], dst_index = %i[32, 0][1 x 32, 1 x 1], src_index = %i[0, 0][1 x 32, 1 x 1] {dst_num_indices = 16, src_num_indices = 16}
    bir.tensor_copy @I3 %x[32, 0][1 x 32, 1 x 64] <- %p[0, 0][1 x 32, 1 x 16], dst_index = %i[32, 0][1 x 32, 1 x 1] {dst_num_indices = 16}
    // near miss: `%b, src_index = %a` -> `%d, src_index = %c`
    // expected-error @below {{'src_index' starts at partition 40, expected a multiple of 32}}
    bir.tensor_copy @I4 %y[0, 0][1 x 16, 1 x 16] <- %b, src_index = %a {src_num_indices = 16}
    // near miss: `Activation` -> `DVE`
    // expected-error @below {{on the Scalar engine a scattered dst cannot be in PSUM, got q: f32[32, 16] in psum; scatter into SBUF, or use the vector engine}}
    bir.tensor_copy @I5 %q <- %y, dst_index = %i[0, 0][1 x 32, 1 x 1] {dst_num_indices = 16, engine = Activation}
    // near miss: `%q <- %y` -> `%x[0, 0][1 x 32, 1 x 64] <- %y`
    // expected-error @below {{on the Scalar engine a scattered dst cannot be in PSUM}}
    bir.activation @I6 Exp %q <- %y, dst_index = %i[0, 0][1 x 32, 1 x 1] {dst_num_indices = 16}
    bir.return
  }
}

// -----

builtin.module attributes {neuron.target = #neuron.target<trn3>} {
  bir.func @products {
    %w = bir.location @w : <64x64xbf16, sbuf>
    %f = bir.location @f : <64x64xf32, sbuf>
    %p = bir.location @p : <32x64xf32, psum>
    %b = bir.location @b : <32x64xbf16, psum>
    %i = bir.location @i : <64x1xu16, sbuf>
    // near miss: `%f, %f, ` -> `%w, %w, `
    // expected-error @below {{The indirect operands must be a Tensor-Engine float dtype, got float32 for 'stationary', expected one of float16, bfloat16, float8_e4m3, float8_e5m2, float8_e4m3fn}}
    bir.matmult @I0 %p <- %f, %f, stationary_index = %i {stationary_num_indices = 32}
    // near miss: `tile_row = 64` -> `tile_row = 0`
    // expected-error @below {{Tensor indirection is incompatible with hardware tiling, so tile_position must be (0, 0) where 'stationary' has an index, got (64, 0)}}
    bir.matmult @I1 %p <- %w, %w, stationary_index = %i {stationary_num_indices = 32, tile_row = 64, tile_column = 0, tile_size = [64, 128]}
    // near miss: `{dst_num_indices = 32}` -> `{accumulate = accumulate, dst_num_indices = 32}`
    // expected-error @below {{a matmul that scatters its result cannot tell which elements are written the first time; say accumulate=True or accumulate=False}}
    bir.matmult @I2 %p <- %w[0, 0][1 x 64, 1 x 32], %w[0, 0][1 x 64, 1 x 32], dst_index = %i[0, 0][1 x 32, 1 x 1] {dst_num_indices = 32}
    // near miss: `moving_index = %i {is_transpose, moving_num_indices = 32}` -> `moving_index = %i {moving_num_indices = 32}`
    // expected-error @below {{When is_transpose=True, moving cannot use tensor indirection; pick from stationary}}
    bir.matmult @I3 %b[0, 0][1 x 32, 1 x 32] <- %w[0, 0][1 x 64, 1 x 32], %w, moving_index = %i {is_transpose, moving_num_indices = 32}
    bir.return
  }
}
