"""torch.sparse.FloatTensor and its relatives: COO tensors by dtype, as programs once made them."""

from __future__ import annotations

from typing import Any

import rushlight as torch
from rushlight._engine.core import dtype as dt
from rushlight._engine.core.errors import warn_once
from rushlight._engine.core.size import Size
from rushlight._engine.tensors.tensor import Tensor


class _LegacyType(type):
    """Makes tensors of one dtype, and knows them: (indices, values[, size]), sizes, or nothing."""

    dtype: dt.dtype
    is_sparse = True

    @property
    def layout(cls) -> Any:
        """torch.sparse_coo."""
        return torch.sparse_coo

    def __instancecheck__(cls, instance: Any) -> bool:
        if not isinstance(instance, Tensor) or instance.layout is not torch.sparse_coo:
            return False
        return instance.dtype is cls.dtype

    def __call__(cls, *args: Any, device: Any = None) -> Tensor:
        what = "indices, values" if args and isinstance(args[0], Tensor) else "shape"
        warn_once(
            f"torch.sparse.SparseTensor({what}, *, device=) is deprecated.  Please use "
            f"torch.sparse_coo_tensor({what}, dtype=, device=)."
        )
        if len(args) in (2, 3) and isinstance(args[0], Tensor) and isinstance(args[1], Tensor):
            if args[0].dtype is not torch.int64:
                raise RuntimeError(f"expected scalar type Long but found {args[0].dtype.legacy}")
            return torch.sparse_coo_tensor(*args, device=device)
        if len(args) == 1 and isinstance(args[0], (list, tuple)) and not isinstance(args[0], Size):
            raise TypeError(
                "torch.sparse.SparseTensor(sequence) only accepts sizes. Please use "
                "torch.sparse_coo_tensor() or construct a strided tensor and convert it to sparse via "
                "to_sparse."
            )
        sizes = args[0] if len(args) == 1 and isinstance(args[0], Size) else args or (0,)
        return torch.sparse_coo_tensor(tuple(sizes), dtype=cls.dtype, device=device)


_NAMES = ("Float", "Double", "Half", "BFloat16", "Long", "Int", "Short", "Char", "Byte")
_OF = {d.legacy: d for d in dt.ALL}
for _name in _NAMES:
    _body = {"dtype": _OF[_name], "__module__": "torch.sparse", "__doc__": f"COO tensors of {_OF[_name]}."}
    globals()[f"{_name}Tensor"] = _LegacyType(f"{_name}Tensor", (), _body)
__all__ = [f"{_name}Tensor" for _name in _NAMES]
