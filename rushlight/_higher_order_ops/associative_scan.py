"""torch._higher_order_ops.associative_scan: what an associative function makes of all slices up to each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import rushlight as torch
from rushlight._engine.core.errors import wrap_dim
from rushlight._engine.core.pytree import flatten
from rushlight._engine.tensors.tensor import Tensor
from rushlight._higher_order_ops.operators import Control

__all__ = ["associative_scan", "associative_scan_op", "generic_associative_scan"]

_EMPTY = "All xs leaves must at least have 'dim' number of dimensions and scan dimension > 0"


def associative_scan(
    combine_fn: Callable[[Any, Any], Any],
    xs: Any,
    dim: int,
    reverse: bool = False,
    combine_mode: str = "pointwise",
) -> Any:
    """Of slices x0, x1, x2, ... of the tensors in xs along `dim`: x0, f(x0, x1), f(f(x0, x1), x2), ...

    f, combine_fn, is associative, without effects, and gives what its arguments are: tensors of a slice's
    sizes, nested as xs. About log2(n) calls serve all slices: "generic" calls it under vmap, "pointwise" (of
    tensors of a device, as in PyTorch) with many slices at once. reverse: from the last slice on.
    ValueError where that cannot be.
    """
    leaves, spec = flatten(xs)
    dim = wrap_dim(dim, leaves[0].ndim)
    _check(combine_fn, leaves, dim, reverse, combine_mode)
    moved = [torch.movedim(x, dim, 0) for x in leaves]
    moved = [torch.flip(x, [0]) for x in moved] if reverse else moved
    combine = torch.vmap(combine_fn) if combine_mode == "generic" else combine_fn

    def flat(*given: Any) -> list[Any]:
        first, second = list(given[: len(leaves)]), list(given[len(leaves) :])
        return flatten(combine(spec.unflatten(first), spec.unflatten(second)))[0]

    scan = generic_associative_scan if combine_mode == "generic" else associative_scan_op
    found = scan(flat, moved, additional_inputs=())
    found = [torch.flip(x, [0]) for x in found] if reverse else found
    return spec.unflatten([torch.movedim(x, 0, dim) for x in found])


def _check(combine: Any, leaves: list[Any], dim: int, reverse: Any, mode: str) -> None:
    """ValueError, and RuntimeError for `reverse`, in PyTorch's words."""
    if not callable(combine):
        raise ValueError(f"Combine_fn must be a callable, but got {combine}")
    if not isinstance(reverse, bool):
        raise RuntimeError(f"Reverse must be a bool, but got {type(reverse)}")
    if mode not in ("pointwise", "generic"):
        raise ValueError(f"Combine_mode must either 'pointwise' or 'generic', but got {mode}")
    if mode == "pointwise" and not all(x.device.type in ("cuda", "xpu") for x in leaves):
        raise ValueError(
            "For combine_mode='pointwise', all input tensors need to be on CUDA or XPU: "
            "use combine_mode='generic'"
        )
    if not all(isinstance(x, Tensor) for x in leaves):
        raise ValueError("xs leaves must be a Tensor")
    if any(x.is_sparse for x in leaves):
        raise ValueError("xs leaves must dense Tensors, consider using `to_dense()`")
    if any(x.ndim <= dim or not x.shape[dim] for x in leaves):
        raise ValueError(_EMPTY)


def generic_associative_scan(
    operator: Callable[..., Any], leaves: Sequence[Any], dim: int = 0, additional_inputs: Sequence[Any] = ()
) -> list[Any]:
    """All running results along `dim` of operator(*left, *right, *additional_inputs), which takes many slices
    at once.

    Pairs of neighbours are combined; the running results of these are every second one, and each of the
    others is one of them, combined with the next slice (Blelloch, Prefix sums and their applications, 1990).
    """
    count = leaves[0].shape[dim]
    if count < 2:
        return list(leaves)

    def part(tensors: Sequence[Any], start: int, end: int | None, step: int = 1) -> list[Any]:
        where = (slice(None),) * dim + (slice(start, end, step),)
        return [t[where] for t in tensors]

    pairs = flatten(operator(*part(leaves, 0, count - 1, 2), *part(leaves, 1, None, 2), *additional_inputs))[
        0
    ]
    odd = generic_associative_scan(operator, pairs, dim, additional_inputs)
    even = part(leaves, 0, 1)
    if count > 2:
        before, after = part(odd, 0, (count - 1) // 2), part(leaves, 2, None, 2)
        later = flatten(operator(*before, *after, *additional_inputs))[0]
        even = [torch.cat(both, dim) for both in zip(even, later, strict=True)]
    return [_interleaved(a, b, dim) for a, b in zip(even, odd, strict=True)]


def _interleaved(a: Any, b: Any, dim: int) -> Any:
    """a0, b0, a1, b1, ... along a dim; a may be longer by one."""
    count = b.shape[dim]
    both = torch.stack([a.narrow(dim, 0, count), b], dim + 1).flatten(dim, dim + 1)
    return both if a.shape[dim] == count else torch.cat([both, a.narrow(dim, count, 1)], dim)


def _run(f: Callable[..., Any], xs: Sequence[Any], additional_inputs: Sequence[Any] = ()) -> list[Any]:
    return generic_associative_scan(f, xs, 0, additional_inputs)


def _recorded(listener: Any, f: Any, xs: Any, additional_inputs: Any = ()) -> list[Any]:
    return _run(f, xs, additional_inputs)  # its ops are the program's


associative_scan_op = Control("associative_scan", _run, _recorded)
