// RUN: neuron-opt %s --split-input-file --verify-diagnostics

bir.func @waits {
  bir.semaphore @s
  bir.event @e
  %a = bir.location @a ExternalInput : <8x8xi32, hbm>
  %r = bir.tensor_load @L %a[3][1 x 1]
  // near miss: ` {on_wait = [SEM_GE_IMM @s 1, SEM_GE_IMM @s 2]}` -> ``
  // expected-error @below {{Too many sync wait commands: 2, at most 1}}
  bir.no_op @I0 {on_wait = [SEM_GE_IMM @s 1, SEM_GE_IMM @s 2]}
  // near miss: ` {on_update = [SEM_INC @s, SEM_INC @s]}` -> ``
  // expected-error @below {{Too many sync update commands: 2, at most 1}}
  bir.drain @I1 {on_update = [SEM_INC @s, SEM_INC @s]}
  // near miss: ` {on_update = [SEM_INC @s 2]}` -> ``
  // expected-error @below {{Semaphore inc value must be 1, got 2}}
  bir.no_op @I2 {on_update = [SEM_INC @s 2]}
  // near miss: ` {on_wait = [SEM_GE_IMM @s %r]}` -> ``
  // expected-error @below {{SEM_GE_IMM of 's' compares with an immediate, got d0}}
  bir.no_op @I3 {on_wait = [SEM_GE_IMM @s %r]}
  // near miss: ` {on_wait = [SEM_GE_REG @s 4]}` -> ``
  // expected-error @below {{SEM_GE_REG of 's' compares with a register, got 4}}
  bir.no_op @I4 {on_wait = [SEM_GE_REG @s 4]}
  // near miss: ` {on_wait = [SEM_GE_IMM @e 4]}` -> ``
  // expected-error @below {{semaphore 'e' is not declared in the function}}
  bir.no_op @I5 {on_wait = [SEM_GE_IMM @e 4]}
  // near miss: ` {on_update = [EVENT_SET @s]}` -> ``
  // expected-error @below {{event 's' is not declared in the function}}
  bir.no_op @I6 {on_update = [EVENT_SET @s]}
  // near miss: `@I7` -> `@I7 {on_update = [SEM_INC @s]}`
  // expected-error @below {{EventSemaphore must have sync info}}
  bir.event_semaphore @I7
  // near miss: `, SEM_GE_IMM @s 3` -> ``
  // expected-error @below {{EventSemaphore must have <= 2 wait commands, and <= 1 update command, got 3 waits}}
  bir.event_semaphore @I8 {on_wait = [SEM_GE_IMM @s 1, SEM_GE_IMM @s 2, SEM_GE_IMM @s 3]}
  // near miss: `, SEM_INC @s]` -> `]`
  // expected-error @below {{EventSemaphore must have <= 2 wait commands, and <= 1 update command, got 2 updates}}
  bir.event_semaphore @I9 {on_update = [SEM_INC @s, SEM_INC @s]}
  // near miss: `EVENT_SET_THEN_CLEAR @e` -> `SEM_GE_REG @s %r`
  // expected-error @below {{only two wait modes supported now: SEM_GE_IMM and SEM_GE_REG, got EVENT_SET_THEN_CLEAR of 'e'}}
  bir.event_semaphore @I10 {on_wait = [SEM_GE_IMM @s 1, EVENT_SET_THEN_CLEAR @e]}
  // near miss: ` where %r >= 0` -> ``
  // expected-error @below {{a sequencer instruction has no mask}}
  bir.no_op @I11 where %r >= 0
  // expected-error @below {{'bir.semaphore' stands at the top of a bir.func, before its instructions}}
  bir.semaphore @late
}

// -----

bir.func @declarations {
  bir.semaphore @s {id = 0}
  // near miss: `s ` -> `name `
  // expected-error @below {{name 's' is given twice}}
  bir.semaphore @s {id = 1}
  // near miss: ` {id = 256}` -> ``
  // expected-error @below {{Integer too large for field: id 256 of 8 bits}}
  bir.event @e {id = 256}
  // near miss: ` {engine = PE}` -> ``
  // expected-error @below {{InstDMA cannot be on PE engine}}
  bir.queue @q {engine = PE}
  // near miss: ` {instances = ["x", "x"]}` -> ``
  // expected-error @below {{queue 'r' has an instance twice: x, x}}
  bir.queue @r {instances = ["x", "x"]}
}

// -----

