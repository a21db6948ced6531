"""`nki.typing`: names for annotations; they check nothing."""

from typing import Any


class _Tensor:
    """`nt.tensor`, `nt.mutable_tensor`, `nt.tensor[shape]`: a kernel's tensor."""

    def __getitem__(self, item: Any) -> "_Tensor":
        return self

    def __call__(self, *args: Any, **kwargs: Any) -> "_Tensor":
        return self


tensor = _Tensor()
mutable_tensor = _Tensor()
