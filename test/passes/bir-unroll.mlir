// RUN: neuron-opt -p bir-unroll --split-input-file %s | filecheck %s
// RUN: neuron-opt -p 'bir-unroll{max-instructions=6}' --split-input-file %s | filecheck %s --check-prefix=SIX
// RUN: neuron-opt -p 'bir-unroll{max-instructions=8}' --split-input-file %s | filecheck %s --check-prefix=EIGHT

// Offsets, masks, index values, accumulation and edges are those of the iteration; an
// instruction whose mask never holds is gone, and what followed it follows what it did.

// CHECK-LABEL: bir.func @iterations {
// CHECK-NEXT:    %a = bir.location @a ExternalInput : <300x100xf32, hbm>
// CHECK-NEXT:    %p = bir.location @p : <128x64xf32, psum>
// CHECK-NEXT:    %s = bir.location @s : <128x128xf32, sbuf>
// CHECK-NEXT:    %n = bir.location @n : <128x100xi32, sbuf>
// CHECK-NEXT:    bir.memset @I0 %s {value = 0.0}
// CHECK-NEXT:    %t = bir.location @t_i0 : <128x100xf32, sbuf>
// CHECK-NEXT:    bir.load @I1_i0 %t <- %a[0][100 x 128, 1 x 100] {after = [flow "I0"], iterations = [sequential "i" 0]}
// CHECK-NEXT:    bir.memset @I2_i0 %t where l0 - l1 >= 0 {value = 0.0, after = [output "I1_i0"], iterations = [sequential "i" 0]}
// CHECK-NEXT:    bir.iota @I3_i0 %n {value = l0, after = [flow "I2_i0"], iterations = [sequential "i" 0]}
// CHECK-NEXT:    bir.matmult @I4_i0 %p <- %s, %s[0, 0][1 x 128, 1 x 64] {accumulate = overwrite, iterations = [sequential "i" 0]}
// CHECK-NEXT:    %t_1 = bir.location @t_i2 : <128x100xf32, sbuf>
// CHECK-NEXT:    bir.load @I1_i2 %t_1[0, 0][1 x 44, 1 x 100] <- %a[25600][100 x 44, 1 x 100] {after = [flow "I0", anti "I3_i0"], iterations = [sequential "i" 2]}
// CHECK-NEXT:    bir.iota @I3_i2 %n[64, 0][1 x 64, 1 x 100] {value = l0 + 264, after = [flow "I1_i2"], iterations = [sequential "i" 2]}
// CHECK-NEXT:    bir.matmult @I4_i2 %p <- %s, %s[0, 0][1 x 128, 1 x 64] {accumulate = accumulate, iterations = [sequential "i" 2]}
// CHECK-NEXT:    bir.memset @I5 %s {value = 0.0, after = [anti "I4_i0", anti "I4_i2"]}
// CHECK-NEXT:    bir.return a = %a

// What does not fit stays rolled.
// SIX-LABEL: bir.func @iterations {
// SIX:         bir.loop sequential %i = 0 to 4 step 2 {
// SIX-NEXT:      %t = bir.location @t : <128x100xf32, sbuf>
// SIX-NEXT:      bir.load @I1 %t <- %a[%i * 12800][100 x 128, 1 x 100] where 299 - %i * 128 - l0 >= 0 {after = [flow "I0", anti "I3"]}
// SIX:           bir.iota @I3 %n where l0 - %i * 32 >= 0 {value = %i * 100 + l0, after = [flow "I2"]}
// SIX-NEXT:      bir.matmult @I4 %p <- %s, %s[0, 0][1 x 128, 1 x 64] {accumulate_if = %i - 1}
// SIX-NEXT:    }
// SIX-NEXT:    bir.memset @I5 %s {value = 0.0, after = [anti "I4"]}

