// RUN: neuron-opt %S/../dialects/penguin/scan.mlir -p convert-penguin-to-bir | neuron-opt | filecheck %s --check-prefix SCAN
// RUN: neuron-opt %S/../dialects/penguin/pool.mlir -p convert-penguin-to-bir | neuron-opt | filecheck %s --check-prefix POOL
// RUN: neuron-opt %S/../dialects/penguin/search.mlir -p convert-penguin-to-bir | neuron-opt | filecheck %s --check-prefix SEARCH
// RUN: neuron-opt %S/../dialects/penguin/statistics.mlir -p convert-penguin-to-bir | neuron-opt | filecheck %s --check-prefix STATISTICS
// RUN: neuron-opt %S/../dialects/penguin/selection.mlir -p convert-penguin-to-bir | neuron-opt | filecheck %s --check-prefix SELECTION
// RUN: neuron-opt %S/../dialects/penguin/exponential.mlir -p convert-penguin-to-bir | neuron-opt | filecheck %s --check-prefix EXPONENTIAL
// RUN: neuron-opt %S/../dialects/penguin/index.mlir -p convert-penguin-to-bir | neuron-opt | filecheck %s --check-prefix INDEX
// RUN: neuron-opt %S/../dialects/penguin/random.mlir -p convert-penguin-to-bir | neuron-opt | filecheck %s --check-prefix RANDOM
// RUN: neuron-opt %S/../dialects/penguin/mx.mlir -p convert-penguin-to-bir | neuron-opt | filecheck %s --check-prefix MX

// The rows of convert-penguin-to-bir that change only the name, on the operations of
// test/dialects/penguin: the class in bir, and the engine that is chosen.

// SCAN: bir.tensor_tensor_scan @I0 mult add %a <- %b, %a, initial = %v {reverse1, engine = DVE}
// SCAN: bir.tensor_tensor_scan @I1 mult subtract %a <- %b, %a where 99 - l0 >= 0 {initial_imm = 0.0, engine = DVE}
// SCAN: bir.tensor_scalar_cache_cumulative @I2 add max %a <- %b {imm0 = 1.0, engine = DVE}
// SCAN: bir.tensor_scalar_cache_cumulative @I3 subtract add %a <- %b, accumulator = %w, scalar0 = %v, initial = %w {reverse0, command = LoadAccumulate, engine = DVE}
// SCAN: bir.scalar_tensor_tensor @I4 mult add %a <- %b, %a, scalar0 = %v {reverse0, engine = DVE}
// SCAN: bir.scalar_tensor_tensor @I5 mult add %a <- %b, %a where l0 - l1 >= 0 {imm0 = 2.0, engine = DVE}
// SCAN: bir.tensor_scalar_cache_reduce @I6 mult max %a <- %b, reduce_res = %w, scalar0 = %v {engine = DVE}
// SCAN: bir.activation_accumulation @I7 Exp %a <- %b, reduce_res = %w, bias = %v {scale_imm = 2.0, engine = Activation}
// SCAN: bir.activation @I8 Prelu %a <- %b {alpha = 0.25, engine = Activation}

// POOL: bir.partition_reduce @I0 add %r <- %a {engine = Pool}
// POOL: bir.partition_reduce @I1 bitwise_or %m <- %n {engine = Pool}
// POOL: bir.pool @I2 average %w <- %a[0, 0][1 x 128, 32 x 8, 2 x 8, 16 x 2, 1 x 2] {engine = DVE}
// POOL: bir.pool @I3 max %r[0, 0][1 x 1] <- %a[0, 0][1 x 1, 16 x 16, 1 x 16] {engine = DVE}

// SEARCH: bir.max @I0 %v <- %a {engine = DVE}
// SEARCH: bir.max_index @I1 %n <- %a, %v {engine = DVE}
// SEARCH: bir.match_replace @I2 %b <- %a, %v {imm = -inf, engine = DVE}
// SEARCH: bir.max_index_and_match_replace @I3 %a, %h <- %a, %v {imm = 0.0, engine = DVE}

