"""
Collectives: what the ranks of a group do together (bir.md 6.13, 7.5).

Every rank runs the same instruction; `replica_groups` lists the ranks of each group.
"""

from math import prod
from typing import ClassVar

from xdsl.dialects.builtin import DenseArrayBase, IndexType, IntegerAttr, UnitAttr, i64
from xdsl.irdl import (
    AttrSizedOperandSegments,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
)
from xdsl.utils.exceptions import VerifyException

from xdsl_neuron.dialects.effects import WORLD, StateEffect
from xdsl_neuron.dialects.gate import Stage, gate
from xdsl_neuron.dialects.instruction import Instruction, target_of
from xdsl_neuron.dialects.neuron import AluOpAttr, QosClassAttr, TensorType
from xdsl_neuron.dialects.neuron.system import (
    CollectiveDimensionAttr,
    CollectiveKindAttr,
    CollectiveTypeHintAttr,
    GroupsAttr,
    UniqueTensorsAttr,
)
from xdsl_neuron.dialects.operand import Operand
from xdsl_neuron.dtypes import DType
from xdsl_neuron.isa import AluOp, QosClass, Space
from xdsl_neuron.system import (
    CollectiveDimension,
    CollectiveKind,
    CollectiveTypeHint,
    UniqueTensors,
)

_REDUCTIONS = (AluOp.ADD, AluOp.MAX, AluOp.MIN)
VARIABLE = ("metadata", "counts", "displacements")
"""Operands of sizes that are known only while running."""
PEERS = (CollectiveKind.SEND_RECV, CollectiveKind.SEND_RECV_CCE)


class _Collective(Instruction):
    def state_effects(self) -> tuple[StateEffect, ...]:
        """Others take part."""
        return (WORLD,)

    @gate("a collective has no mask", "bir.md 6.13", "our choice")
    def unmasked(self) -> None:
        """All of an operand takes part."""
        if self.masks():
            raise VerifyException("a collective has no mask")

    def check_memory(self, operand: Operand) -> None:
        """HBM or SBUF; a tile with contiguous partitions."""
        if operand.space is Space.PSUM:
            raise VerifyException(
                f"a collective reaches hbm and sbuf, but '{operand.name}' is {operand}"
            )
        if operand.space is Space.SBUF and operand.access.pairs[0][0] not in (0, 1):
            raise VerifyException(
                f"partitions of '{operand.name}' must be contiguous, got step "
                f"{operand.access.pairs[0][0]}"
            )


