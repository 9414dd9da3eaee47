"""Names of the types in PyTorch's signatures: one number, or one for each dim."""

from typing import TypeVar

from rushlight import Tensor

T = TypeVar("T")
_scalar_or_tuple_any_t = T | tuple[T, ...]
for _n in range(1, 7):
    globals()[f"_scalar_or_tuple_{_n}_t"] = T | tuple[(T,) * _n]  # type: ignore[misc]
for _name, _type in (("size_{}_t", int), ("size_{}_opt_t", int | None), ("ratio_{}_t", float)):
    for _n in ("any", *range(1, 7)):
        globals()["_" + _name.format(_n)] = globals()[f"_scalar_or_tuple_{_n}_t"][_type]
_tensor_list_t = Tensor | list[Tensor]
_maybe_indices_t = Tensor | tuple[Tensor, Tensor]