// STATISTICS: bir.bn_stats @I0 %s <- %x where 99 - l0 >= 0 {engine = DVE}
// STATISTICS: bir.bn_stats_aggregate @I1 %m <- %s {engine = DVE}
// STATISTICS: bir.bn_gradients @I2 %g <- %x, %dy, %m[0, 0][1 x 128, 1 x 1], %m[0, 1][1 x 128, 1 x 1] {engine = DVE}
// STATISTICS: bir.bn_backprop @I3 %dy <- %x, %dy, %m[0, 0][1 x 128, 1 x 1], %g {total_elements = 512.0, engine = DVE}

// SELECTION: bir.tensor_scalar_affine_select @I0 is_ge %a <- %b {value = %i * 128 + l0 - l1, fill = -3.0, engine = Pool}
// SELECTION: bir.tensor_scalar_affine_select @I1 is_equal %a <- %b where 300 - l0 - l1 >= 0 {value = (l0) mod 8, fill = 0.0, engine = DVE}
// SELECTION: bir.range_select @I2 is_ge is_lt %a <- %b, %v, %w {range_start = 512, engine = DVE}
// SELECTION: bir.range_select_reduce @I3 is_gt is_le %a <- %b, %v, %v, reduce_res = %w where 99 - l0 >= 0 {engine = DVE}
// SELECTION: bir.select_reduce @I4 %a <- %n, %b, reduce_res = %w, on_false = %v {reverse, engine = DVE}
// SELECTION: bir.select_reduce @I5 %a <- %n, %b, reduce_res = %w {on_false_imm = -inf, engine = DVE}

// EXPONENTIAL: bir.exponential @I0 %a <- %b where l0 - l1 >= 0 {engine = DVE}
// EXPONENTIAL: bir.exponential @I1 %a <- %b, max_value = %v {engine = DVE}
// EXPONENTIAL: bir.exponential_reduce @I2 %a <- %b, reduce_res = %w, max_value = %v where 99 - l0 >= 0 {engine = DVE}
// EXPONENTIAL: bir.exponential_reduce @I3 %a <- %b, reduce_res = %w {max_value_imm = 2.0, engine = DVE}
// EXPONENTIAL: bir.activate2 @I4 Gelu %a <- %b {engine = Activation}
// EXPONENTIAL: bir.activate2 @I5 Prelu %a <- %b, scalar0 = %v {op0 = mult, reverse0, op1 = subtract, imm1 = 2.0, alpha = 0.5, engine = Activation}

// INDEX: bir.nonzero_with_count @I0 %n <- %a {engine = Pool}
// INDEX: bir.nonzero_with_count @I1 %n <- %a {index_offset = 64, padding = 0, engine = Pool}
// INDEX: bir.get_sequence_bounds @I2 %b <- %s {engine = Pool}

// RANDOM: bir.set_rand_state @I0 %s <- %seed {engine = DVE}
// RANDOM: bir.rand_set_state @I1 %p <- %p {engine = Pool}
// RANDOM: bir.rand_get_state @I2 %s <- %s where 63 - l0 >= 0 {engine = DVE}
// RANDOM: bir.rng @I3 %n, %s <- %s {engine = DVE}
// RANDOM: bir.rng @I4 %n, %p <- %p {engine = Pool}
// RANDOM: bir.rand2 @I5 %a, %s <- %s {engine = DVE}
// RANDOM: bir.rand2 @I6 %a, %s <- %s, low = %v {high_imm = 2.0, engine = DVE}
// RANDOM: bir.dropout @I7 %a, %s <- %a, %s, probability = %v {engine = DVE}
// RANDOM: bir.dropout @I8 %n, %s <- %n, %s {probability_imm = 0.5, keep_threshold, engine = DVE}

// MX: bir.quantize_mx @I0 %q, %s <- %x {engine = DVE}
// MX: bir.quantize_mx @I1 %q[0, 0][1 x 32, 1 x 128], %s[0, 0][1 x 4, 1 x 128] <- %x[0, 0][1 x 32, 1 x 512] {engine = DVE}
// MX: bir.matmult_mx @I2 %acc <- %w, %q, %s[0, 0][1 x 128, 1 x 64], %d {engine = PE}
// MX: bir.matmult_mx @I3 %acc <- %w, %q, %s[0, 0][1 x 128, 1 x 64], %d {accumulate = accumulate, engine = PE}
