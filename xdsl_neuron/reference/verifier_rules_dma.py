"""The rules of dma.md 9."""

from typing import Final

from xdsl_neuron.reference.verifier_rules import Outside, Rule, gate, out

_DGE = "DGE xbar transpose "
_DYNAMIC = "DGE xbar dynamic transpose "
_TENSOR_MOVE = "InstTensorLoad/InstTensorSave "

DMA_RULES: Final[dict[str, tuple[Rule, ...]]] = {
    "Methods (dma.md 9.1, 9.3)": (
        gate(
            "",
            "``src`` and ``dst`` operands cannot both be indirect memory accesses",
            "OpenCopy.one_indirect_side",
        ),
        gate(
            "",
            "``dst_rmw_op`` is not supported indirect memory access on source "
            "(``src``) operand",
            "OpenCopy.direct_source_of_rmw",
        ),
        gate("", "D transpose, only ", "DmaTranspose.axes_per_rank"),
        gate("", "unsupported tile.ndim", "DmaTranspose.axes_per_rank"),
        gate(
            "",
            " provided for gather transpose, only 3D supported.",
            "DmaIndirectTranspose.axes_per_rank",
        ),
        gate(
            "",
            "oob_mode.skip is not supported for direct memory access. Only "
            "oob_mode.error is allowed (got ",
            "Copy.direct_bounds",
        ),
        gate(
            "",
            "scatter op can only support bypass or add for now",
            "IndirectAccumulate.scatter_op",
        ),
        gate(
            "",
            "scatter add cannot have other modes except for error",
            "IndirectAccumulate.scatter_bounds",
        ),
        gate(
            "",
            "num_valid_indices cannot exceed total indices per core",
            "IndirectCopy.index_count",
        ),
        gate(
            "",
            "number of indices per core must be <= 4096",
            "IndirectCopy.index_count",
        ),
        gate(
            "",
            "num_elem_per_idx must be one of [1, 2, 4, 8, 16, 32]",
            "IndirectCopy.run_length",
        ),
        gate(
            "",
            "src_buffer and index must have same partition dimension size",
            "IndirectCopy.same_partitions",
        ),
        gate(
            "",
            "Memset engine can only be Vector or GpSIMD or Unknown.",
            "Memset.engine_set",
        ),
        out("", "Cannot legalize strided load!", Outside.PASS, "and store"),
        out("", "IndirectRMW does not support dynamic DMA mode", Outside.PASS),
        out("", "PoolGather could only support single partition", Outside.PASS),
        out("", "Incorrect transformation in PoolGather", Outside.PASS),
        out(
            "",
            "Only one of the src and dst can contain dynamic access.",
            Outside.PRODUCER,
        ),
        gate(
            "",
            "DGE must be enabled when dynamic src access in DMA is used",
            "Copy.dynamic_needs_dge",
        ),
        gate(
            "",
            "DGE must be enabled when dynamic dst access in DMA is used",
            "Copy.dynamic_needs_dge",
        ),
        out("", "Unsupported DMA compute_op <n>", Outside.PRODUCER),
        gate(
            "",
            "dma_copy engine can only be specified when HWDGE mode is used.",
            "OpenCopy.engine_of_hardware_dge",
        ),
        out(
            "",
            "dma_compute currently only supports nl.add as its reduce op!",
            Outside.PRODUCER,
            "the language refuses the call",
        ),
        gate(
            "",
            "DMA Tranpose must have 4-D access pattern. Explicitly writing AP is "
            "required if slicing is not generating correct pattern",
            "DMACopyTransposeOp.four_dimensions",
        ),
        out(
            "",
            "When using vector offset, the only supported indirectDim is 0",
            Outside.PRODUCER,
            "IR: IndirectInstruction.indexed_dimension",
        ),
        out("", "Cannot find register: ... for scalar offset", Outside.PRODUCER),
        out("", "Logic Fault: dynamic access should have vector offset.", Outside.FORM),
        gate(
            "",
            "Only one of src and dst can have dynamic access in tensor_copy",
            "_DynamicCopy.one_dynamic_side",
        ),
    ),
    "Every DMA (9.4)": (
        out(
            "EBIR030 EBIR031 EBIR032 EBIR033",
            "InstDMACopy number of in dimensions ({in}) must equal the number of out "
            "dimensions ({out})",
            Outside.PASS,
            "of canonical patterns; here elements are counted: "
            "DmaInstruction.equal_counts",
        ),
        gate(
            "BIR049",
            "Invalid number of AccessPattern dimensions; must be in [2, 5]",
            "DmaInstruction.dma_dimensions",
        ),
        gate(
            "BIR156",
            "Tensor size must be < 4GB, but it is {actual} bytes",
            "DmaInstruction.tensor_size",
        ),
        gate("BIR429", "Access must be aligned to datatype, ", "Sized.aligned"),
        out("BIR438", "CCE DMA instructions must have at most ", Outside.UNKNOWN),
        out("BIR439", "Expect no InstAbstractCopy after lower_ac", Outside.PASS),
        out("BIR433 BIR434", "Expect no ... after unroll", Outside.PASS),
        out(
            "BIR250",
            "DMA that is not valid for DGE must have DGEType::None",
            Outside.UNKNOWN,
            "which DMAs are valid",
        ),
        out("BIR098 BIR062", "Unsupported DGE Type", Outside.FORM, "an enumeration"),
        out(
            "BIR251 BIR252",
            "Static DMA that is in a dynamic loop can only read from Internal tensor",
            Outside.PASS,
            "a DMA in such a loop stays dynamic until a pass assigns its DGE",
        ),
        out("BIR182", "Instruction reads un-initialized memory locations", Outside.RUN),
        gate(
            "MLO001",
            "Expected SB <-> DRAM or PSUM <-> SB, but got {src} -> {dst}",
            "Load.load_direction",
        ),
        out("1855", "DMA Instruction cannot have TensorIndirect AP", Outside.FORM),
        out("1856", "DMA Instruction with dynamic AP must have ...", Outside.FORM),
        out("", "DMA Copy in/out canonical dimensions must match", Outside.PASS),
        out("", "strided Free dim AP should be at least 2D", Outside.PASS),
        out("", "Hardware Restriction: HBM accessing instruction", Outside.FORM),
        gate(
            "EDGE001 1698",
            "DMAs that use HWDGE can only be assigned to EngineType::Activation "
            "(nki.isa.engine.scalar) or EngineType::SP (nki.isa.engine.sync), but got "
            "EngineType::{actual}",
            "BirDma.hardware_dge_engine",
        ),
        gate(
            "DMA140",
            "Found Instruction with unsupported DGE type DGEType::HWDGE on Sunda ",
            "BirDma.hardware_dge_arch",
        ),
        out("LDD001", "SWDGE DMAs slow dimension must be ...", Outside.PASS, "speed"),
        out("LDM001", "Instruction {name} not found in any DMA blocks", Outside.PASS),
        out("", "Input uses DGE but DGE is not enabled at Walrus", Outside.OPTION),
        gate("", "InstDMA cannot be on PE engine", "QueuedInstruction.trigger_engine"),
        out("", "Number of valid engines for HWDGE must be ...", Outside.PASS),
        out("", "HWDGE must be on ACT/DVE/SP according to ...", Outside.PASS),
        out("XAQ001 XAQ002", "Expected at most {expected} HWDGE queues", Outside.PASS),
        gate(
            "",
            "Trigger engine does not match queue's engine",
            "QueuedInstruction.queue_engine",
        ),
        out("BIR600 BIR601 BIR602", "QoS classes of the runtime", Outside.OPTION),
        out("BIR603 BIR604", "Failed to encode DMA QoS priority", Outside.BACK_END),
        out("BIR143 BIR144", _TENSOR_MOVE + "must have at least 1", Outside.FORM),
        out(
            "BIR145",
            _TENSOR_MOVE + "can only reference Const/Internal/Pointer tensors",
            Outside.WIDER,
            "a register is loaded from an input",
        ),
        gate(
            "EBIR011",
            "register and tensor must have the same number of bytes. Got src=",
            "TensorLoad.one_element",
        ),
        out("EAE011 EAE012 EAE013 EAE014 EAE015", "", Outside.PASS, "loads on ALL"),
        out("XCG832 XCG918", "TensorSave destination must be SB", Outside.BACK_END),
    ),
    "Reductions (9.5)": (
        gate(
            "BIR059 BIR060 BIR061",
            "",
            "Copy.copy_reduce_op",
            "operations of a DMACopy: add",
        ),
        gate(
            "BIR063",
            "DMADescriptorCCE does not support {op} in instruction ",
            "CceOp.cce_op",
        ),
        gate("BIR064 BIR065", "", "IndirectAccumulate.scatter_op", "of scatters: add"),
        out("BIR076", "`--dge-levels dst_reduce` not enabled", Outside.OPTION),
        out("BIR077", "DMACopy does not support {cce_op} with {mode}", Outside.FORM),
        out(
            "BIR234",
            "CCE op is only valid on DMACopys that have mode=CCE or use vector DGE",
            Outside.WIDER,
            "a copy that adds becomes CCE descriptors",
        ),
        gate(
            "XCG986",
            "Invalid AluOpType '{given}' for DGE_COMPUTE_OP. Must be 'bypass' or 'add'",
            "ScatterOp.scatter_op",
        ),
        out("", "CoreV5 cannot support DGE with compute op yet", Outside.FORM),
        out("", "Input AP dtype does not match output AP dtype", Outside.WIDER, "cast"),
        out("", "Input AP shape does not match output AP shape", Outside.PASS),
    ),
    "Indices (9.6)": (
        out("", "Indirect dimensions must be one less than ...", Outside.FORM),
        out("", "Compiler middle end must have already flattened", Outside.FORM),
        gate(
            "",
            "GenericIndirectLoad/Save must have 1 element per partition for ",
            "IndirectInstruction.index_tile",
        ),
        gate("", "indirect DMA's AddrAP should be 2D", "_AddressDma.addresses"),
        gate(
            "",
            "Addr Tensor partition dim must match its tensor shape",
            "_AddressDma.addresses",
        ),
        gate(
            "",
            "Currently only support 1 address per partition for Indirect DMA",
            "_AddressDma.addresses",
        ),
        gate(
            "",
            "Currently only support 2D DataAP for Indirect DMA",
            "_AddressDma.flat_data",
        ),
        gate(
            "",
            "Indirect DMA bound-check can only be on Pool engine",
            "_AddressDma.bound_check",
        ),
        gate(
            "",
            "must have 3 args and 2 outputs for bound-check",
            "_AddressDma.bound_check",
        ),
        gate(
            "BIR230",
            "of Vector DGE DMACopy must have MemoryType::DRAM, but it has ",
            "IndirectInstruction.indexed_dimension",
        ),
        gate(
            "BIR231",
            "of Vector DGE DMACopy must have ",
            "IndirectLoad.gather_direction",
        ),
        gate("BIR232", "", "IndirectInstruction.index_tile", "index in SB"),
        gate(
            "BIR030",
            "DynamicAPINFO::IndirectDimMaxIndex must be > 0",
            "IndirectInstruction.positive_limit",
        ),
        out("", "IndirectSaveAccumulate scratch space address ...", Outside.BACK_END),
        out("", "Vector-dynamic-offsets AP must exist", Outside.FORM),
        out("XCG1010", "Vector DGE using shape register has ...", Outside.BACK_END),
        out("", "", Outside.BACK_END, "4096 indices a leg, in partition 0"),
        out(
            "SIM103",
            "Duplicate indices {indices} not allowed on DGE DstReduce instruction",
            Outside.WIDER,
            "a scatter adds in index order",
        ),
    ),
    "Transposes (9.7)": (
        gate("BIR171 BIR181", "", "DmaTranspose.axes_per_rank", "XZYW only"),
        gate(
            "BIR172",
            "Transpose dst must be in SB, but it is in {actual}",
            "DmaTranspose.transpose_destination",
        ),
        gate(
            "BIR511",
            "DMA transpose input and output should have the same type, but it has in ",
            "DmaTranspose.same_dtype",
        ),
        gate(
            "BIR512",
            "DMA transpose outer dimensions are not transposed. [",
            "TransposeDescriptor.descriptor_limits",
        ),
        gate(
            "",
            "Source and destination access pattern must be 4-D",
            "TransposeDescriptor.descriptor_limits",
        ),
        gate(
            "BIR155",
            "Output of xbar transpose must have steps must be 32 byte aligned. ",
            "DmaTranspose.transposed_patterns",
        ),
        out("BIR173", _DGE + "src must be in SB or DRAM", Outside.FORM),
        gate(
            "BIR174 BIR175 BIR176",
            "",
            "DmaTranspose.transpose_dge",
            "16 rows and whole columns of 2 bytes, in the language's words",
        ),
        gate(
            "BIR177 BIR178",
            "columns must be consecutive. Last dimension step should be 1 but it is ",
            "DmaTranspose.transposed_patterns",
        ),
        gate(
            "BIR179",
            _DGE + "dst rows must be consecutive. Partition dimension step should be ",
            "DmaTranspose.transposed_patterns",
        ),
        gate(
            "BIR180",
            _DGE + "dst tile starting address must be a multiple of 32, but it is ",
            "DmaTranspose.transposed_patterns",
        ),
        out("BIR206", _DGE + "dst start partition must be ...", Outside.UNKNOWN),
        gate("BIR500", "", "DmaIndirectTranspose.transpose_dge", "swdge only"),
        gate(
            "BIR501",
            "Transpose with DynamicAP only on Pool",
            "DMACopyGatherTransposeOp.gather_engine",
        ),
        out("BIR503", _DYNAMIC + "source tensor address", Outside.BACK_END),
        gate(
            "BIR504 BIR505 BIR506 BIR507 BIR518 BIR520",
            "",
            "DmaIndirectTranspose.gather_operands",
            "the index: type, memory, multiples of 16, one a row",
        ),
        out("BIR508", "", Outside.BACK_END, "alignment of the index"),
        gate(
            "BIR510",
            _DYNAMIC + "only supports TransposeOps::XZYW, but it is TransposeOps::",
            "DMACopyGatherTransposeOp.axes_per_rank",
        ),
        out(
            "BIR514 BIR515",
            "dimension 1 or 2 should be padding (Num=1), but neither is",
            Outside.FORM,
            "the language gathers rank 3",
        ),
        gate("BIR521", "", "DmaTranspose.permuted_shape", "outer dimensions swap"),
        gate(
            "BIR519",
            "DMA transpose with a vector of dynamic offsets is not supported on trn1",
            "DmaIndirectTranspose.gather_arch",
        ),
        out("BIR233", "TransposeDMA with dynamic offset cannot ...", Outside.PASS),
        out("EDVR001", "Transpose DMA with dynamic offset cannot ...", Outside.OPTION),
    ),
    "Blocks, queues, semaphores (9.8)": (
        out("ALS010 ALS011 ALS012 ALS013", "", Outside.BACK_END, "semaphores"),
        out("XCG001 XCG002 XCG003", "DMA block must have sync info", Outside.BACK_END),
        gate(
            "SQI001",
            "Expect only Spill/Reload queues are used in loop body, but found ",
            "SwitchQueueInstanceOp.queue_instance",
        ),
        gate(
            "SQI002 SQI003 SQI004",
            "SQI switches to a queue that does not exist",
            "SwitchQueueInstanceOp.queue_instance",
        ),
        gate(
            "SQI005 SQI006 SQI007",
            "RQI switches to a queue that does not exist",
            "ResetQueueInstanceOp.queue_instance",
        ),
        out("OQS007", "", Outside.OPTION, "modular flow"),
        gate("OQS010", "", "QueueOp.distinct_instances", "an instance once"),
        out("OQS011", "", Outside.FORM, "an SQI has no operands"),
        out("XCG812 XCG910 XCG929", "queue name too long", Outside.BACK_END),
        out("XCG991 XCG992", "rearm of the active instance", Outside.BACK_END),
        out("LNK022", "Queue '{queue}' does not exist in linked module", Outside.PASS),
        gate(
            "",
            "DMA instruction must read and write same number of elements",
            "DmaInstruction.equal_counts",
        ),
        out("", "DGE fastest moving dim must be continuous", Outside.BACK_END),
    ),
}
