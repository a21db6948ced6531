"""
Random small kernels in both generations of NKI: NumPy and every level.

    python test/random_nki.py --count 2000 [--first 0]

A kernel is drawn as steps on values of some columns, written out as Python text for
each generation, and stated in NumPy. Numbers are small integers, so that sums are
exact and every comparison is of bits.
"""

import argparse
import linecache
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from math import ceil
from pathlib import Path
from random import Random
from typing import Any, Final

import numpy as np
import numpy.typing as npt

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))

from movement_reference import cast
from random_kernels import FAILURES
from random_steps import NUMPY

from xdsl_neuron.dtypes import DType
from xdsl_neuron.testing import assert_kernel_ok

Array = npt.NDArray[Any]

FLOATS: Final = (DType.FLOAT32, DType.FLOAT32, DType.BFLOAT16, DType.FLOAT16)
BINARY: Final[dict[str, Callable[[Array, Array], Array]]] = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "greater": np.greater,
    "less_equal": np.less_equal,
    "equal": np.equal,
}
UNARY: Final[dict[str, Callable[[Array], Array]]] = {
    "relu": lambda x: np.maximum(x, 0),
    "square": np.square,
    "abs": np.abs,
    "copy": lambda x: x,
}
REDUCTIONS: Final = {"add": np.add, "maximum": np.maximum, "minimum": np.minimum}


@dataclass(frozen=True)
class Value:
    """A value of the kernel: `name` has `width` columns of `dtype`."""

    name: str
    width: int
    dtype: DType


@dataclass
class Kernel:
    """A kernel in each generation, and what it returns."""

    height: int
    rows: int
    functional: list[str] = field(default_factory=list[str])
    destination: list[str] = field(default_factory=list[str])
    inputs: list[Array] = field(default_factory=list[Array])
    outputs: list[Value] = field(default_factory=list[Value])
    arrays: dict[str, Array] = field(default_factory=dict[str, Array])

    @property
    def tiles(self) -> int:
        """Tiles of `rows` rows; the last one may be ragged."""
        return ceil(self.height / self.rows)

    def expected(self) -> list[Array]:
        """The outputs."""
        return [self.arrays[value.name] for value in self.outputs]

    def source(self, generation: str) -> str:
        """The kernel's text."""
        names = ", ".join(f"a{k}" for k in range(len(self.inputs)))
        outs = [
            f"    out_{v.name} = nl.ndarray(({self.height}, {v.width}), "
            f"nl.{v.dtype.nki_name}, buffer=nl.shared_hbm)"
            for v in self.outputs
        ]
        returned = ", ".join(f"out_{v.name}" for v in self.outputs)
        if generation == "functional":
            head = [
                f"    p = nl.arange({self.rows})[:, None]",
                f"    for t in nl.affine_range({self.tiles}):",
                f"        row = t * {self.rows} + p",
                f"        inside = row < {self.height}",
            ]
            steps = self.functional + [
                f"nl.store(out_{v.name}[row, {span(v.width)}], {v.name}, mask=inside)"
                for v in self.outputs
            ]
        else:
            head = [
                f"    for first in range(0, {self.height}, {self.rows}):",
                f"        rows = min({self.rows}, {self.height} - first)",
                "        part = slice(first, first + rows)",
            ]
            steps = self.destination + [
                f"nisa.dma_copy(dst=out_{v.name}[part, :], src={v.name})"
                for v in self.outputs
            ]
        body = [f"        {step}" for step in steps]
        lines = [f"def kernel({names}):", *outs, *head, *body, f"    return {returned}"]
        return "\n".join(lines) + "\n"


def span(width: int, start: int = 0, step: int = 1) -> str:
    """An index tensor over columns."""
    index = f"nl.arange({width})[None, :]"
    index = index if step == 1 else f"{index} * {step}"
    return f"{start} + {index}" if start else index


