// RUN: neuron-opt %s | neuron-opt | filecheck %s
// RUN: neuron-opt %s --print-op-generic | neuron-opt | filecheck %s

// Semaphores, events, queues and barriers.

builtin.module attributes {neuron.target = #neuron.target<trn2>} {
  // CHECK: bir.func @f {
  bir.func @f {
    // CHECK: bir.semaphore @s {id = 3}
    bir.semaphore @s {id = 3}
    // CHECK: bir.semaphore @"any name"
    bir.semaphore @"any name"
    // CHECK: bir.event @e {id = 255}
    bir.event @e {id = 255}
    // CHECK: bir.queue @q0 {type = data, engine = Activation, num_dma_engines = 8, instances = ["q0.0", "q0.1"]}
    bir.queue @q0 {type = data, engine = Activation, num_dma_engines = 8, instances = ["q0.0", "q0.1"]}
    // CHECK: bir.queue @q1 attributes {key}
    bir.queue @q1 attributes {key}
    // CHECK: %a = bir.location @a ExternalInput : <8x8xi32, hbm>
    %a = bir.location @a ExternalInput : <8x8xi32, hbm>
    // CHECK: %sem = bir.location @sem : <1x1xi32, hbm>
    %sem = bir.location @sem : <1x1xi32, hbm>
    // CHECK: %r = bir.tensor_load @I0 %a[3][1 x 1]
    %r = bir.tensor_load @I0 %a[3][1 x 1]
    // CHECK: bir.no_op @I1
    bir.no_op @I1
    // CHECK: bir.event_semaphore @I2 {engine = DVE, on_wait = [SEM_GE_IMM @s 4, SEM_GE_REG @"any name" %r], on_update = [SEM_INC @s]}
    bir.event_semaphore @I2 {on_wait = [SEM_GE_IMM @s 4, SEM_GE_REG @"any name" %r], on_update = [SEM_INC @s], engine = DVE}
    // CHECK: bir.event_semaphore @I3 {engine = PE, on_wait = [EVENT_SET_THEN_CLEAR @e]}
    bir.event_semaphore @I3 {on_wait = [EVENT_SET_THEN_CLEAR @e], engine = PE}
    // CHECK: bir.event_semaphore @I4 {engine = Pool, on_update = [EVENT_SET @e], after = [ordered "I3"]}
    bir.event_semaphore @I4 {on_update = [EVENT_SET @e], engine = Pool, after = [ordered "I3"]}
    // CHECK: bir.no_op @I5 {on_update = [SEM_ADD_IMM @s 16]}
    bir.no_op @I5 {on_update = [SEM_ADD_IMM @s 16]}
    // CHECK: bir.no_op @I6 {on_update = [SEM_SUB_IMM @s 16]}
    bir.no_op @I6 {on_update = [SEM_SUB_IMM @s 16]}
    // CHECK: bir.no_op @I7 {on_update = [SEM_DEC @s]}
    bir.no_op @I7 {on_update = [SEM_DEC @s]}
    // CHECK: bir.no_op @I8 {on_update = [SEM_WRITE_IMM @s 0]}
    bir.no_op @I8 {on_update = [SEM_WRITE_IMM @s 0]}
    // CHECK: bir.group_reset_semaphores @I9 {sema_group = [4, 5, 6], engine = SP}
    bir.group_reset_semaphores @I9 {sema_group = [4, 5, 6], engine = SP}
    // CHECK: bir.group_reset_semaphores @I10 {mode = SemaphoreZeroBitmask, sema_group = [4, 9], engine = SP}
    bir.group_reset_semaphores @I10 {mode = SemaphoreZeroBitmask, sema_group = [4, 9], engine = SP}
    // CHECK: bir.all_engine_barrier @I11
    bir.all_engine_barrier @I11
    // CHECK: bir.drain @I12 {is_reset_sema, engine = Activation}
    bir.drain @I12 {is_reset_sema, engine = Activation}
    // CHECK: bir.core_barrier @I13 {cores = [0, 1]}
    bir.core_barrier @I13 {cores = [0, 1]}
    // CHECK: bir.core_barrier @I14 semaphore = %sem {cores = [0, 1], id = 2, runtime_semaphore}
    bir.core_barrier @I14 semaphore = %sem {cores = [0, 1], id = 2, runtime_semaphore}
    // CHECK: bir.switch_queue_instance @I15 {no_rearm, queue = "q0", instance = "q0.1"}
    bir.switch_queue_instance @I15 {no_rearm, queue = "q0", instance = "q0.1"}
    // CHECK: bir.reset_queue_instance @I16 {queue = "q0", instance = "q0.0"}
    bir.reset_queue_instance @I16 {queue = "q0", instance = "q0.0"}
    // CHECK: bir.tensor_completion @I17
    bir.tensor_completion @I17
    // CHECK: bir.tensor_completion @I18 src = %a {mode = DebugTensorRead}
    bir.tensor_completion @I18 src = %a {mode = DebugTensorRead}
    // Whatever an engine or a queue executes waits and updates alike.
    // CHECK: %t = bir.location @t : <8x8xi32, sbuf>
    %t = bir.location @t : <8x8xi32, sbuf>
    // CHECK: %u = bir.location @u : <8x8xi32, sbuf>
    %u = bir.location @u : <8x8xi32, sbuf>
    // CHECK: bir.load @I19 %t <- %a {engine = SP, on_wait = [SEM_GE_IMM @s 4], on_update = [SEM_ADD_IMM @s 16]}
    bir.load @I19 %t <- %a {engine = SP, on_wait = [SEM_GE_IMM @s 4], on_update = [SEM_ADD_IMM @s 16]}
    // CHECK: bir.tensor_copy @I20 %u <- %t {engine = DVE, on_wait = [SEM_GE_REG @s %r], on_update = [SEM_INC @s]}
    bir.tensor_copy @I20 %u <- %t {engine = DVE, on_wait = [SEM_GE_REG @s %r], on_update = [SEM_INC @s]}
    // CHECK: bir.nki_kernel @I21 (%u) <- (%t) {func = "g", on_wait = [EVENT_SET_THEN_CLEAR @e], on_update = [EVENT_SET @e], iterations = [parallel "i" 2, sequential "i.1" -1]}
    bir.nki_kernel @I21 (%u) <- (%t) {func = "g", on_wait = [EVENT_SET_THEN_CLEAR @e], on_update = [EVENT_SET @e], iterations = [parallel "i" 2, sequential "i.1" -1]}
    dma.block @b {
      dma.copy i32 i32 %t[0, 0][1 x 8, 4 x 8] <- %a[0][32 x 8, 4 x 8]
    }
    // CHECK: bir.dma_trigger @I22 [@b] {engine = SP, dma_qos = P1, on_wait = [SEM_GE_REG @s %r], on_update = [SEM_INC @s]}
    bir.dma_trigger @I22 [@b] {engine = SP, dma_qos = P1, on_wait = [SEM_GE_REG @s %r], on_update = [SEM_INC @s]}
    // CHECK: bir.loop sequential %i = 0 to 4 {
    bir.loop sequential %i = 0 to 4 {
      // CHECK: bir.switch_queue_instance @I23 {queue = "q0", instance = "q0.0"}
      bir.switch_queue_instance @I23 {queue = "q0", instance = "q0.0"}
    }
  }
}
