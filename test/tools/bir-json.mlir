// RUN: neuron-opt %s -t bir-json | filecheck %s
// RUN: neuron-opt %s -t bir-json | neuron-opt -f bir-json | filecheck %s --check-prefix TEXT

// The JSON of a function: names, units and defaults (bir.md 4).

builtin.module attributes {neuron.target = #neuron.target<trn2>} {
  // TEXT: bir.func @f {
  bir.func @f {
    // TEXT-NEXT: %a = bir.location @a ExternalInput : <300x512xf32, hbm>
    %a = bir.location @a ExternalInput : <300x512xf32, hbm>
    // TEXT-NEXT: %b = bir.location @b ExternalOutput : <64x32xbf16, hbm>
    %b = bir.location @b ExternalOutput : <64x32xbf16, hbm>
    // TEXT-NEXT: %t = bir.location @t : <128x512xf32, sbuf>
    %t = bir.location @t : <128x512xf32, sbuf>
    // TEXT-NEXT: bir.load @I0 %t[64, 2][1 x 32, 2 x 16] <- %a[512][512 x 32, 1 x 16] {dge = hwdge, queue = "q0"}
    bir.load @I0 %t[64, 2][1 x 32, 2 x 16] <- %a[512][512 x 32, 1 x 16] {dge = hwdge, queue = "q0"}
    // TEXT-NEXT: bir.tensor_scalar_ptr @I1 add %t <- %t {imm0 = 0.5, engine = DVE, after = [flow "I0"]}
    bir.tensor_scalar_ptr @I1 add %t <- %t {imm0 = 0.5, engine = DVE, after = [flow "I0"]}
    // TEXT-NEXT: bir.return b = %b
    bir.return b = %b
  }
}

// CHECK:      {
// CHECK-NEXT:   "arch": "gen3",
// CHECK-NEXT:   "functions": [
// CHECK-NEXT:     {
// CHECK-NEXT:       "allocations": [
// CHECK-NEXT:         {
// CHECK-NEXT:           "Skind": "memory_location_set",
// CHECK-NEXT:           "addr_space": "Local",
// CHECK-NEXT:           "dtype": "float32",
// CHECK-NEXT:           "kind": "ExternalInput",
// CHECK-NEXT:           "memorylocations": [
// CHECK-NEXT:             {
// CHECK-NEXT:               "Skind": "memory_location",
// CHECK-NEXT:               "addr": 0,
// CHECK-NEXT:               "allocated": false,
// CHECK-NEXT:               "bank": 0,
// CHECK-NEXT:               "base": 0,
// CHECK-NEXT:               "dims": [
// CHECK-NEXT:                 300,
// CHECK-NEXT:                 2048
// CHECK-NEXT:               ],
// CHECK-NEXT:               "name": "a",
// CHECK-NEXT:               "type": 8
// CHECK-NEXT:             }
// CHECK-NEXT:           ],
// CHECK-NEXT:           "name": "a_set",
// CHECK-NEXT:           "origin": "Penguin",
// CHECK-NEXT:           "partition_dim": 0,
// CHECK-NEXT:           "tensor_shape": [
// CHECK-NEXT:             300,
// CHECK-NEXT:             512
// CHECK-NEXT:           ]
// CHECK-NEXT:         },

// The load: partition 64 is 64 * 512 elements in.
// CHECK:            "dge_type": "HWDGE",
// CHECK-NEXT:       "engine": "DMA",
// CHECK-NEXT:       "engine_id": 0,
// CHECK-NEXT:       "ins": [
// CHECK-NEXT:         {
// CHECK-NEXT:           "access_shape": [
// CHECK-NEXT:             32,
// CHECK-NEXT:             16
// CHECK-NEXT:           ],
// CHECK-NEXT:           "ap": [
// CHECK-NEXT:             [
// CHECK-NEXT:               512,
// CHECK-NEXT:               32
// CHECK-NEXT:             ],
// CHECK-NEXT:             [
// CHECK-NEXT:               1,
// CHECK-NEXT:               16
// CHECK-NEXT:             ]
// CHECK-NEXT:           ],
// CHECK-NEXT:           "dtype": "float32",
// CHECK-NEXT:           "kind": "physical_ap",
// CHECK-NEXT:           "memref": "a",
// CHECK-NEXT:           "memsetref": "a_set",
// CHECK-NEXT:           "offset": 512
// CHECK-NEXT:         }
// CHECK-NEXT:       ],
// CHECK-NEXT:       "name": "I0",
// CHECK-NEXT:       "opcode": "Load",
// CHECK-NEXT:       "optin_passes": [],
// CHECK-NEXT:       "origin": "Penguin",
// CHECK-NEXT:       "outs": [
// CHECK:              "ap": [
// CHECK-NEXT:             [
// CHECK-NEXT:               512,
// CHECK-NEXT:               32
// CHECK-NEXT:             ],
// CHECK-NEXT:             [
// CHECK-NEXT:               2,
// CHECK-NEXT:               16
// CHECK-NEXT:             ]
// CHECK-NEXT:           ],
// CHECK:                "offset": 32770
// CHECK:            "queue": "q0",

// The immediate is an input; the second stage is bypass.
// CHECK:            "dependencies": [
// CHECK-NEXT:         [
// CHECK-NEXT:           "I0",
// CHECK-NEXT:           "Flow"
// CHECK-NEXT:         ]
// CHECK-NEXT:       ],
// CHECK-NEXT:       "engine": "DVE",
// CHECK:                "kind": "imm_value",
// CHECK-NEXT:           "value": 0.5
// CHECK:            "op0": "add",
// CHECK-NEXT:       "op1": "bypass",
// CHECK-NEXT:       "opcode": "TensorScalarPtr",
// CHECK:            "reverse0": false,
// CHECK-NEXT:       "reverse1": false,
// CHECK:            "opcode": "Return",
// CHECK:      "queues": [
// CHECK-NEXT:   {
// CHECK-NEXT:     "blocks": [
// CHECK:          "name": "q0",
// CHECK:      "revision": "v1",
// CHECK-NEXT: "version": 2
