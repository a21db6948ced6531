// RUN: neuron-opt -p bir-legalize-mm-accumulation-groups %s | filecheck %s

builtin.module attributes {neuron.target = #neuron.target<trn2>} {

// The first matmul overwrites, the next accumulates; what is fresh beside it is zeroed.
// CHECK-LABEL: bir.func @straight
bir.func @straight {
  %s = bir.location @s : <128x128xbf16, sbuf>
  %m = bir.location @m : <128x512xbf16, sbuf>
  %p = bir.location @p : <128x512xf32, psum>
  %x = bir.location @x : <128x512xf32, sbuf>
  // CHECK:      bir.matmult @I0 %p[0, 0][1 x 128, 2 x 200] <- {{.*}} {accumulate = overwrite}
  // CHECK-NEXT: bir.matmult @I1 %p[0, 0][1 x 128, 2 x 200] <- {{.*}} {accumulate = accumulate}
  // CHECK-NEXT: bir.memset @I2_zero %p[0, 1][1 x 128, 2 x 199] {value = 0.0, engine = DVE}
  // CHECK-NEXT: bir.memset @I2_zero.1 %p[0, 399][1 x 128, 1 x 113] {value = 0.0, engine = DVE}
  // CHECK-NEXT: bir.matmult @I2 %p <- %s, %m {accumulate = accumulate}
  // CHECK-NEXT: bir.memset @I3 %p {value = 5.0}
  // CHECK-NEXT: bir.matmult @I4 %p <- %s, %m {accumulate = accumulate}
  // CHECK-NEXT: bir.matmult @I5 %p <- %s, %m {accumulate = overwrite}
  bir.matmult @I0 %p[0, 0][1 x 128, 2 x 200] <- %s, %m[0, 0][1 x 128, 1 x 200]
  bir.matmult @I1 %p[0, 0][1 x 128, 2 x 200] <- %s, %m[0, 0][1 x 128, 1 x 200]
  bir.matmult @I2 %p <- %s, %m
  bir.memset @I3 %p {value = 5.0}
  bir.matmult @I4 %p <- %s, %m
  bir.matmult @I5 %p <- %s, %m {accumulate = overwrite}
  bir.return
}

// CHECK-LABEL: bir.func @rolled
bir.func @rolled {
  %s = bir.location @s : <128x128xbf16, sbuf>
  %m = bir.location @m : <128x512xbf16, sbuf>
  // CHECK:      bir.loop parallel %i
  bir.loop parallel %i = 0 to 10000 {
    %p = bir.location @p : <128x512xf32, psum>
    // CHECK:        bir.loop sequential %k
    // CHECK-NEXT:     bir.matmult @I0 %p <- %s, %m {accumulate_if = %k - 3}
    // CHECK-NEXT:     bir.matmult @I1 %p <- %s, %m {accumulate = accumulate}
    bir.loop sequential %k = 2 to 10000 step 4 {
      bir.matmult @I0 %p <- %s, %m
      bir.matmult @I1 %p <- %s, %m
    }
  }
  // Fresh in the first iteration of both loops only.
  %q = bir.location @q : <128x512xf32, psum>
  // CHECK:        bir.matmult @I2 %q <- %s, %m {accumulate_if = %i{{.*}} + %k{{.*}} - 1}
  bir.loop parallel %i = 0 to 10000 {
    bir.loop sequential %k = 0 to 10000 {
      bir.matmult @I2 %q <- %s, %m
    }
  }
  // Each iteration has its own columns.
  // CHECK:        bir.matmult @I3 %r[0, %i{{.*}} * 128][1 x 128, 1 x 128] <- {{.*}} {accumulate = overwrite}
  %r = bir.location @r : <128x512xf32, psum>
  bir.loop parallel %i = 0 to 4 {
    bir.matmult @I3 %r[0, %i * 128][1 x 128, 1 x 128] <- %s, %m[0, 0][1 x 128, 1 x 128]
  }
  // A part is fresh in the first iteration: zeroed before the loop.
  // CHECK:      bir.memset @I5_zero %t[0, 100][1 x 128, 1 x 412] {value = 0.0, engine = DVE}
  // CHECK-NEXT: bir.loop
  // CHECK-NEXT:   bir.matmult @I5 %t <- %s, %m {accumulate = accumulate}
  %t = bir.location @t : <128x512xf32, psum>
  bir.matmult @I4 %t[0, 0][1 x 128, 1 x 100] <- %s, %m[0, 0][1 x 128, 1 x 100]
  bir.loop sequential %k = 0 to 10000 {
    bir.matmult @I5 %t <- %s, %m
  }
  bir.return
}
}