class CollectiveCompute(_Collective):
    """
    A reduction or exchange of the ranks of each group.

        penguin.collective_compute AllReduce %b <- %a {op = add}
    """

    HEADER: ClassVar = ("kind",)
    OUTS: ClassVar = ("dst", "scratch", "counts")
    INS: ClassVar = ("src", "metadata", "displacements")
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    dst = operand_def(TensorType)
    scratch = opt_operand_def(TensorType)
    counts = opt_operand_def(TensorType)
    """What AllToAllV received of each rank, in elements."""
    src = operand_def(TensorType)
    metadata = opt_operand_def(TensorType)
    """AllToAllV: a row of counts to send to each rank, and one of where they start."""
    displacements = opt_operand_def(TensorType)
    """AllToAllV: where what each rank sends starts in `dst`; else evenly spaced."""
    kind = prop_def(CollectiveKindAttr)
    op = opt_prop_def(AluOpAttr)
    replica_groups = prop_def(GroupsAttr, default_value=GroupsAttr(()))
    src_target_pairs = prop_def(GroupsAttr, default_value=GroupsAttr(()))
    cc_dim = prop_def(
        CollectiveDimensionAttr,
        default_value=CollectiveDimensionAttr(CollectiveDimension.FREE),
    )
    cc_type_hint = prop_def(
        CollectiveTypeHintAttr,
        default_value=CollectiveTypeHintAttr(CollectiveTypeHint.NONE),
    )
    stream_id = prop_def(IntegerAttr, default_value=IntegerAttr(0, i64))
    can_read_uninit = opt_prop_def(UnitAttr)
    is_local = opt_prop_def(UnitAttr)
    pipe_id = opt_prop_def(IntegerAttr)
    recv_from_rank = prop_def(
        DenseArrayBase.constr(i64), default_value=DenseArrayBase.from_list(i64, [])
    )
    send_to_rank = prop_def(
        DenseArrayBase.constr(i64), default_value=DenseArrayBase.from_list(i64, [])
    )
    initial_corebarrier = opt_prop_def(UnitAttr)
    permute_chain = prop_def(
        DenseArrayBase.constr(i64), default_value=DenseArrayBase.from_list(i64, [])
    )
    src1_bitmap = opt_prop_def(IntegerAttr)
    unique_tensors = prop_def(
        UniqueTensorsAttr, default_value=UniqueTensorsAttr(UniqueTensors.UNKNOWN)
    )
    use_gpsimd_dma = opt_prop_def(UnitAttr)
    dma_qos = prop_def(QosClassAttr, default_value=QosClassAttr(QosClass.UNASSIGNED))

    @property
    def group_size(self) -> int | None:
        """Ranks of a group; None where no group is given: all ranks are one."""
        groups = self.replica_groups.data
        return len(groups[0]) if groups else None

    @gate("arch > sunda", "bir.md 7.5 codes 371, 319", stage=Stage.ARCH)
    def collective_arch(self) -> None:
        """From the third generation on."""
        arch = target_of(self)
        if arch is not None and arch.level <= 20:
            raise VerifyException(
                f"curArchLevel > sunda: CollectiveCompute needs level 30, {arch.name} "
                f"is {arch.level}"
            )

    @gate("reduce op add/max/min only; reducing kinds need op", "bir.md 1.19, 6.13")
    def reduction(self) -> None:
        """A reducing kind has one of three operations, another has none."""
        kind = self.kind.data
        op = None if self.op is None else self.op.data
        if kind.reduces and op is None:
            raise VerifyException(f"{kind} needs an op: add, max or min")
        if op is None:
            return
        if not kind.reduces and kind is not CollectiveKind.SEND_RECV_CCE:
            raise VerifyException(f"{kind} reduces nothing, but has op {op}")
        if op not in _REDUCTIONS:
            raise VerifyException(f"a collective reduces by add, max or min, got {op}")

    @gate("replica groups of one size, every rank once", "bir.md 1.19", "inferred")
    def groups(self) -> None:
        """Groups are alike and do not overlap."""
        groups = self.replica_groups.data
        ranks = [rank for group in groups for rank in group]
        if len({len(group) for group in groups}) > 1 or any(not g for g in groups):
            raise VerifyException(f"replica groups differ in size: {list(groups)}")
        if len(set(ranks)) != len(ranks) or any(rank < 0 for rank in ranks):
            raise VerifyException(f"replica groups have a rank twice: {list(groups)}")
        if any(len(pair) != 2 for pair in self.src_target_pairs.data):
            raise VerifyException("src_target_pairs has [source, target] pairs")

    @gate("one output, or two with SB scratchpad", "bir.md 7.5 code 318")
    def scratchpad(self) -> None:
        """The second output is in SBUF."""
        scratch = self.data().get("scratch")
        if scratch is not None and scratch.space is not Space.SBUF:
            raise VerifyException(
                f"a second output is a scratchpad in sbuf, got {scratch}"
            )

    @gate("partition contiguous | located in SB", "bir.md 7.5 codes 312, 313")
    def memory(self) -> None:
        """HBM, or tiles; a local collective works on tiles."""
        for operand in self.data().values():
            self.check_memory(operand)
            if self.is_local is not None and operand.space is not Space.SBUF:
                raise VerifyException(
                    f"a local collective is located in sbuf, but '{operand.name}' is "
                    f"{operand}"
                )

    @gate(
        "Illegal src/dst ratio for AllGather: in= | Illegal src/dst ratio for "
        "ReduceScatter: in=",
        "bir.md 7.5",
    )
    def ratio(self) -> None:
        """
        Elements of both sides, in the ratio of the kind.

        How many ranks there are is known when they run: without a group any whole
        ratio may be that of all of them.
        """
        problem = self.ratio_error(self.group_size)
        if problem is not None:
            raise VerifyException(problem)

    def ratio_error(self, ranks: int | None) -> str | None:
        """Why so many ranks (None: it is not known) cannot take part, else None."""
        data = self.data()
        source, target = prod(data["src"].shape), prod(data["dst"].shape)
        kind = self.kind.data
        if kind is CollectiveKind.ALL_GATHER:
            wrong = source * (ranks or target // source or 1) != target
        elif kind is CollectiveKind.REDUCE_SCATTER:
            wrong = source != target * (ranks or source // target or 1)
        elif kind is CollectiveKind.ALL_TO_ALL_V or kind in PEERS:
            return None
        else:
            wrong = source != target
        if not wrong:
            return None
        given = "a whole number of" if ranks is None else str(ranks)
        return (
            f"Illegal src/dst ratio for {kind}: in={source}, out={target}, {given} "
            "ranks per group"
        )

    @gate("equal in/out types", "bir.md 7.5 code 75")
    def types(self) -> None:
        """Elements are not cast."""
        data = self.data()
        dst, src = data["dst"].dtype, data["src"].dtype
        if dst is not src:
            raise VerifyException(
                f"a collective does not cast: src is {src.bir_name}, dst {dst.bir_name}"
            )

    @gate("arguments == recv ranks", "bir.md 7.5 code 74")
    def peers(self) -> None:
        """SendRecv sends to and receives from as many ranks as it has operands."""
        if self.kind.data not in PEERS:
            return
        for name, ranks in (
            ("recv_from_rank", self.recv_from_rank),
            ("send_to_rank", self.send_to_rank),
        ):
            if len(ranks.get_values()) != 1:
                raise VerifyException(
                    f"{self.kind.data} has 1 argument, but {len(ranks.get_values())} "
                    f"ranks in {name}"
                )

    @gate(
        "AllToAllV metadata input must be uint32, got | AllToAllV requires at least "
        "one data input and one metadata input, got",
        "bir.md 7.5",
    )
    def all_to_all_v(self) -> None:
        """AllToAllV has counts in a second input."""
        given = [o for name, o in self.data().items() if name in VARIABLE]
        if self.kind.data is not CollectiveKind.ALL_TO_ALL_V:
            if given:
                raise VerifyException(f"{self.kind.data} has no {given[0].name}")
            return
        if not any(operand.name == "metadata" for operand in given):
            raise VerifyException(
                "AllToAllV requires at least one data input and one metadata input, "
                "got 1"
            )
        for operand in given:
            if operand.dtype is not DType.UINT32:
                raise VerifyException(
                    f"AllToAllV {operand.name} input must be uint32, got "
                    f"{operand.dtype.bir_name}"
                )

    @gate("one column of metadata for each rank", "nki.md 1.3", "inferred")
    def metadata_columns(self) -> None:
        """Two rows of metadata, one of counts and of displacements."""
        ranks = self.group_size
        if self.kind.data is not CollectiveKind.ALL_TO_ALL_V or ranks is None:
            return
        for name, operand in self.data().items():
            if name not in VARIABLE:
                continue
            rows = 2 if name == "metadata" else 1
            if prod(operand.shape) != rows * ranks:
                raise VerifyException(
                    f"'{name}' has {rows} row(s) of a number for each of {ranks} "
                    f"ranks, got {operand}"
                )


class CollectiveSend(_Collective):
    """Sends a tensor to a rank."""

    INS: ClassVar = ("src",)

    src = operand_def(TensorType)
    peer_id = prop_def(IntegerAttr)
    can_read_uninit = opt_prop_def(UnitAttr)

    @gate("peer_id", "bir.md 6.13", "inferred")
    def peer(self) -> None:
        """A rank, and memory a collective reaches."""
        _check_peer(self, self.peer_id, "src")


class CollectiveRecv(_Collective):
    """Receives a tensor from a rank."""

    OUTS: ClassVar = ("dst",)

    dst = operand_def(TensorType)
    peer_id = prop_def(IntegerAttr)

    @gate("peer_id", "bir.md 6.13", "inferred")
    def peer(self) -> None:
        """A rank, and memory a collective reaches."""
        _check_peer(self, self.peer_id, "dst")


def _check_peer(operation: _Collective, peer: IntegerAttr, name: str) -> None:
    if peer.value.data < 0:
        raise VerifyException(f"'peer_id' is a rank, got {peer.value.data}")
    operation.check_memory(operation.data()[name])


class GlobalRankId(Instruction):
    """The number of this rank, in a register."""

    RESULTS: ClassVar = (IndexType(),)

    world_size = prop_def(IntegerAttr)
    result = result_def(IndexType)

    @gate("world_size", "bir.md 4.5", "inferred")
    def world(self) -> None:
        """There is at least this rank."""
        if self.world_size.value.data < 1:
            raise VerifyException(
                f"'world_size' must be positive, got {self.world_size.value.data}"
            )


class ProcessingRankId(Instruction):
    """The rank whose data a step of a collective delivers, in a register."""

    RESULTS: ClassVar = (IndexType(),)

    iter_id = prop_def(IntegerAttr)
    channel_id = prop_def(IntegerAttr)
    stream_id = prop_def(IntegerAttr, default_value=IntegerAttr(0, i64))
    replica_groups = prop_def(GroupsAttr)
    result = result_def(IndexType)

    @gate("iter_id, channel_id, replica_groups", "bir.md 4.5", "inferred")
    def step(self) -> None:
        """Numbers that are not negative, and at least one group."""
        for name in ("iter_id", "channel_id", "stream_id"):
            value = self.properties[name]
            if isinstance(value, IntegerAttr) and value.value.data < 0:
                raise VerifyException(f"'{name}' is negative: {value.value.data}")
        if not self.replica_groups.data:
            raise VerifyException("'replica_groups' is empty")