class Drawer:
    """Draws a kernel from a source of randomness."""

    def __init__(self, random: Random) -> None:
        self.random = random
        rows = random.choice((1, 7, 32, 64, 128))
        tiles = random.choice((1, 1, 2, 3))
        height = rows * tiles - random.choice((0, 0, random.randrange(rows)))
        self.kernel = Kernel(height, rows)
        self.values: list[Value] = []
        self.numbers = np.random.default_rng(random.randrange(1 << 30))

    def draw(self, steps: int) -> Kernel:
        """A kernel of that many steps behind the loads."""
        kinds = (
            self.binary,
            self.binary,
            self.with_number,
            self.with_column,
            self.two_numbers,
            self.unary,
            self.reduction,
            self.columns,
            self.select,
        )
        for _ in range(self.random.randint(1, 2)):
            self.load()
        for _ in range(steps):
            self.random.choice(kinds)()
        stored = self.random.sample(self.values, min(2, len(self.values)))
        if self.values[-1] not in stored:
            stored.append(self.values[-1])
        self.kernel.outputs = stored
        return self.kernel

    # -- values ----------------------------------------------------------------------

    def value(self, width: int, dtype: DType, array: Array) -> Value:
        """A new value; `array` holds what it is, in any type."""
        found = Value(f"v{len(self.values)}", width, dtype)
        self.values.append(found)
        self.kernel.arrays[found.name] = cast(array.astype(np.float32), dtype)
        return found

    def any(self) -> Value:
        """A value drawn before."""
        return self.random.choice(self.values)

    def array(self, value: Value) -> Array:
        """What a value is, in fp32, where instructions calculate."""
        return self.kernel.arrays[value.name].astype(np.float32)

    def float_type(self) -> DType:
        """The type of a result."""
        return self.random.choice(FLOATS)

    def fresh(self, value: Value) -> None:
        """The tile of a value, where the kernel makes it."""
        self.kernel.destination.append(
            f"{value.name} = nl.ndarray((rows, {value.width}), "
            f"nl.{value.dtype.nki_name}, buffer=nl.sbuf)"
        )

    def write(self, functional: str, destination: str) -> None:
        """A step in both generations."""
        self.kernel.functional.append(functional)
        self.kernel.destination.append(destination)

    def number(self) -> float:
        """A small constant."""
        return float(self.random.choice((-2, -1, 0, 0.5, 1, 2, 3)))

    def operation(self) -> str:
        """The name of a binary operation."""
        return self.random.choice(list(BINARY))

    # -- steps -----------------------------------------------------------------------

    def load(self) -> None:
        kernel = self.kernel
        width, dtype = self.random.choice((1, 2, 8, 24)), self.float_type()
        shape = (kernel.height, width)
        array = self.numbers.integers(-4, 5, shape).astype(NUMPY[dtype])
        name = f"a{len(kernel.inputs)}"
        kernel.inputs.append(array)
        value = self.value(width, dtype, array)
        self.fresh(value)
        self.write(
            f"{value.name} = nl.load({name}[row, {span(width)}], mask=inside)",
            f"nisa.dma_copy(dst={value.name}, src={name}[part, :])",
        )

    def binary(self) -> None:
        x = self.any()
        y = self.random.choice([v for v in self.values if v.width == x.width])
        op, dtype = self.operation(), self.float_type()
        found = self.value(x.width, dtype, BINARY[op](self.array(x), self.array(y)))
        self.fresh(found)
        self.write(
            f"{found.name} = nl.{op}({x.name}, {y.name}, dtype=nl.{dtype.nki_name})",
            f"nisa.tensor_tensor(dst={found.name}, data1={x.name}, data2={y.name}, "
            f"op=nl.{op})",
        )

    def with_number(self) -> None:
        x, number = self.any(), self.number()
        op, dtype = self.operation(), self.float_type()
        second = np.array(number, np.float32)
        found = self.value(x.width, dtype, BINARY[op](self.array(x), second))
        self.fresh(found)
        self.write(
            f"{found.name} = nl.{op}({x.name}, {number}, dtype=nl.{dtype.nki_name})",
            f"nisa.tensor_scalar(dst={found.name}, data={x.name}, op0=nl.{op}, "
            f"operand0={number})",
        )

    def with_column(self) -> None:
        narrow = [v for v in self.values if v.width == 1 and v.dtype is DType.FLOAT32]
        if not narrow:
            self.reduction()
            return
        x, y = self.any(), self.random.choice(narrow)
        op, dtype = self.operation(), self.float_type()
        found = self.value(x.width, dtype, BINARY[op](self.array(x), self.array(y)))
        self.fresh(found)
        self.write(
            f"{found.name} = nl.{op}({x.name}, {y.name}, dtype=nl.{dtype.nki_name})",
            f"nisa.tensor_scalar(dst={found.name}, data={x.name}, op0=nl.{op}, "
            f"operand0={y.name})",
        )

    def two_numbers(self) -> None:
        x, one, two = self.any(), self.number(), self.number()
        first, second, dtype = self.operation(), self.operation(), self.float_type()
        reverse = self.random.random() < 0.3
        left, right = self.array(x), np.array(one, np.float32)
        middle = BINARY[first](*((right, left) if reverse else (left, right)))
        last = np.array(two, np.float32)
        result = BINARY[second](middle.astype(np.float32), last)
        found = self.value(x.width, dtype, result)
        self.fresh(found)
        arguments = (
            f"data={x.name}, op0=nl.{first}, operand0={one}, reverse0={reverse}, "
            f"op1=nl.{second}, operand1={two}"
        )
        self.write(
            f"{found.name} = nisa.tensor_scalar({arguments}, "
            f"dtype=nl.{dtype.nki_name})",
            f"nisa.tensor_scalar(dst={found.name}, {arguments})",
        )

    def unary(self) -> None:
        x, op, dtype = self.any(), self.random.choice(list(UNARY)), self.float_type()
        scale = self.number() or 1.0
        result = UNARY[op](self.array(x) * np.array(scale, np.float32))
        found = self.value(x.width, dtype, result)
        self.fresh(found)
        arguments = f"op=nl.{op}, data={x.name}, scale={scale}"
        self.write(
            f"{found.name} = nisa.activation({arguments}, dtype=nl.{dtype.nki_name})",
            f"nisa.activation(dst={found.name}, {arguments})",
        )

    def reduction(self) -> None:
        x, op = self.any(), self.random.choice(list(REDUCTIONS))
        wide = REDUCTIONS[op].reduce(self.array(x), axis=1, keepdims=True)
        found = self.value(1, DType.FLOAT32, wide)
        self.fresh(found)
        arguments = f"op=nl.{op}, data={x.name}, axis=1"
        self.write(
            f"{found.name} = nisa.tensor_reduce({arguments}, dtype=nl.float32, "
            "keepdims=True)",
            f"nisa.tensor_reduce(dst={found.name}, {arguments})",
        )

    def columns(self) -> None:
        """Some columns of a value: a view, copied."""
        x = self.any()
        step = self.random.randint(1, 3)
        start = self.random.randrange(x.width)
        width = self.random.randint(1, (x.width - 1 - start) // step + 1)
        dtype = self.float_type()
        stop = start + step * (width - 1) + 1
        found = self.value(width, dtype, self.array(x)[:, start:stop:step])
        self.fresh(found)
        self.write(
            f"{found.name} = nl.copy({x.name}[p, {span(width, start, step)}], "
            f"dtype=nl.{dtype.nki_name})",
            f"nisa.tensor_copy(dst={found.name}, "
            f"src={x.name}[:, {start}:{stop}:{step}])",
        )

    def select(self) -> None:
        x = self.any()
        same = [v for v in self.values if v.width == x.width]
        y, test = self.random.choice(same), self.random.choice(same)
        dtype = DType.FLOAT32
        holds = self.array(test) > 0
        found = self.value(
            x.width, dtype, np.where(holds, self.array(x), self.array(y))
        )
        name = found.name
        self.kernel.functional += [
            f"{name}_x = nl.copy({x.name}, dtype=nl.float32)",
            f"{name}_y = nl.copy({y.name}, dtype=nl.float32)",
            f"{name} = nl.where(nl.greater({test.name}, 0.0, dtype=nl.uint8), "
            f"{name}_x, {name}_y)",
        ]
        self.fresh(found)
        shape = f"(rows, {x.width})"
        self.kernel.destination += [
            f"{name}_p = nl.ndarray({shape}, nl.uint8, buffer=nl.sbuf)",
            f"nisa.tensor_scalar(dst={name}_p, data={test.name}, op0=nl.greater, "
            "operand0=0.0)",
            f"{name}_x = nl.ndarray({shape}, nl.float32, buffer=nl.sbuf)",
            f"nisa.tensor_copy(dst={name}_x, src={x.name})",
            f"nisa.tensor_copy(dst={name}, src={y.name})",
            f"nisa.tensor_copy_predicated(dst={name}, src={name}_x, "
            f"predicate={name}_p)",
        ]


def compiled(source: str, generation: str) -> Any:
    """The kernel a text defines; its lines can be shown in messages."""
    package = "xdsl_neuron.nki" + (".functional" if generation == "functional" else "")
    scope: dict[str, Any] = {
        "nl": import_module(f"{package}.language"),
        "nisa": import_module(f"{package}.isa"),
    }
    name = f"<random {generation} kernel>"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    exec(compile(source, name, "exec"), scope)
    return import_module(package).jit(scope["kernel"])


def check_kernel(kernel: Kernel, generation: str) -> None:
    """A kernel at every level; what fails shows the kernel's text."""
    source, expected = kernel.source(generation), kernel.expected()
    try:
        assert_kernel_ok(
            compiled(source, generation),
            *kernel.inputs,
            expected=expected[0] if len(expected) == 1 else tuple(expected),
        )
    except FAILURES as error:
        error.add_note(f"{generation} kernel:\n{source}")
        raise


def check(number: int, generation: str) -> None:
    """One random kernel in one generation."""
    random = Random(number)
    check_kernel(Drawer(random).draw(random.randint(1, 6)), generation)


def main() -> int:
    """Runs kernels by number; the exit status says whether all agree."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--first", type=int, default=0)
    options = parser.parse_args()
    failures = 0
    for number in range(options.first, options.first + options.count):
        for generation in ("functional", "destination"):
            try:
                check(number, generation)
            except (
                AssertionError,
                LookupError,
                RuntimeError,
                ValueError,
                TypeError,
            ) as e:
                failures += 1
                notes = "\n".join(getattr(e, "__notes__", ()))
                print(f"kernel {number}: {type(e).__name__}: {str(e)[:600]}\n{notes}")
    total = 2 * options.count
    print(f"{total - failures} of {total} kernels agree")
    return 1 if failures else 0


if __name__ == "__main__":
    raise SystemExit(main())
