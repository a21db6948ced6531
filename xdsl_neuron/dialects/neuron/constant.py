"""The contents of constants: an identity, a splat, or bytes."""

import binascii
from base64 import b64decode, b64encode
from dataclasses import dataclass
from math import prod

from xdsl.irdl import irdl_attr_definition
from xdsl.utils.exceptions import VerifyException

from xdsl_neuron.dialects.neuron.attributes import (
    IndexName,
    TextAttribute,
    position_name,
)
from xdsl_neuron.dialects.neuron.text import Cursor
from xdsl_neuron.dialects.neuron.types import TensorSpec


@dataclass(frozen=True)
class Identity:
    """Ones on the diagonal of a square matrix, zeros elsewhere."""


@dataclass(frozen=True)
class Splat:
    """The same number everywhere; `literal` is its text."""

    literal: str

    @property
    def value(self) -> int | float:
        """The number: an `int` where the literal has no fraction."""
        text = self.literal
        return int(text) if text.lstrip("-").isdigit() else float(text)


@dataclass(frozen=True)
class Blob:
    """The tensor's bytes, row-major and little endian."""

    data: bytes


Contents = Identity | Splat | Blob


@irdl_attr_definition
class ContentsAttr(TextAttribute[Contents]):
    """`#neuron.contents<identity>`, `<splat 1.0>` or `<bytes "base64">`."""

    name = "neuron.contents"

    @classmethod
    def scan(cls, cursor: Cursor) -> Contents:
        """Reads the contents."""
        start = cursor.pos
        word = cursor.word()
        if word == "identity":
            return Identity()
        if word == "splat":
            return Splat(repr(cursor.number()))
        if word != "bytes":
            cursor.fail(f"expected identity, splat or bytes, got '{word}'", start)
        start = cursor.pos
        try:
            return Blob(b64decode(cursor.string(), validate=True))
        except binascii.Error as error:
            cursor.fail(f"not base64: {error}", start)

    def render(self, index_name: IndexName = position_name) -> str:
        """The text `scan` reads."""
        match self.data:
            case Identity():
                return "identity"
            case Splat(literal):
                return f"splat {literal}"
            case Blob(data):
                return f'bytes "{b64encode(data).decode()}"'

    def check(self, spec: TensorSpec) -> None:
        """Raises `VerifyException` where the contents do not fit the tensor."""
        match self.data:
            case Identity() if len(spec.shape) != 2 or len({*spec.shape}) != 1:
                raise VerifyException(
                    f"an identity is a square matrix, got shape {list(spec.shape)}"
                )
            case Blob(data) if len(data) != prod(spec.shape) * spec.dtype.bytes:
                raise VerifyException(
                    f"{len(data)} bytes do not fill a tensor of "
                    f"{prod(spec.shape) * spec.dtype.bytes} bytes"
                )
            case _:
                return
