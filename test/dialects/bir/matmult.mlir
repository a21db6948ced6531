// RUN: neuron-opt %s | neuron-opt | filecheck %s
// RUN: neuron-opt %s --print-op-generic | neuron-opt | filecheck %s

// The fields of the tensor engine's products.

builtin.module attributes {neuron.target = #neuron.target<trn3>} {
  // CHECK-LABEL: bir.func @array
  bir.func @array {
    // CHECK-NEXT: %blocks = bir.location @blocks blocks 32 : <64x32x512xf32, psum>
    %blocks = bir.location @blocks blocks 32 : <64x32x512xf32, psum>
    %w = bir.location @w Internal : <64x64xbf16, sbuf>
    %x = bir.location @x Internal : <64x512xbf16, sbuf>
    %acc = bir.location @acc Internal : <64x512xf32, psum>
    %u = bir.location @u Internal : <64x64xu8, sbuf>
    %f = bir.location @f Internal : <64x2x64xf8e4m3, sbuf>
    %g = bir.location @g Internal : <64x2x512xf8e5m2, sbuf>
    %d = bir.location @d Internal : <64x4x512xbf16, sbuf>
    %tags = bir.location @tags Internal : <64x16xu16, sbuf>
    %q = bir.location @q Internal : <64x64xf8e4m3fn_x4, sbuf>
    %r = bir.location @r Internal : <64x512xf8e4m3fn_x4, sbuf>
    %s = bir.location @s Internal : <64x512xu8, sbuf>
    %p = bir.location @p Internal : <64x64xbf16, psum>
    %o = bir.location @o Internal : <64x64xf32, psum>
    bir.loop parallel %k = 0 to 4 {
      // CHECK: bir.matmult @I0 %acc <- %w, %x {tile_row = (%k) mod 2 * 64, tile_column = 64, tile_size = [64, 64], engine = PE}
      bir.matmult @I0 %acc <- %w, %x {tile_row = (%k) mod 2 * 64, tile_column = 64, tile_size = [64, 64], engine = PE}
    }
    // CHECK: bir.matmult @I1 %acc <- %w, %x {stationary_onezero, moving_onezero, tile_row = 64, tile_column = 0, tile_size = [64, 128], engine = PE}
    bir.matmult @I1 %acc <- %w, %x {stationary_onezero, moving_onezero, tile_row = 64, tile_column = 0, tile_size = [64, 128], engine = PE}
    // CHECK: bir.matmult @I2 %o <- %u, %u {stationary_quant_offset = 128, moving_quant_offset = 3, engine = PE}
    bir.matmult @I2 %o <- %u, %u {stationary_quant_offset = 128, moving_quant_offset = 3, engine = PE}
    // CHECK: bir.matmult @I3 %acc <- %f, %g {perf_mode = DoubleRow, engine = PE}
    bir.matmult @I3 %acc <- %f, %g {perf_mode = DoubleRow, engine = PE}
    // CHECK: bir.matmult @I4 %acc <- %w, %x {perf_mode = DoublePixel, replication_resolution = 1, replication_shift_amnt = 2, replication_num_rows = 32, engine = PE}
    bir.matmult @I4 %acc <- %w, %x {perf_mode = DoublePixel, replication_resolution = 1, replication_shift_amnt = 2, replication_num_rows = 32, engine = PE}
    // CHECK: bir.matmult @I5 %p <- %w, %w {is_transpose, accumulate = overwrite, engine = PE}
    bir.matmult @I5 %p <- %w, %w {is_transpose, accumulate = overwrite, engine = PE}
    // CHECK: bir.matmult_sparse @I6 %acc <- %w, %d, %tags {compress_ratio = 4, tile_row = 0, tile_column = 0, tile_size = [64, 128], engine = PE}
    bir.matmult_sparse @I6 %acc <- %w, %d, %tags {compress_ratio = 4, tile_row = 0, tile_column = 0, tile_size = [64, 128], engine = PE}
    // CHECK: bir.matmult_mx @I7 %acc <- %q, %r, %s[0, 0][1 x 64, 1 x 64], %s {tile_row = 64, tile_column = 0, tile_size = [64, 128], engine = PE}
    bir.matmult_mx @I7 %acc <- %q, %r, %s[0, 0][1 x 64, 1 x 64], %s {tile_row = 64, tile_column = 0, tile_size = [64, 128], engine = PE}
    bir.return
  }
}
