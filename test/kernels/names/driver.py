"""
Kernels of one row each, in all the variants that it has, at every level.

A variant is a shape with views of operands and results, a mask, or a loop. Results are
parts of storages that hold something before: what a row does not write keeps its bits.
"""

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import settings
from kernels.names.calls import (
    HEIGHT,
    TILE,
    column_rule,
    columns_loop,
    destination,
    row_rule,
    rows_loop,
    values,
)
from kernels.names.masks import MASKS, Clip
from kernels.names.rows import COUPLED, Operand, Row, Shape, same
from kernels.names.seen import PLAIN, VIEWS, Seen
from oracle.numbers import STORAGE, Array, Near, Result, differing

import xdsl_neuron.nki as nki
import xdsl_neuron.nki.functional as functional
from xdsl_neuron.diagnostics import DiagnosticError
from xdsl_neuron.machine import prepare
from xdsl_neuron.nki.roster import isa_names, language_names
from xdsl_neuron.passes.levels import LEVELS, lowered
from xdsl_neuron.testing import assert_levels_agree
from xdsl_neuron.tracer.errors import NKIError


@dataclass(frozen=True)
class Variant:
    """One kernel of a row."""

    name: str
    shape: Shape
    reads: Seen = PLAIN
    writes: Seen = PLAIN
    mask: Clip | None = None
    loop: str = ""

    @property
    def id(self) -> str:
        return f"{self.name} {'x'.join(map(str, self.shape))}"


ALL = settings().max_examples >= 1000
"""`--hypothesis-profile=long` runs every variant, and reads every row back."""
READ_BACK = ("mask box", "writes corner")
"""Variants that are also run from the text of each level, and after generic passes."""

ROW_LOOPS = ("affine_range", "sequential_range", "range")


def variants(row: Row, generation: str) -> Iterator[Variant]:
    """What is run of a row in one generation."""
    for shape in row.shapes:
        yield Variant("shape", shape)
    turn = zlib.crc32(row.id.encode())
    views = [v for v in VIEWS[1:] if generation in v.generations]
    for at, seen in enumerate(views):
        shape = row.shapes[(turn + at) % len(row.shapes)]
        fitting = [s for s in (shape, *row.shapes) if seen.fits(s)]
        if not fitting:
            continue
        yield Variant(f"reads {seen.name}", fitting[0], reads=seen)
        if seen.writes:
            yield Variant(f"writes {seen.name}", fitting[-1], writes=seen)
    if generation != "functional" or not _has_mask(row.name):
        return
    for at, mask in enumerate(MASKS):
        shapes = row.masked or row.shapes
        shape = shapes[(turn + at) % len(shapes)]
        seen = views[(turn + at) % len(views)]
        seen = seen if seen.writes and seen.fits(shape) else PLAIN
        yield Variant(f"mask {mask.name}", shape, writes=seen, mask=mask)
    for kind in ROW_LOOPS:
        yield Variant(f"rows of a loop {kind}", (HEIGHT, row.width), loop=kind)
    if row.folds or any(out.shape is not same for out in row.outs):
        return
    for kind in ROW_LOOPS[:2]:
        yield Variant(f"columns of a loop {kind}", (7, HEIGHT), loop=kind)


def _has_mask(name: str) -> bool:
    """Whether the name is documented with a mask."""
    module, name = name.split(".")
    names = isa_names() if module == "nisa" else language_names()
    return "mask" in (names[name, "0.1"].parameters or ())


def is_drawn(row: Row, variant: Variant) -> bool:
    """
    Whether a variant is run: of rows alike but for a name, a third of the variants.

    Every shape is run as it is; `--hypothesis-profile=long` runs all of it.
    """
    turn = zlib.crc32(f"{row.id} {variant.id}".encode())
    return ALL or row.thorough or variant.name == "shape" or turn % 3 == 0


