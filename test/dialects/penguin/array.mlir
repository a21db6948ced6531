// RUN: neuron-opt %s | neuron-opt | filecheck %s
// RUN: neuron-opt %s --print-op-generic | neuron-opt | filecheck %s

// The fields of the tensor engine's products.

builtin.module attributes {neuron.target = #neuron.target<trn2>} {
  // CHECK-LABEL: penguin.func @array
  penguin.func @array() {
    // CHECK-NEXT: %blocks = penguin.alloc blocks 32 init 0.0 : <64x32x512xf32, psum>
    %blocks = penguin.alloc blocks 32 init 0.0 : <64x32x512xf32, psum>
    %w = penguin.alloc : <64x64xbf16, sbuf>
    %x = penguin.alloc : <64x512xbf16, sbuf>
    %acc = penguin.alloc : <64x512xf32, psum>
    %u = penguin.alloc : <64x64xu8, sbuf>
    %v = penguin.alloc : <64x512xu8, sbuf>
    %f = penguin.alloc : <64x2x64xf8e4m3, sbuf>
    %i = penguin.alloc : <64x64x2xf8e4m3, sbuf>
    %g = penguin.alloc : <64x2x512xf8e5m2, sbuf>
    %d = penguin.alloc : <64x4x512xbf16, sbuf>
    %tags = penguin.alloc : <64x16xu16, sbuf>
    %eye = penguin.alloc : <64x64xbf16, sbuf>
    %p = penguin.alloc : <64x64xbf16, psum>
    %b = penguin.alloc : <64x64xu8, sbuf>
    %q = penguin.alloc : <64x64xu16, psum>
    %n = penguin.alloc : <64x512xi32, psum>
    penguin.for parallel %k = 0 to 4 {
      // CHECK: penguin.matmul %acc <- %w, %x {tile_row = (%k) mod 2 * 64, tile_column = 64, tile_size = [64, 64]}
      penguin.matmul %acc <- %w, %x {tile_row = (%k) mod 2 * 64, tile_column = 64, tile_size = [64, 64]}
    }
    // CHECK: penguin.matmul %acc <- %w, %x {stationary_onezero, moving_onezero, tile_row = 0, tile_column = 0, tile_size = [128, 128]}
    penguin.matmul %acc <- %w, %x {stationary_onezero, moving_onezero, tile_row = 0, tile_column = 0, tile_size = [128, 128]}
    // CHECK: penguin.matmul %acc <- %u, %v {stationary_quant_offset = 128, moving_quant_offset = 3}
    penguin.matmul %acc <- %u, %v {stationary_quant_offset = 128, moving_quant_offset = 3}
    // CHECK: penguin.matmul %n <- %u, %v
    penguin.matmul %n <- %u, %v
    // CHECK: penguin.matmul %acc <- %f, %g {perf_mode = DoubleRow}
    penguin.matmul %acc <- %f, %g {perf_mode = DoubleRow}
    // CHECK: penguin.matmul %acc <- %f, %g {perf_mode = DoubleRow, tile_row = 64, tile_column = 0, tile_size = [64, 128]}
    penguin.matmul %acc <- %f, %g {perf_mode = DoubleRow, tile_row = 64, tile_column = 0, tile_size = [64, 128]}
    // CHECK: penguin.matmul %acc <- %i, %g {perf_mode = DoubleRowSwInterleave}
    penguin.matmul %acc <- %i, %g {perf_mode = DoubleRowSwInterleave}
    // CHECK: penguin.matmul %acc <- %w, %x {perf_mode = DoubleColumn}
    penguin.matmul %acc <- %w, %x {perf_mode = DoubleColumn}
    // CHECK: penguin.matmul %acc <- %w, %x {perf_mode = DoublePixel}
    penguin.matmul %acc <- %w, %x {perf_mode = DoublePixel}
    // CHECK: penguin.matmul %acc <- %w, %x {replication_resolution = 1, replication_shift_amnt = 2, replication_num_rows = 32}
    penguin.matmul %acc <- %w, %x {replication_resolution = 1, replication_shift_amnt = 2, replication_num_rows = 32}
    // CHECK: penguin.matmul %p <- %w, %eye {is_transpose}
    penguin.matmul %p <- %w, %eye {is_transpose}
    // CHECK: penguin.matmul %q <- %b, %u {is_transpose}
    penguin.matmul %q <- %b, %u {is_transpose}
    // CHECK: penguin.matmul_sparse %acc <- %w, %d, %tags {compress_ratio = 4}
    penguin.matmul_sparse %acc <- %w, %d, %tags {compress_ratio = 4}
    // CHECK: penguin.matmul_sparse %acc <- %w, %d[0, 0][1 x 64, 512 x 2, 1 x 512], %tags {compress_ratio = 2, accumulate = accumulate, tile_row = 64, tile_column = 0, tile_size = [64, 128]}
    penguin.matmul_sparse %acc <- %w, %d[0, 0][1 x 64, 512 x 2, 1 x 512], %tags {compress_ratio = 2, accumulate = accumulate, tile_row = 64, tile_column = 0, tile_size = [64, 128]}
    penguin.return
  }
}
