"""Methods of sparse, quantized and nested tensors, and of dtypes and layouts that are not there: every tensor
has them, a class or a mode may take them over, and a plain tensor refuses them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rushlight._engine.core import dtype as dt

if TYPE_CHECKING:  # it imports this file
    from rushlight._engine.tensors.tensor import Tensor

    # A part of Tensor: its other parts are there, too.
    _Tensor = Tensor
else:
    _Tensor = object

# What tensors of one kind alone can answer.
_OF_A_KIND = {
    "sparse": "_nnz _indices _values _dimI _dimV _coalesced_ _to_dense _sparse_mask_projection "
    "sparse_resize_ sparse_resize_and_clear_",
    "quantized": "int_repr q_scale q_zero_point q_per_channel_scales q_per_channel_zero_points "
    "q_per_channel_axis qscheme",
    "nested": "_nested_tensor_size _nested_tensor_strides _nested_tensor_storage_offsets",
}
# What needs something that is not there.
_MISSING = {"to_mkldnn": "the MKL-DNN layout", "index": "functorch.dim"}


class OtherKinds(_Tensor):
    """What a plain tensor is only asked for by mistake, or has an easy answer to."""

    __slots__ = ()

    def slice_inverse(
        self, src: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
    ) -> Tensor:
        """The view of this tensor's memory of which `src`, a slice of such a one, tells sizes and strides."""
        return self.as_strided(src.size(), src.stride(), src.storage_offset())

    def _autocast_to_reduced_precision(
        self, cuda_enabled: bool, cpu_enabled: bool, cuda_dtype: dt.dtype, cpu_dtype: dt.dtype
    ) -> Tensor:
        wanted = {"cuda": cuda_enabled and cuda_dtype, "cpu": cpu_enabled and cpu_dtype}.get(self.device.type)
        return self.to(wanted) if wanted and self.dtype is dt.float32 else self

    def _autocast_to_full_precision(self, cuda_enabled: bool, cpu_enabled: bool) -> Tensor:
        wanted = {"cuda": cuda_enabled, "cpu": cpu_enabled}.get(self.device.type)
        return self.to(dt.float32) if wanted and self.dtype in (dt.float16, dt.bfloat16) else self

    def _clear_non_serializable_cached_data(self) -> None:
        """Nothing is kept beside that could not be saved."""


def _refusing(name: str, why: str) -> Callable[..., Any]:
    def refuse(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        backend = self.device.type.upper() if self.device.type != "meta" else "Meta"
        raise NotImplementedError(
            f"Could not run 'aten::{name}' with arguments from the '{backend}' backend: {why}"
        )

    refuse.__name__, refuse.__qualname__ = name, f"Tensor.{name}"
    refuse.__doc__ = f"NotImplementedError: {why}."
    return refuse


for _kind, _names in _OF_A_KIND.items():
    for _name in _names.split():
        setattr(OtherKinds, _name, _refusing(_name, f"it is of {_kind} tensors"))
for _name, _needed in _MISSING.items():
    setattr(OtherKinds, _name, _refusing(_name, f"it needs {_needed}, which Rushlight has not"))