def reads_back(row: Row, variant: Variant) -> bool:
    """Whether a kernel is also run from text: of rows alike but for a name, a third."""
    if variant.name not in READ_BACK:
        return False
    turn = zlib.crc32(f"{row.id} {variant.name}".encode())
    return row.thorough or ALL or turn % 3 == 0


def check(row: Row, generation: str) -> list[str]:
    """What is wrong with a row in a generation; empty where nothing is."""
    found: list[str] = []
    for variant in variants(row, generation):
        if any(key in variant.id for key in row.without):
            continue
        if not is_drawn(row, variant):
            continue
        problem = check_variant(row, generation, variant)
        if problem:
            found.append(f"{row.id} {generation} {variant.id}: {problem}")
    return found


def check_variant(row: Row, generation: str, variant: Variant) -> str:
    """What is wrong with one kernel, or nothing."""
    literal = next((row.refused[k] for k in row.refused if k in variant.id), None)
    case = Case(row, variant)
    try:
        case.run(generation)
    except (NKIError, DiagnosticError) as error:
        if literal is None:
            return f"refused: {error}"
        if literal not in str(error):
            return f"refused with {error}, expected {literal!r}"
        placed = isinstance(error, DiagnosticError) or error.location is not None
        return "" if placed else "refused without a line"
    except AssertionError as error:
        return str(error)
    # Along an axis of one element a mask bounds the other one by itself.
    if literal is None or (literal == COUPLED and 1 in variant.shape):
        return ""
    return f"is accepted, expected {literal!r}"


