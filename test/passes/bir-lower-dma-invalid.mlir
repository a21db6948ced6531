// RUN: neuron-opt -p 'bir-unroll,bir-lower-dma' --verify-diagnostics --split-input-file %s

bir.func @overlap {
  %a = bir.location @a : <300x100xf32, hbm>
  bir.loop sequential %i = 0 to 2 {
    // expected-error @below {{source and destination overlap partly in a: [0][1 x 100] and [100 - d0 * 50][1 x 100]; copy through a temporary}}
    bir.dma_copy @I0 %a[100 - %i * 50][1 x 100] <- %a[0][1 x 100]
  }
  bir.return
}

// -----

bir.func @unnamed {
  %a = bir.location @a : <300x100xf32, hbm>
  %b = bir.location @b : <300x100xf32, hbm>
  // expected-error @below {{needs a name to be triggered by}}
  bir.dma_copy %a <- %b
  bir.return
}