bir.func @iterations {
  %a = bir.location @a ExternalInput : <300x100xf32, hbm>
  %p = bir.location @p : <128x64xf32, psum>
  %s = bir.location @s : <128x128xf32, sbuf>
  %n = bir.location @n : <128x100xi32, sbuf>
  bir.memset @I0 %s {value = 0.0}
  bir.loop sequential %i = 0 to 4 step 2 {
    %t = bir.location @t : <128x100xf32, sbuf>
    bir.load @I1 %t <- %a[%i * 12800][100 x 128, 1 x 100] where 299 - %i * 128 - l0 >= 0 {after = [flow "I0", anti "I3"]}
    bir.memset @I2 %t where 1 - %i >= 0 and l0 - l1 >= 0 {value = 0.0, after = [output "I1"]}
    bir.iota @I3 %n where l0 - %i * 32 >= 0 {value = %i * 100 + l0, after = [flow "I2"]}
    bir.matmult @I4 %p <- %s, %s[0, 0][1 x 128, 1 x 64] {accumulate_if = %i - 1}
  }
  bir.memset @I5 %s {value = 0.0, after = [anti "I4"]}
  bir.return a = %a
}

// -----

// The largest loops stay rolled; what is in them is unrolled with what is left.

// CHECK-LABEL: bir.func @nested {
// CHECK:         bir.memset @I0_i0_j1 %s[0, 1][1 x 128, 1 x 1] {value = 0.0, iterations = [sequential "i" 0, sequential "j" 1]}
// CHECK-NEXT:    bir.memset @I0_i0_j2 %s[0, 2][1 x 128, 1 x 1] {value = 0.0, iterations = [sequential "i" 0, sequential "j" 2]}
// CHECK-NEXT:    bir.memset @I0_i1_j1 %s[0, 11][1 x 128, 1 x 1] {value = 0.0, iterations = [sequential "i" 1, sequential "j" 1]}
// CHECK:         bir.memset @I1_km1 %s {value = 0.0, iterations = [sequential "k" -1]}
// CHECK-NEXT:    bir.memset @I1_k0 %s {value = 0.0, iterations = [sequential "k" 0]}
// CHECK-NEXT:    bir.return

// SIX-LABEL: bir.func @nested {
// SIX:         bir.loop sequential %i = 0 to 4 {
// SIX-NEXT:      bir.memset @I0_j1 %s[0, %i * 10 + 1][1 x 128, 1 x 1] {value = 0.0, iterations = [sequential "j" 1]}
// SIX-NEXT:      bir.memset @I0_j2 %s[0, %i * 10 + 2][1 x 128, 1 x 1] {value = 0.0, iterations = [sequential "j" 2]}
// SIX-NEXT:    }
// SIX-NEXT:    bir.memset @I1_km1 %s {value = 0.0, iterations = [sequential "k" -1]}
// SIX-NEXT:    bir.memset @I1_k0 %s {value = 0.0, iterations = [sequential "k" 0]}
// SIX-NEXT:    bir.return

bir.func @nested {
  %s = bir.location @s : <128x128xf32, sbuf>
  bir.loop sequential %i = 0 to 4 {
    bir.loop sequential %j = 1 to 3 {
      bir.memset @I0 %s[0, %i * 10 + %j][1 x 128, 1 x 1] {value = 0.0}
    }
  }
  bir.loop sequential %k = -1 to 1 {
    bir.memset @I1 %s {value = 0.0}
  }
  bir.loop sequential %none = 1 to 1 {
    bir.memset @I2 %s {value = 0.0}
  }
  bir.return
}

// -----

// Edges of what is not copied for iterations: code of its own, run-time loops and basic
// blocks, what they follow and what follows them.