class Case:
    """The arrays of a kernel, the kernel, and what it must return."""

    def __init__(self, row: Row, variant: Variant) -> None:
        self.row, self.variant = row, variant
        self.random = np.random.default_rng(zlib.crc32(variant.id.encode()))
        self.shape = variant.shape
        self.reads = [self._seen(o, variant.reads) for o in row.operands]
        self.writes = [self._seen(o, variant.writes) for o in row.outs]
        pairs = zip(
            (*row.operands, *row.outs), (*self.reads, *self.writes), strict=True
        )
        self.arrays = [self._storage(operand, seen) for operand, seen in pairs]

    def _seen(self, operand: Operand, seen: Seen) -> Seen:
        shape = operand.shape(self.shape)
        fits = seen.fits(shape) and seen.name not in operand.never
        return seen if fits and not self.variant.loop else PLAIN

    def _storage(self, operand: Operand, seen: Seen) -> Array:
        shape = operand.shape(self.shape)
        if seen.bits:
            found = operand.draw(self.random, shape, operand.dtype)
            return np.ascontiguousarray(found).view(np.uint8)
        return operand.draw(self.random, seen.storage(shape), operand.dtype)

    def _array(self, at: int, storage: Array) -> Array:
        """The operand's elements in its storage."""
        operand = (*self.row.operands, *self.row.outs)[at]
        seen = (*self.reads, *self.writes)[at]
        if seen.bits:
            storage = storage.view(STORAGE[operand.dtype])
        return seen.array(storage, operand.shape(self.shape))

    def tile(self, at: int, tile: Any) -> Any:
        """The operand in the tile of its storage."""
        operand = (*self.row.operands, *self.row.outs)[at]
        seen = (*self.reads, *self.writes)[at]
        if seen.bits:
            tile = tile.view(dtype_of(operand))
        return seen.tile(tile, operand.shape(self.shape))

    # -- running ---------------------------------------------------------------------

    def run(self, generation: str) -> None:
        """The kernel at all levels against NumPy."""
        row, variant = self.row, self.variant
        if generation == "destination":
            kernel = nki.jit(destination(self), platform_target=row.target)
        else:
            made = {"": values, "r": rows_loop, "c": columns_loop}
            key = variant.name[0] if variant.loop else ""
            kernel = functional.jit(made[key](self), platform_target=row.target)
        module = kernel.trace(*self.arrays)
        below = module
        for level in LEVELS:
            below = lowered(below, level)
            self._compare(level, below)
        if reads_back(row, variant):
            assert_levels_agree(module, self.arrays)

    def _compare(self, level: str, module: Any) -> None:
        program = prepare(module)
        outputs = program.run([array.copy() for array in self.arrays])
        for at, (output, expected) in enumerate(
            zip(outputs, self.expected(), strict=True)
        ):
            before, places, want, dtype = expected
            got = output.reshape(-1)
            chosen = places.reshape(-1)
            if self.writes[at].bits:
                got, before = got.view(STORAGE[dtype]), before.view(STORAGE[dtype])
            wrong = differing(got[chosen], want, dtype)
            if wrong.any():
                values = getattr(want, "stored", getattr(want, "values", None))
                raise AssertionError(
                    f"{level}: {wrong.sum()} of {wrong.size} elements of result {at} "
                    f"differ: got {got[chosen][wrong][:6]}, expected "
                    f"{np.asarray(values).reshape(-1)[wrong][:6]}"
                )
            kept = np.ones(got.shape, bool)
            kept[chosen] = False
            word = f"u{got.itemsize}"
            same = got.view(word) == before.reshape(-1).view(word)
            if not (same | ~kept).all():
                raise AssertionError(f"{level}: result {at} changed elsewhere")

    def expected(self) -> Iterator[tuple[Array, Array, Result | Near, str]]:
        """Of each result: the storage, the places that are written, what with."""
        count = len(self.row.operands)
        arrays = [self._array(at, a) for at, a in enumerate(self.arrays)]
        where = self.where()
        results = self.row.wanted(arrays[:count], arrays[count:], where)
        masked = self.variant.mask is not None or bool(self.variant.loop)
        written = self.row.kept_of(where) if masked else [np.array(True)] * len(results)
        for at, (result, kept) in enumerate(zip(results, written, strict=True)):
            out, storage = self.row.outs[at], self.arrays[count + at]
            seen = storage.view(STORAGE[out.dtype]) if self.writes[at].bits else storage
            numbers = np.arange(seen.size).reshape(seen.shape)
            places = self.writes[at].array(numbers, out.shape(self.shape))
            mask = np.broadcast_to(kept.reshape(_fit(kept, places.shape)), places.shape)
            yield storage, places[mask], _chosen(result, places.shape, mask), out.dtype

    def where(self) -> Array:
        """Where the mask of the variant holds."""
        shape = self.row.lanes(self.shape)
        if self.variant.mask is not None:
            return self.variant.mask.where(shape)
        if self.variant.loop:
            rows, columns = np.ogrid[tuple(slice(0, n) for n in shape)][:2]
            if self.variant.name.startswith("rows"):
                found = row_rule(rows % TILE, rows // TILE)
            else:
                found = column_rule(rows, columns % TILE, columns // TILE)
            return np.broadcast_to(found, shape)
        return np.ones(shape, bool)


def _fit(kept: Array, shape: Shape) -> Shape:
    """Dimensions of 1 for those a result has besides."""
    if not kept.ndim:
        return ()
    if kept.ndim == len(shape) or kept.size == int(np.prod(shape)):
        return shape if kept.size == int(np.prod(shape)) else kept.shape
    return (*kept.shape, *(1,) * (len(shape) - kept.ndim))


def _chosen(result: Result | Near, shape: Shape, mask: Array) -> Result | Near:
    if isinstance(result, Near):
        error = np.broadcast_to(_as(np.asarray(result.error, float), shape), shape)
        return Near(np.asarray(result.values).reshape(shape)[mask], error[mask])
    return Result(np.broadcast_to(_as(result.stored, shape), shape)[mask], result.how)


def _as(array: Array, shape: Shape) -> Array:
    return array.reshape(shape) if array.size == int(np.prod(shape)) else array


def dtype_of(operand: Operand) -> Any:
    """The type's name, as both languages have it."""
    return STORAGE[operand.dtype]


__all__ = ["Case", "Variant", "check", "check_variant", "reads_back", "variants"]
