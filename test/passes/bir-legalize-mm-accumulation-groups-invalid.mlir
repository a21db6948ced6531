// RUN: neuron-opt -p bir-legalize-mm-accumulation-groups --verify-diagnostics --split-input-file %s

bir.func @two_fresh_iterations {
  %s = bir.location @s : <128x128xbf16, sbuf>
  %p = bir.location @p : <128x512xf32, psum>
  bir.loop sequential %k = 0 to 4 {
    // expected-error @below {{accumulates in a loop left rolled, where it finds fresh elements in other iterations than the first; state accumulate or raise max-instructions of bir-unroll}}
    bir.matmult @I0 %p[0, (%k) floordiv 2 * 128][1 x 128, 1 x 128] <- %s, %s
  }
  bir.return
}

// -----

bir.func @too_many {
  %s = bir.location @s : <128x128xbf16, sbuf>
  %p = bir.location @p : <128x512xf32, psum>
  bir.loop sequential %k = 0 to 1000000 {
    // expected-error @below {{accumulates where it cannot be known what is fresh}}
    bir.matmult @I0 %p[0, (%k) mod 4 * 128][1 x 128, 1 x 128] <- %s, %s
  }
  bir.return
}

// -----

bir.func @register {
  %s = bir.location @s : <128x128xbf16, sbuf>
  %n = bir.location @n : <1x1xi32, sbuf>
  %p = bir.location @p : <128x512xf32, psum>
  %r = bir.tensor_load @I0 %n
  // expected-error @below {{accumulates where it cannot be known what is fresh}}
  bir.matmult @I1 %p[0, %r][1 x 128, 1 x 128] <- %s, %s
  bir.return
}

// -----

builtin.module attributes {neuron.target = #neuron.target<trn2>} {
bir.func @partitions {
  %s = bir.location @s : <128x128xbf16, sbuf>
  %p = bir.location @p : <128x128xf32, psum>
  bir.matmult @I0 %p[0, 0][1 x 40, 1 x 128] <- %s[0, 0][1 x 128, 1 x 40], %s
  // expected-error @below {{finds only partitions 40 to 127 of 'dst' fresh, which cannot be set to zero: expected an access of 88 partitions to start at partition 0, got 40}}
  bir.matmult @I1 %p <- %s, %s
  bir.return
}
}
