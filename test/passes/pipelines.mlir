// RUN: neuron-opt -p neuron --verify-each %s | filecheck %s
// RUN: neuron-opt -p penguin-to-bir,bir-to-dma %s | filecheck %s
// RUN: neuron-opt -p 'neuron{max-instructions=2 max-blocks=2}' %s | filecheck %s --check-prefix=SMALL

// A load of 128-row tiles of a 300-row `a`, ragged at the end (design.md 9).

// CHECK:         bir.func @load {
// CHECK-NOT:     I0_i1
// CHECK:         %t{{.*}} = bir.location @t_i2 : <128x1000xf32, sbuf>
// CHECK-NEXT:    bir.memset @I0_i2 %t{{.*}} {value = 0.0, engine = DVE, iterations = [parallel "i" 2]}
// CHECK-NEXT:    dma.block @I1_i2 {
// CHECK-NEXT:      dma.copy f32 f32 %t{{.*}}[0, 0][1 x 44, 4 x 1000] <- %a[1024000][4000 x 44, 4 x 1000]
// CHECK-NEXT:    }
// CHECK-NEXT:    bir.dma_trigger @I1_i2 [@I1_i2] {engine = SP, iterations = [parallel "i" 2]}
// CHECK-NEXT:    bir.tensor_tensor @I2_i2 add %t{{.*}} <- %t{{.*}}, %t{{.*}} {engine = DVE, iterations = [parallel "i" 2]}

// SMALL:         bir.loop parallel %i = 0 to 3 {
// SMALL-NEXT:      %t = bir.location @t : <128x1000xf32, sbuf>
// SMALL-NEXT:      bir.memset @I0 %t where %i - 2 >= 0 {value = 0.0, engine = DVE}
// SMALL-NEXT:      bir.load @I1 %t <- %a[%i * 128000][1000 x 128, 1 x 1000] where 299 - %i * 128 - l0 >= 0

builtin.module attributes {neuron.target = #neuron.target<trn2>} {
penguin.func @load(a = %a: !neuron.tensor<300x1000xf32, hbm>) {
  penguin.for parallel %i = 0 to 3 {
    %t = penguin.alloc init 0.0 : <128x1000xf32, sbuf>
    penguin.sb_atom_load %t <- %a[%i * 128000][1000 x 128, 1 x 1000] where 299 - %i * 128 - l0 >= 0
    penguin.tensor_tensor add %t <- %t, %t
  }
  penguin.return
}
}
