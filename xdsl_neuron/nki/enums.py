"""The enumerations of `nki.isa` and the memory regions of `nki.language`."""

from enum import Enum
from typing import Final

from xdsl_neuron.isa import DgeType, Engine, MatmulPerfMode, OobMode, Space
from xdsl_neuron.tracer.context import current_or_none
from xdsl_neuron.tracer.errors import NKITypeError, NKIValueError
from xdsl_neuron.tracer.release_warnings import warn_of_release


class engine(Enum):
    """Compute engines (penguin.md 2.1); `unknown` leaves the choice to the compiler."""

    unknown = 0
    tensor = 1
    scalar = 2
    gpsimd = 3
    dma = 4
    vector = 5
    sync = 6


class reduce_cmd(Enum):
    """What an instruction does with its engine's accumulators."""

    idle = 0
    reset = 1
    reduce = 2
    reset_reduce = 3
    load_reduce = 4


class oob_mode(Enum):
    """What an out-of-bounds index of an indirect DMA does."""

    error = 0
    skip = 1


class dge_mode(Enum):
    """Who builds a DMA's descriptors."""

    unknown = 0
    swdge = 1
    hwdge = 2
    none = 3


class dma_engine(Enum):
    """What moves the tiles of a `sendrecv`."""

    dma = 1
    gpsimd_dma = 2


class matmul_perf_mode(Enum):
    """Modes of the tensor engine."""

    none = 0
    double_row = 1
    double_row_gen3 = 2


class nc_version(Enum):
    """Generations of the NeuronCore, ordered."""

    gen2 = 2
    gen3 = 3
    gen4 = 4

    def __lt__(self, other: "nc_version") -> bool:
        return self.value < other.value

    def __le__(self, other: "nc_version") -> bool:
        return self.value <= other.value

    def __gt__(self, other: "nc_version") -> bool:
        return self.value > other.value

    def __ge__(self, other: "nc_version") -> bool:
        return self.value >= other.value


class MemoryRegion(Enum):
    """Where `nl.ndarray` puts a tensor."""

    sbuf = "sbuf"
    psum = "psum"
    hbm = "hbm"
    private_hbm = "private_hbm"
    shared_hbm = "shared_hbm"

    @property
    def space(self) -> Space:
        """The memory space."""
        return _SPACES.get(self, Space.HBM)


_SPACES: Final = {MemoryRegion.sbuf: Space.SBUF, MemoryRegion.psum: Space.PSUM}
REGION_OF: Final = {
    Space.SBUF: MemoryRegion.sbuf,
    Space.PSUM: MemoryRegion.psum,
    Space.HBM: MemoryRegion.hbm,
}

_ENGINES: Final = {
    engine.unknown: Engine.UNASSIGNED,
    engine.tensor: Engine.PE,
    engine.scalar: Engine.ACTIVATION,
    engine.gpsimd: Engine.POOL,
    engine.dma: Engine.DMA,
    engine.vector: Engine.DVE,
    engine.sync: Engine.SP,
}
_DGE: Final = {
    dge_mode.unknown: DgeType.UNASSIGNED,
    dge_mode.swdge: DgeType.SWDGE,
    dge_mode.hwdge: DgeType.HWDGE,
    dge_mode.none: DgeType.NONE,
}
_PERF_MODES: Final = {
    matmul_perf_mode.none: MatmulPerfMode.NONE,
    # One instruction: gen3's form has the 2 as the first free dimension.
    matmul_perf_mode.double_row: MatmulPerfMode.DOUBLE_ROW,
    matmul_perf_mode.double_row_gen3: MatmulPerfMode.DOUBLE_ROW,
}
_OOB: Final = {oob_mode.error: OobMode.ERROR, oob_mode.skip: OobMode.SKIP}


def _member(value: object, kind: type[Enum], what: str) -> Enum:
    """
    The member a value is; generation 0.1 takes its name and its number too.

    Releases from 0.3 on take neither (NKI 0.3.0 Update Guide, release 2.29); a number
    is a warning, kernels of that time still have them.
    """
    if isinstance(value, kind):
        return value
    for member in kind if isinstance(value, str | int) else ():
        if value in (member.name, member.value) and not isinstance(value, bool):
            trace = current_or_none()
            if trace is None or trace.masks_allowed:
                return member
            owner = "nl" if kind is MemoryRegion else f"nisa.{kind.__name__}"
            message = (
                f"`{what}` is {value!r}: from release 0.3 on a name or a number stands "
                f"for no member; use {owner}.{member.name}"
            )
            if isinstance(value, str):
                raise NKITypeError(message)
            warn_of_release(message)
            return member
    names = ", ".join(f"{kind.__name__}.{member.name}" for member in kind)
    error = NKIValueError if isinstance(value, str | int) else NKITypeError
    raise error(f"`{what}` is {value!r}, expected one of {names}")


def as_engine(value: object) -> Engine:
    """An `nisa.engine` as the instruction set's engine."""
    return _ENGINES[engine(_member(value, engine, "engine"))]


def as_dge(value: object) -> DgeType:
    """An `nisa.dge_mode` as the instruction set's."""
    return _DGE[dge_mode(_member(value, dge_mode, "dge_mode"))]


def as_oob(value: object) -> OobMode:
    """An `nisa.oob_mode` as the instruction set's."""
    return _OOB[oob_mode(_member(value, oob_mode, "oob_mode"))]


def as_perf_mode(value: object) -> MatmulPerfMode:
    """An `nisa.matmul_perf_mode` as the instruction set's; None is none."""
    if value is None:
        return MatmulPerfMode.NONE
    return _PERF_MODES[matmul_perf_mode(_member(value, matmul_perf_mode, "perf_mode"))]


def as_dma_engine(value: object) -> dma_engine:
    """An `nisa.dma_engine`."""
    return dma_engine(_member(value, dma_engine, "dma_engine"))


def as_reduce_cmd(value: object) -> reduce_cmd:
    """An `nisa.reduce_cmd`."""
    return reduce_cmd(_member(value, reduce_cmd, "reduce_cmd"))


def as_region(value: object) -> MemoryRegion:
    """A memory region; None is SBUF (nki.md 1.3 `ndarray`)."""
    if value is None:
        return MemoryRegion.sbuf
    return MemoryRegion(_member(value, MemoryRegion, "buffer"))
