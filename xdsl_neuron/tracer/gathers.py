"""Builders of gathers and shuffles made by an engine, and of register loads."""

from collections.abc import Sequence

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, StringAttr, i64
from xdsl.ir import Attribute

from xdsl_neuron.dialects import penguin
from xdsl_neuron.dialects.instructions.gather import CORE_PARTITIONS, KEEP_LANE
from xdsl_neuron.dialects.neuron import AffineAttr
from xdsl_neuron.dtypes import DType
from xdsl_neuron.geometry.affine import Affine
from xdsl_neuron.tracer.errors import NKISyntaxError
from xdsl_neuron.tracer.index import IndexExpr, Mask
from xdsl_neuron.tracer.state import Dep
from xdsl_neuron.tracer.tiles import TileBuilders
from xdsl_neuron.tracer.views import View


class GatherBuilders(TileBuilders):
    """Gathers within SBUF, the partition shuffle, registers (penguin.md 6.1)."""

    def local_gather(
        self,
        src_buffer: View,
        index: View,
        num_elem_per_idx: int = 1,
        num_valid_indices: int | None = None,
        mask: Mask | None = None,
        schedule: object = None,
        deps: Sequence[Dep] = (),
        name: str | None = None,
        *,
        dst: View | None = None,
    ) -> View:
        """
        Each GpSIMD core gathers runs of elements within its 16 partitions.

        Without `num_valid_indices` all indices of a core count. Without `dst` the
        result is a fresh tile: [partitions, index's free dimensions, 16, run] where
        all indices count, else [partitions, valid, run]. A mask is over the result,
        and all indices are read: what it leaves out keeps what the result held.
        """
        per_core = index.size // max(index.shape[0], 1) * CORE_PARTITIONS
        valid = per_core if num_valid_indices is None else num_valid_indices
        if dst is None:
            counts = (*index.shape[1:], CORE_PARTITIONS)
            if valid != per_core:
                counts = (max(valid, 1),)
            run = max(num_elem_per_idx, 1)
            shape = (src_buffer.shape[0], *counts, run)
            dst = self.new_tile(shape, src_buffer.element_type)
        properties: dict[str, Attribute] = {
            "num_elem_per_idx": IntegerAttr(num_elem_per_idx, i64),
            "num_valid_indices": IntegerAttr(valid, i64),
        }
        made = dst if mask is None else self._like(dst)
        self.emit(
            penguin.IndirectCopyOp,
            [made, src_buffer, index],
            properties,
            name=name if mask is None else None,
            deps=deps,
        )
        if mask is not None:
            self.tensor_copy(made, dst, mask, name=name)
        return dst

    def _like(self, tile: View) -> View:
        """A fresh tile, for results of instructions that take no mask."""
        return self.new_tile(tile.shape, tile.element_type)

    def gather_flattened(
        self,
        data: View,
        indices: View,
        mask: Mask | None = None,
        dtype: DType | None = None,
        schedule: object = None,
        *,
        dst: View | None = None,
        deps: Sequence[Dep] = (),
        name: str | None = None,
    ) -> View:
        """
        `result[p, ...] = data[p, flattened][indices[p, ...]]` on GpSIMD.

        A gather moves bits: another `dtype` is a copy of the result.
        """
        result = dst
        if result is None:
            result = self.new_tile(indices.shape, data.element_type)
        self.emit(
            penguin.PoolGatherOp,
            [result, data, indices],
            {},
            mask=mask,
            name=name,
            deps=deps,
        )
        if dst is None and dtype not in (None, data.element_type):
            return self.tensor_copy(result, mask=mask, dtype=dtype)
        return result

    def stream_shuffle(
        self,
        src: View,
        dst: View,
        shuffle_mask: Sequence[int],
        mask: Mask | None = None,
        dtype: DType | None = None,
        schedule: object = None,
        deps: Sequence[Dep] = (),
        name: str | None = None,
    ) -> View:
        """
        `dst[b + i] = src[b + shuffle_mask[i]]` in every block of 32 partitions.

        What a mask leaves out of `dst` keeps what it held.
        """
        if dtype not in (None, dst.element_type):
            assert dtype is not None
            raise NKISyntaxError(
                f"StreamShuffle does not support cast, got dtype {dtype.nki_name} for "
                f"{dst!r}"
            )
        made = dst if mask is None else self._like(dst)
        if mask is not None and KEEP_LANE in shuffle_mask:
            self.tensor_copy(dst, made)
        self.emit(
            penguin.StreamShuffleOp,
            [made, src],
            {"mask": DenseArrayBase.from_list(i64, list(shuffle_mask))},
            name=name if mask is None else None,
            deps=deps,
        )
        if mask is not None:
            self.tensor_copy(made, dst, mask, name=name)
        return dst

    def load_tensor_to_register(
        self,
        pointer: View,
        mask: Mask | None = None,
        dtype: DType | None = None,
        deps: Sequence[Dep] = (),
        name: str | None = None,
    ) -> IndexExpr:
        """
        One 32-bit element as a scalar that offsets may use.

        Its value is known only while running, so ranges that use it are checked by the
        machine.
        """
        if mask is not None:
            raise NKISyntaxError("a register is loaded always, it takes no mask")
        if pointer.has_index:
            raise NKISyntaxError(
                "cannot use indirect indexing access with the current NKI API for "
                f"'{pointer.name}'; gather it into a tile first"
            )
        if dtype not in (None, pointer.element_type):
            assert dtype is not None
            pointer = pointer.reinterpreted(dtype)
        self.emit(penguin.LoadTensorToRegisterOp, [pointer], {}, name=name, deps=deps)
        assert self.last is not None
        (value,) = self.last.operation.results
        value.name_hint = self.locator.variable() or "r"
        return IndexExpr(self.add_register(value))

    def device_print(self, prefix: str, tensor: View) -> None:
        """Prints a tensor while running."""
        self.emit(penguin.DevicePrintOp, [tensor], {"prefix": StringAttr(prefix)})

    def store_register_to_tensor(
        self,
        dst: View,
        value: Affine,
        deps: Sequence[Dep] = (),
        name: str | None = None,
    ) -> None:
        """One 32-bit element = an expression of registers and loop indices."""
        self.emit(
            penguin.StoreRegisterToTensorOp,
            [dst],
            {"value": AffineAttr(value)},
            name=name,
            deps=deps,
        )
