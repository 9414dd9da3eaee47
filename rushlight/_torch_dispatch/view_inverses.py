"""What a tensor is after a view of it has become another value, said in PyTorch's ops.

Each function takes `ops` (how an op is called, and whether by views or by ops that copy), the tensor as it
was before, the view's new value, the view op's arguments by name, and which of several views it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol


class Ops(Protocol):
    """How inverses call ops."""

    # Whether views may be taken; else ops of the same meaning copy.
    views: bool

    def __call__(self, name: str, *args: Any) -> Any:
        """The op of a dotted name; arguments at the end that are the defaults are left out."""

    def view(self, name: str, *args: Any) -> Any:
        """A view op of a dotted name, or the one that copies."""


Inverse = Callable[[Ops, Any, Any, dict[str, Any], int], Any]
_UNFOLDED = (
    "While executing unfold, functionalization encountered a tensor being mutated that has internal overlap. "
    "When using torch.compile (or running functionalization directly), this is banned as the behavior is not "
    "well defined. Consider cloning the tensor before mutating it, or removing the mutation from your model."
)


def _same(ops: Ops, base: Any, value: Any, given: dict[str, Any], index: int) -> Any:
    return value


def _sized(name: str) -> Inverse:
    def back(ops: Ops, base: Any, value: Any, given: dict[str, Any], index: int) -> Any:
        call = ops if name == "_unsafe_view.default" else ops.view
        return call(name, value, list(base.shape))

    return back


def _typed(ops: Ops, base: Any, value: Any, given: dict[str, Any], index: int) -> Any:
    return ops.view("view.dtype", value, base.dtype)


def _scattered(name: str, *params: str) -> Inverse:
    def back(ops: Ops, base: Any, value: Any, given: dict[str, Any], index: int) -> Any:
        return ops(name, base, value, *[given[param] for param in params])

    return back


def _turned(name: str, *params: str) -> Inverse:
    def back(ops: Ops, base: Any, value: Any, given: dict[str, Any], index: int) -> Any:
        return ops.view(name, value, *[given[param] for param in params])

    return back


def _expanded(ops: Ops, base: Any, value: Any, given: dict[str, Any], index: int) -> Any:
    """What was added to any of the copies is added once."""
    change = ops("sub.Tensor", value, base)
    lead = change.dim() - base.dim()
    dims = [*range(lead)] + [
        lead + d for d, n in enumerate(base.shape) if n == 1 and change.shape[lead + d] != 1
    ]
    if dims:
        change = ops("sum.dim_IntList", change, dims, True)
    if lead:
        change = ops.view("view.default", change, list(base.shape))
    return ops("add.Tensor", base, change)


def _as_real(ops: Ops, base: Any, value: Any, given: dict[str, Any], index: int) -> Any:
    value = ops("clone.default", value) if value.is_conj() else value
    return ops.view("view_as_real.default", value)


def _permuted(ops: Ops, base: Any, value: Any, given: dict[str, Any], index: int) -> Any:
    dims = [d % len(given["dims"]) for d in given["dims"]]
    return ops.view("permute.default", value, sorted(range(len(dims)), key=dims.__getitem__))


def _unsqueezed(ops: Ops, base: Any, value: Any, given: dict[str, Any], index: int) -> Any:
    """The dims of one element that a squeeze() took away, again."""
    dims = given.get("dim", range(base.dim()))
    dims = [dims] if isinstance(dims, int) else dims
    for dim in sorted(d % max(base.dim(), 1) for d in dims):
        if base.dim() and base.shape[dim] == 1:
            value = ops.view("unsqueeze.default", value, dim)
    return value


def _part(ops: Ops, base: Any, value: Any, given: dict[str, Any], index: int) -> Any:
    """One of the parts that a split() gave."""
    dim, step = given["dim"], given["split_size"]
    start = index * step
    return ops("slice_scatter.default", base, value, dim, start, min(start + step, base.shape[dim]))


def _part_of_sizes(ops: Ops, base: Any, value: Any, given: dict[str, Any], index: int) -> Any:
    sizes = given["split_sizes"]
    start = sum(sizes[:index])
    return ops("slice_scatter.default", base, value, given["dim"], start, start + sizes[index])


def _unbound(ops: Ops, base: Any, value: Any, given: dict[str, Any], index: int) -> Any:
    return ops("select_scatter.default", base, value, given["dim"], index)


def _unfolded(ops: Ops, base: Any, value: Any, given: dict[str, Any], index: int) -> Any:
    if ops.views:
        raise RuntimeError(_UNFOLDED)
    where = given["dimension"], given["size"], given["step"]
    return ops("unfold_backward.default", value, list(base.shape), *where)


# By the name of a view op; "view.dtype" where overloads differ.
INVERSES: dict[str, Inverse] = {
    "view": _sized("view.default"),
    "_unsafe_view": _sized("_unsafe_view.default"),
    "_reshape_alias": _sized("view.default"),
    "view.dtype": _typed,
    "detach": _same,
    "alias": _turned("alias.default"),
    "lift_fresh": _same,
    "expand": _expanded,
    "permute": _permuted,
    "transpose": _turned("transpose.int", "dim0", "dim1"),
    "t": _turned("t.default"),
    "unsqueeze": _turned("squeeze.dim", "dim"),
    "squeeze": _unsqueezed,
    "split": _part,
    "split_with_sizes": _part_of_sizes,
    "unbind": _unbound,
    "select": _scattered("select_scatter.default", "dim", "index"),
    "slice": _scattered("slice_scatter.default", "dim", "start", "end", "step"),
    "diagonal": _scattered("diagonal_scatter.default", "offset", "dim1", "dim2"),
    "as_strided": _scattered("as_strided_scatter.default", "size", "stride", "storage_offset"),
    "unfold": _unfolded,
    "view_as_real": _turned("view_as_complex.default"),
    "view_as_complex": _as_real,
    "_conj": _turned("_conj.default"),
    "_neg_view": _turned("_neg_view.default"),
}