bir.func @groups {
  // near miss: `[1]` -> `[1], engine = Pool`
  // expected-error @below {{GroupResetSemaphores must be on a data-path engine (Pool, Activation, PE, DVE, SP), got ALL}}
  bir.group_reset_semaphores @I0 {sema_group = [1]}
  // expected-error @below {{GroupResetSemaphores: the group is empty}}
  bir.group_reset_semaphores @I1 {engine = SP, sema_group = []}
  // near miss: `1,` -> `0,`
  // expected-error @below {{GroupResetSemaphores: duplicate ids in [1, 1]}}
  bir.group_reset_semaphores @I2 {engine = SP, sema_group = [1, 1]}
  // expected-error @below {{GroupResetSemaphores: an id of [255, 256] has more than 8 bits}}
  bir.group_reset_semaphores @I3 {engine = SP, sema_group = [255, 256]}
  // near miss: `1` -> `2`
  // expected-error @below {{GroupResetSemaphores: [1, 3] is no id range, which SemaphoreZero clears}}
  bir.group_reset_semaphores @I4 {engine = SP, sema_group = [1, 3]}
  // near miss: ` {engine = SP}` -> ``
  // expected-error @below {{AllEngineBarrier is on engine ALL, got SP}}
  bir.all_engine_barrier @I5 {engine = SP}
  // expected-error @below {{CoreBarrier needs distinct cores, got []}}
  bir.core_barrier @I6 {cores = []}
  // near miss: `1,` -> `255,`
  // expected-error @below {{CoreBarrier needs distinct cores, got [1, 1]}}
  bir.core_barrier @I7 {cores = [1, 1]}
}

// -----

bir.func @queues {
  bir.queue @q {type = dynamic, instances = ["q.0"]}
  // near miss: `"p"` -> `"q"`
  // expected-error @below {{SQI switches to a queue that does not exist: 'p'}}
  bir.switch_queue_instance @I0 {queue = "p", instance = "q.0"}
  // near miss: `""` -> `"q.0"`
  // expected-error @below {{SQI instance should not be NULL}}
  bir.switch_queue_instance @I1 {queue = "q", instance = ""}
  // near miss: `"q.1"` -> `"q.0"`
  // expected-error @below {{SQI instance's parent should be a DMAQueue: 'q' has no instance 'q.1'}}
  bir.switch_queue_instance @I2 {queue = "q", instance = "q.1"}
  // near miss: `"p"` -> `"q"`
  // expected-error @below {{RQI switches to a queue that does not exist: 'p'}}
  bir.reset_queue_instance @I3 {queue = "p", instance = "q.0"}
  // near miss: `""` -> `"q.0"`
  // expected-error @below {{RQI instance should not be NULL}}
  bir.reset_queue_instance @I4 {queue = "q", instance = ""}
  // near miss: `"q.1"` -> `"q.0"`
  // expected-error @below {{RQI instance's parent should be a DMAQueue: 'q' has no instance 'q.1'}}
  bir.reset_queue_instance @I5 {queue = "q", instance = "q.1"}
  bir.loop sequential %i = 0 to 2 {
    // near miss: `type = dynamic` -> `type = data`
    // expected-error @below {{Expect only Spill/Reload queues are used in loop body, but found q of type dynamic}}
    bir.switch_queue_instance @I6 {queue = "q", instance = "q.0"}
  }
}

// -----

builtin.module attributes {neuron.target = #neuron.target<trn1>} {
  bir.func @arch {
    // near miss: `#neuron.target<trn1>` -> `#neuron.target<trn2>`
    // expected-error @below {{curArchLevel >= min.value(): CoreBarrier needs level 30, trn1 is 20}}
    bir.core_barrier @I0 {cores = [0, 1]}
  }
}

// -----

// Code of its own and loops are instructions too: declarations stand before them.

bir.func @late {
  %t = bir.location @t : <128x8xf32, sbuf>
  bir.semaphore @s
  bir.nki_kernel @K (%t) <- (%t) {func = "f"}
  // expected-error @below {{'bir.semaphore' stands at the top of a bir.func, before its instructions}}
  bir.semaphore @u
}

// -----

bir.func @behind_a_loop {
  %t = bir.location @t : <128x8xf32, sbuf>
  bir.loop sequential %i = 0 to 2 {
    bir.memset %t {value = 0.0}
  }
  // expected-error @below {{'bir.event' stands at the top of a bir.func, before its instructions}}
  bir.event @e
  // expected-error @below {{event 'e' is not declared in the function}}
  bir.event_semaphore @I {on_update = [EVENT_SET @e], engine = PE}
}

// -----

// What an edge, a trigger and a block name must be there, and be one thing.
bir.func @names {
  %a = bir.location @a ExternalInput : <8x8xi32, hbm>
  %t = bir.location @t : <8x8xi32, sbuf>
  bir.load @A %t <- %a {engine = SP, after = [flow "B"]}
  // expected-error @below {{has an edge (output) to 'C', but no instruction of the function has that name}}
  bir.load @B %t <- %a {engine = SP, after = [output "A", output "C"]}
  // expected-error @below {{has an edge (flow) to 'D', but no instruction of the function has that name}}
  bir.nki_kernel @K (%t) <- (%a) {func = "g", after = [flow "D"]}
  dma.block @b {
  }
  // expected-error @below {{name 'b' is given to two blocks}}
  dma.block @b {
  }
  // expected-error @below {{name 't' is that of a location}}
  dma.block @t {
  }
  // near miss: `@c]` -> `@b]`
  // expected-error @below {{Block does not exist! ('c'): the function has no dma.block of that name}}
  bir.dma_trigger @T [@b, @c] {engine = SP}
}

// -----

// Another function's names are not this one's.
bir.func @first {
  bir.no_op @A
}
bir.func @second {
  // expected-error @below {{has an edge (ordered) to 'A', but no instruction}}
  bir.no_op @B {after = [ordered "A"]}
}