// CHECK-LABEL: bir.func @others {
// CHECK:         bir.memset @A_i0 %t {value = 0.0, iterations = [sequential "i" 0]}
// CHECK-NEXT:    bir.nki_kernel @K_i0 (%t) <- (%t) {func = "f", after = [flow "A_i0"], iterations = [sequential "i" 0]}
// CHECK-NEXT:    bir.memset @A_i1 %t {value = 0.0, after = [output "K_i0"], iterations = [sequential "i" 1]}
// CHECK-NEXT:    bir.nki_kernel @K_i1 (%t) <- (%t) {func = "f", after = [flow "A_i1"], iterations = [sequential "i" 1]}
// CHECK-NEXT:    bir.custom_op @L (%t) <- (%t) {opFunctionName = "g", opLibFile = "l", after = [flow "K_i0", flow "K_i1"]}
// CHECK-NEXT:    bir.no_op @N {after = [ordered "L"]}
// CHECK-NEXT:    %r = bir.tensor_load @R %n[0][1 x 1]
// CHECK-NEXT:    bir.dynamic_for_loop %j = 0 to %r {
// CHECK-NEXT:      bir.memset @D %t {value = 0.0, after = [output "A_i0", output "A_i1", output "E", output "N"]}
// CHECK-NEXT:      bir.loop sequential %k = 0 to 2 {
// CHECK-NEXT:        bir.memset @E %t {value = 0.0, after = [output "D", output "E"]}
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    bir.basic_block @one {
// CHECK-NEXT:      bir.memset @F %t {value = 0.0, after = [output "E", output "A_i0", output "A_i1", output "H"]}
// CHECK-NEXT:      bir.unconditional_branch @G {target = "two"}
// CHECK-NEXT:    }
// CHECK-NEXT:    bir.basic_block @two {
// CHECK-NEXT:      bir.memset @H %t {value = 0.0, after = [output "F"]}
// CHECK-NEXT:      bir.unconditional_branch @J {target = "one"}
// CHECK-NEXT:    }

bir.func @others {
  %n = bir.location @n ExternalInput : <1x1xi32, hbm>
  %t = bir.location @t : <128x8xf32, sbuf>
  bir.loop sequential %i = 0 to 2 {
    bir.memset @A %t {value = 0.0, after = [output "K"]}
    bir.nki_kernel @K (%t) <- (%t) {func = "f", after = [flow "A"]}
  }
  bir.custom_op @L (%t) <- (%t) {opFunctionName = "g", opLibFile = "l", after = [flow "K"]}
  bir.no_op @N {after = [ordered "L"]}
  %r = bir.tensor_load @R %n[0][1 x 1]
  bir.dynamic_for_loop %j = 0 to %r {
    bir.memset @D %t {value = 0.0, after = [output "A", output "E", output "N"]}
    bir.loop sequential %k = 0 to 2 {
      bir.memset @E %t {value = 0.0, after = [output "D", output "E"]}
    }
  }
  bir.basic_block @one {
    bir.memset @F %t {value = 0.0, after = [output "E", output "A", output "H"]}
    bir.unconditional_branch @G {target = "two"}
  }
  bir.basic_block @two {
    bir.memset @H %t {value = 0.0, after = [output "F"]}
    bir.unconditional_branch @J {target = "one"}
  }
}

// -----

// In a loop that stays, an edge to an instruction further down is to all its copies of
// the turn before; one whose mask never holds is nobody's target. A loop that is left by
// a break stays, and thresholds are those of the iteration.

// CHECK-LABEL: bir.func @stays {
// EIGHT-LABEL: bir.func @stays {
// EIGHT:         bir.loop sequential %i = 0 to 4 {
// EIGHT-NEXT:      bir.memset @A %t {value = 0.0, after = [output "C_j0", output "C_j1", output "B_j0", output "B_j1"]}
// EIGHT-NEXT:      bir.memset @B_j0 %t {value = 0.0, after = [output "C_j0", output "C_j1"], iterations = [sequential "j" 0]}
// EIGHT-NEXT:      bir.memset @C_j0 %t {value = 0.0, after = [output "B_j0"], iterations = [sequential "j" 0]}
// EIGHT-NEXT:      bir.memset @B_j1 %t {value = 0.0, after = [output "C_j0"], iterations = [sequential "j" 1]}
// EIGHT-NEXT:      bir.memset @C_j1 %t {value = 0.0, after = [output "B_j1"], iterations = [sequential "j" 1]}
// EIGHT-NEXT:    }
// EIGHT-NEXT:    bir.loop sequential %k = 0 to 4 {
// EIGHT-NEXT:      bir.break @K {on_wait = [SEM_GE_IMM @s 1]}
// EIGHT-NEXT:    }
bir.func @stays {
  bir.semaphore @s
  %t = bir.location @t : <128x8xf32, sbuf>
  bir.loop sequential %i = 0 to 4 {
    bir.memset @A %t {value = 0.0, after = [output "C", output "D"]}
    bir.loop sequential %j = 0 to 2 {
      bir.memset @B %t {value = 0.0, after = [output "C"]}
      bir.memset @C %t {value = 0.0, after = [output "B"]}
    }
    bir.memset @D %t where -1 >= 0 {value = 0.0, after = [output "B"]}
  }
  bir.loop sequential %k = 0 to 4 {
    bir.break @K {on_wait = [SEM_GE_IMM @s 1]}
  }
  bir.return
}
