"""Constants in HBM, and the identity in SBUF (penguin.md 6.1)."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final

from xdsl.ir import Operation

from xdsl_neuron.dialects import penguin
from xdsl_neuron.dialects.neuron import QosClassAttr, TensorSpec, TensorType
from xdsl_neuron.dialects.neuron.constant import Blob, Contents, Identity, Splat
from xdsl_neuron.dtypes import DType
from xdsl_neuron.isa import QosClass, Space
from xdsl_neuron.tracer.errors import NKITypeError, NKIValueError
from xdsl_neuron.tracer.layouts import Buffer
from xdsl_neuron.tracer.tiles import TileBuilders
from xdsl_neuron.tracer.views import View

IDENTITY_DTYPE: Final = DType.INT8
"""The type the identity is loaded in; one copy casts it for each use."""


class ConstantBuilders(TileBuilders):
    """Constant tensors, each made once per trace in front of everything."""

    def shared_constant(self, constant: Any, dtype: DType | None = None) -> View:
        """
        A read-only tensor in HBM with an array's elements.

        Equal constants are one tensor, equal elements and identities have a short
        form. With `enable_const_rewrite` each call makes a tensor of plain bytes; what
        it is, the pass `penguin-const-rewrite` finds out.
        """
        fold = not self.options.enable_const_rewrite
        kind, contents, shape = array_contents(constant, dtype, fold)
        if fold:
            return self.constant_tensor(contents, shape, kind)
        tensor = TensorType.of(shape, kind, Space.HBM)
        return self.view.of(self._new_constant(contents, tensor, "constant"))

    def split_weight_tensor(
        self, weight: View, split_axis: int, split_indices: Sequence[int]
    ) -> list[View]:
        """
        The parts of a constant matrix, each a constant of its own.

        The cuts are in front of `split_indices`, which rise, along `split_axis` (0 or
        1), as `np.split` makes them: a weight with more rows than SBUF has partitions
        becomes matrices that a tile holds (penguin.md 8.2 `NeuronWeightTensor`, 11.3).
        """
        source = weight.base.value.owner
        if not isinstance(source, penguin.ConstantOp) or weight.access() is not None:
            raise NKITypeError(
                f"only a whole constant can be split, got a view of '{weight.name}' of "
                f"shape {weight.shape}; make it with shared_constant"
            )
        spec = source.tensor.data
        if len(spec.shape) != 2:
            raise NKIValueError(
                "A splittable NeuronWeightTensor should be of rank 2, got shape "
                f"{spec.shape}"
            )
        if split_axis not in (0, 1):
            raise NKIValueError(f"split_axis must be 0 or 1, got {split_axis}")
        extent = spec.shape[split_axis]
        cuts = [0, *split_indices, extent]
        if any(low >= high for low, high in pairwise(cuts)):
            raise NKIValueError(
                f"split_indices must rise from above 0 to below {extent}, got "
                f"{tuple(split_indices)}"
            )
        return [
            self._part(source.contents.data, spec, split_axis, low, high)
            for low, high in pairwise(cuts)
        ]

    def _part(
        self, contents: Contents, spec: TensorSpec, axis: int, low: int, high: int
    ) -> View:
        """The elements `low` to `high` of a constant along an axis."""
        import numpy as np

        from xdsl_neuron.numerics.casts import storage

        kind = storage(spec.dtype)
        shape = (high - low, spec.shape[1])
        if axis:
            shape = (spec.shape[0], high - low)
        if isinstance(contents, Splat):
            return self.constant_tensor(contents, shape, spec.dtype)
        if isinstance(contents, Identity):
            whole = np.eye(spec.shape[0]).astype(kind)
        else:
            whole = np.frombuffer(contents.data, kind).reshape(spec.shape)
        part = whole[low:high] if axis == 0 else whole[:, low:high]
        return self.constant_tensor(Blob(part.tobytes()), shape, spec.dtype)

    def shared_identity_matrix(self, n: int, dtype: DType) -> View:
        """The identity of n rows in HBM; one for each size and type."""
        return self.constant_tensor(Identity(), (n, n), dtype, "identity")

    def constant_tensor(
        self,
        contents: Contents,
        shape: Sequence[int],
        dtype: DType,
        name: str = "constant",
    ) -> View:
        """The read-only tensor in HBM with these contents."""
        if any(extent <= 0 for extent in shape):
            raise NKIValueError(
                f"constant has shape {tuple(shape)}, which must be all positive, "
                "non-zero values."
            )
        kind = TensorType.of(tuple(shape), dtype, Space.HBM)
        key = (contents, kind)
        found = self._constants.get(key)
        if found is None:
            found = self._constants[key] = self._new_constant(contents, kind, name)
        return self.view.of(found)

    def _new_constant(self, contents: Contents, kind: TensorType, name: str) -> Buffer:
        operation = penguin.ConstantOp.make(contents, kind, name)
        body = self.function.body.block
        self.insert(operation, before=body.first_op)
        return Buffer(operation.result, kind, name, body, self)

    def get_identity_tensor(self, dtype: DType = IDENTITY_DTYPE) -> View:
        """
        The identity in SBUF with a row per partition, as elements of `dtype`.

        It is loaded once, at the kernel's front wherever it is first asked for, as
        int8; a copy behind it casts it for every type that is used.
        """
        found = self._identities.get(dtype)
        if found is not None:
            return self.view.of(found)
        if dtype is IDENTITY_DTYPE:
            found = self._load_identity()
        else:
            source = self.get_identity_tensor()
            found = self._front_tile(source.shape, dtype)
            self.emit(
                penguin.TensorCopyOp,
                [self.view.of(found), source],
                {},
                before=self._behind_front(),
            )
            self._move_front()
        self._identities[dtype] = found
        return self.view.of(found)

    def _load_identity(self) -> Buffer:
        n = self.arch.sbuf_partitions
        source = self.shared_identity_matrix(n, IDENTITY_DTYPE)
        self._front = source.base.value.owner
        found = self._front_tile((n, n), IDENTITY_DTYPE)
        self.emit(
            penguin.SBAtomLoadOp,
            [self.view.of(found), source],
            {"dma_qos": QosClassAttr(QosClass.UNASSIGNED)},
            before=self._behind_front(),
        )
        self._move_front()
        return found

    def _front_tile(self, shape: Sequence[int], dtype: DType) -> Buffer:
        tile = self.create_tensor(
            shape, dtype, Space.SBUF, "identity", before=self._behind_front()
        )
        tile.block = self.function.body.block
        self._front = tile.value.owner
        return tile

    def _behind_front(self) -> Operation | None:
        """What stands behind the front of the kernel, None at the end of the trace."""
        assert isinstance(self._front, Operation)
        return self._front.next_op

    def _move_front(self) -> None:
        """The front ends with the instruction just inserted."""
        assert self.last is not None
        self._front = self.last.operation


def array_contents(
    constant: Any, dtype: DType | None, fold: bool
) -> tuple[DType, Contents, tuple[int, ...]]:
    """
    Element type, contents and shape of an array.

    Without `dtype` the array's own type is kept, float64 becomes float32. With `fold`
    equal elements and identities have a short form.
    """
    import numpy as np

    from xdsl_neuron.numerics.casts import cast

    array: Any = np.ascontiguousarray(constant)
    if array.dtype == np.float64:
        array = array.astype(np.float32)
    try:
        source = DType.from_nki(array.dtype.name)
    except ValueError as error:
        raise NKITypeError(f"shared_constant: {error}") from None
    kind = source if dtype is None else dtype
    if not array.size:
        raise NKIValueError("shared_constant of an array without elements")
    shape: tuple[int, ...] = np.shape(constant)
    if fold:
        if array.ndim == 2 and np.array_equal(array, np.eye(*array.shape)):
            if array.shape[0] == array.shape[1]:
                return kind, Identity(), shape
        first = array.flat[0].item()
        if array.dtype.kind in "iuf" and (array == first).all():
            return kind, Splat(repr(first)), shape
    return kind, Blob(cast(array, source, kind).tobytes()), shape
