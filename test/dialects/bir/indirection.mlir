// RUN: neuron-opt %s | neuron-opt | filecheck %s
// RUN: neuron-opt %s --print-op-generic | neuron-opt | filecheck %s

// Operands whose columns an index picks: one run of columns, as many as indices say.

builtin.module attributes {neuron.target = #neuron.target<trn3>} {
  // CHECK-LABEL: bir.func @picked
  bir.func @picked {
    %x = bir.location @x Internal : <128x64xf32, sbuf>
    %y = bir.location @y Internal : <128x40xf32, sbuf>
    %c = bir.location @c Internal : <128x1xf32, sbuf>
    %i = bir.location @i Internal : <128x4xu16, sbuf>
    %j = bir.location @j Internal : <128x3xu16, sbuf>
    %m = bir.location @m Internal : <128x64xi32, sbuf>
    %w = bir.location @w Internal : <128x64xbf16, sbuf>
    %q = bir.location @q Internal : <128x64xf8e4m3fn_x4, sbuf>
    %s = bir.location @s Internal : <128x64xu8, sbuf>
    %p = bir.location @p Internal : <40x512xf32, psum>
    %k = bir.location @k Internal : <64x1xu16, sbuf>
    %v = bir.location @v Internal : <64x512xf32, psum>
    // CHECK: bir.tensor_copy @I0 %y <- %x, src_index = %i {src_num_indices = 40, engine = DVE}
    bir.tensor_copy @I0 %y <- %x, src_index = %i {src_num_indices = 40, engine = DVE}
    // CHECK: bir.tensor_copy @I1 %x[0, 8][1 x 128, 1 x 50] <- %y, dst_index = %j {dst_num_indices = 40, engine = Activation}
    bir.tensor_copy @I1 %x[0, 8][1 x 128, 1 x 50] <- %y, dst_index = %j {dst_num_indices = 40, engine = Activation}
    // CHECK: bir.tensor_copy @I2 %x <- %m, dst_index = %j, src_index = %i[0, 1][1 x 128, 1 x 3] {src_num_indices = 40, dst_num_indices = 40}
    bir.tensor_copy @I2 %x <- %m, dst_index = %j, src_index = %i[0, 1][1 x 128, 1 x 3] {dst_num_indices = 40, src_num_indices = 40}
    // CHECK: bir.tensor_tensor @I3 add %y <- %x, %y, lhs_index = %j {lhs_num_indices = 40, engine = Pool}
    bir.tensor_tensor @I3 add %y <- %x, %y, lhs_index = %j {lhs_num_indices = 40, engine = Pool}
    // CHECK: bir.activation @I4 Exp %y <- %x, bias = %c, src_index = %i {src_num_indices = 40}
    bir.activation @I4 Exp %y <- %x, bias = %c, src_index = %i {src_num_indices = 40}
    // CHECK: bir.copy_predicated @I5 %x <- %s, src = %y, dst_index = %i, predicate_index = %j {predicate_num_indices = 40, dst_num_indices = 40}
    bir.copy_predicated @I5 %x <- %s, src = %y, dst_index = %i, predicate_index = %j {dst_num_indices = 40, predicate_num_indices = 40}
    // CHECK: bir.tensor_reduce @I6 add %c <- %x, src_index = %i {src_num_indices = 40, axes = [1]}
    bir.tensor_reduce @I6 add %c <- %x, src_index = %i {axes = [1], src_num_indices = 40}
    // CHECK: bir.exponential_reduce @I7 %y <- %x, reduce_res = %c, src_index = %i {src_num_indices = 40}
    bir.exponential_reduce @I7 %y <- %x, reduce_res = %c, src_index = %i {src_num_indices = 40}
    // CHECK: bir.matmult @I8 %p[0, 0][1 x 40, 1 x 64] <- %w, %w, stationary_index = %j, moving_index = %i {stationary_num_indices = 40, moving_num_indices = 64}
    bir.matmult @I8 %p[0, 0][1 x 40, 1 x 64] <- %w, %w, stationary_index = %j, moving_index = %i {stationary_num_indices = 40, moving_num_indices = 64}
    // CHECK: bir.matmult @I9 %v <- %w, %w[0, 0][1 x 128, 1 x 20], dst_index = %k {dst_num_indices = 20, accumulate = overwrite}
    bir.matmult @I9 %v <- %w, %w[0, 0][1 x 128, 1 x 20], dst_index = %k {accumulate = overwrite, dst_num_indices = 20}
    // CHECK: bir.matmult_mx @I10 %p[0, 0][1 x 40, 1 x 64] <- %q, %q, %s, %s, stationary_index = %j, moving_index = %i {stationary_num_indices = 40, moving_num_indices = 64}
    bir.matmult_mx @I10 %p[0, 0][1 x 40, 1 x 64] <- %q, %q, %s, %s, stationary_index = %j, moving_index = %i {stationary_num_indices = 40, moving_num_indices = 64}
    bir.return
  }
}
