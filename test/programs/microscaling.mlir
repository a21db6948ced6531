// RUN: neuron-opt %s --verify-each -p 'neuron' | neuron-opt

// Matmuls of operands quantised on the fly, accumulated over a loop: trn3 only.

builtin.module attributes {neuron.target = #neuron.target<trn3>} {
penguin.func @f(a = %a: !neuron.tensor<256x128xbf16, hbm>, b = %b: !neuron.tensor<256x512xbf16, hbm>) {
  %c = penguin.alloc : <32x128xf32, hbm>
  %d = penguin.alloc : <128x32xu8, hbm>
  %p = penguin.alloc : <32x128xf32, psum>
  %ws = penguin.alloc init 1 : <128x32xu8, sbuf>
  penguin.for sequential %k = 0 to 2 {
    %x = penguin.alloc : <128x128xbf16, sbuf>
    %y = penguin.alloc : <128x512xbf16, sbuf>
    %w = penguin.alloc : <128x32xf8e4m3fn_x4, sbuf>
    %m = penguin.alloc : <128x128xf8e5m2_x4, sbuf>
    %ms = penguin.alloc : <16x128xu8, sbuf>
    penguin.sb_atom_load %x <- %a[%k * 16384][128 x 128, 1 x 128]
    penguin.sb_atom_load %y <- %b[%k * 65536][512 x 128, 1 x 512]
    penguin.quantize_mx %w, %ws <- %x
    penguin.quantize_mx %m, %ms <- %y
    penguin.matmul_mx %p <- %w, %m, %ws, %ms
    penguin.matmul_mx %p[0, 0][1 x 32, 1 x 64] <- %w[0, 0][1 x 32, 1 x 32], %m[0, 0][1 x 32, 2 x 64], %ws[0, 0][1 x 4, 1 x 32], %ms[0, 0][1 x 4, 2 x 64]
  }
  %o = penguin.alloc : <32x128xf32, sbuf>
  penguin.tensor_copy %o <- %p
  penguin.sb_atom_store %c <- %o
  penguin.sb_atom_store %d <- %ws
  penguin.return c = %c, d = %d
}
}
