"""
Which elements an access reaches, as integers: no IR, no NumPy.

From a kernel's subscript to a queue's descriptor the same elements are named six times,
each time with less left open. Each step has one owner:

    view        what a kernel has subscripted                     tracer.views
      |         offsets become affine in loop indices             geometry.affine
    access      offset and (step, count) pairs of an operand      dialects.neuron.access
      |         with its tensor and element type                  dialects.operand
    operand     its bounds, runs and overlaps                     geometry.pattern
      |         lanes: which dimension runs along which           analysis.frame
    frame       what a mask leaves of the lanes                   geometry.mask
      |         one iteration's rows and columns                  geometry.lane_bounds
    box         the clipped access of one iteration
      |         runs of bytes within the hardware's limits        passes.descriptors
    descriptor  what a DMA queue moves                            dialects.dma

`geometry.affine_image` says which values an expression takes, `geometry.lattice` which
bytes strided patterns meet.
"""
