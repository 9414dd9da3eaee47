"""What holds of a sparse tensor's parts, and whether it is checked when one is made."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import rushlight as torch
from rushlight._engine.tensors.tensor import Tensor
from rushlight.sparse.tensor import BLOCKS, COLUMNS, PARTS


class _State:
    enabled = False


class check_sparse_tensor_invariants:
    """A context manager, a decorator, and a switch: makers of sparse tensors check what they are given.

    with check_sparse_tensor_invariants(): ...   checks inside; (enable=False): does not
    check_sparse_tensor_invariants.enable()      checks from now on; disable(), is_enabled()

    A maker's own check_invariants= comes first.
    """

    def __init__(self, enable: bool = True) -> None:
        self.state = enable
        self.saved_state: bool | None = None

    @staticmethod
    def is_enabled() -> bool:
        """Whether makers check."""
        return _State.enabled

    @staticmethod
    def enable() -> None:
        """Check from now on."""
        _State.enabled = True

    @staticmethod
    def disable() -> None:
        """Do not check from now on."""
        _State.enabled = False

    def __enter__(self) -> None:
        if self.saved_state is not None:
            raise RuntimeError(
                "This context manager instance is already activated. Use a different context "
                "manager instance for context nesting."
            )
        self.saved_state, _State.enabled = _State.enabled, self.state

    def __exit__(self, *raised: Any) -> None:
        _State.enabled, self.saved_state = bool(self.saved_state), None

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, run inside."""

        @wraps(function)
        def inside(*args: Any, **kwargs: Any) -> Any:
            with type(self)(self.state):
                return function(*args, **kwargs)

        return inside


def wanted(check_invariants: bool | None) -> bool:
    """Whether a maker that was given check_invariants= checks."""
    return _State.enabled if check_invariants is None else check_invariants


# --- what makes a sparse tensor -------------------------------------------------------------------------


def refuse(*rules: tuple[bool, str]) -> None:
    """RuntimeError with the words of the first rule that is broken."""
    for broken, words in rules:
        if broken:
            raise RuntimeError(words)


def check_coo(
    indices: Tensor,
    values: Tensor,
    size: Any,
    is_coalesced: bool | None = None,
    check_pinning: bool | None = None,
) -> None:
    """RuntimeError unless indices (sparse dims, nnz) and values (nnz, *dense) make a tensor of that size."""
    check_coo_sizes(indices, values)
    many, dense = len(indices), values.ndim - 1
    refuse(
        (
            len(size) != many + dense,
            f"'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {len(size)}, sparse_dim = "
            f"{many}, dense_dim = {dense}",
        ),
        (indices.dtype is not torch.int64, f"expected scalar type Long but found {indices.dtype.legacy}"),
    )
    if list(values.shape[1:]) != list(size[many:]):
        raise RuntimeError(
            f"values has incorrect size, expected [{values.shape[0]}, {', '.join(map(str, size[many:]))}"
            f"], got {list(values.shape)}"
        )
    for d, row in enumerate(indices if indices.numel() else ()):
        low, high = int(row.min()), int(row.max())
        refuse(
            (low < 0, f"found negative index {low} for dim {d}"),
            (
                high >= size[d],
                f"size is inconsistent with indices: for dim {d}, size is {size[d]} but found index {high}",
            ),
        )


def check_made(tensors: list[Any]) -> None:
    """RuntimeError for the first of some tensors whose parts are no such tensor's, if makers check."""
    for t in tensors if wanted(None) else ():
        if t.is_sparse:
            indices, values = t.parts
            check_coo(indices, values, t.shape)
        else:
            compressed, plain, values = t.parts
            check_compressed(compressed, plain, values, t.shape, t.layout)


def check_coo_sizes(indices: Tensor, values: Tensor) -> None:
    """RuntimeError unless there is a value for each column of indices."""
    held = values.shape[0] if values.ndim else 0
    refuse((indices.ndim != 2, f"indices must be sparse_dim x nnz, but got: {list(indices.shape)}"))
    refuse(
        (
            indices.shape[1] != held,
            "indices and values must have same nnz, but got nnz from indices: "
            f"{indices.shape[1]}, nnz from values: {held}",
        )
    )


def check_compressed(
    compressed_indices: Tensor,
    plain_indices: Tensor,
    values: Tensor,
    size: Any,
    layout: Any,
    check_pinning: bool | None = None,
) -> None:
    """RuntimeError unless these make a tensor of that size in a compressed layout, with PyTorch's words."""
    first, minor = compressed_indices, plain_indices
    one, other, _ = PARTS[layout]
    block = 2 * (layout in BLOCKS)
    batch = first.ndim - 1
    refuse(
        (first.ndim < 1, f"{one} must have dimensionality >= 1 but got {first.ndim}"),
        (
            first.ndim != minor.ndim,
            f"{one} and {other} dimensionalities must be equal but got {first.ndim} and "
            f"{minor.ndim}, respectively",
        ),
        (
            values.ndim <= batch + block,
            "values must have dimensionality > sum of batch and block dimensionalities "
            f"(={batch} + {block}) but got {values.ndim}",
        ),
    )
    dense = values.ndim - batch - block - 1
    refuse(
        (
            len(size) != batch + 2 + dense,
            "tensor dimensionality must be sum of batch, base, and dense "
            f"dimensionalities (={batch} + 2 + {dense}) but got {len(size)}",
        )
    )
    _check_sizes(first, minor, values, list(size), layout)
    refuse(
        (
            first.dtype is not minor.dtype,
            f"{one} and {other} must have the same dtype, bot got {first.dtype.legacy} "
            f"and {minor.dtype.legacy}, respectively",
        ),
        (
            first.dtype not in (torch.int32, torch.int64),
            f"{one} and {other} dtype must be Int or Long, but got {first.dtype.legacy}",
        ),
    )
    high, wide = values.shape[batch + 1 : batch + 3] if block else (1, 1)
    rows, columns = size[batch] // max(high, 1), size[batch + 1] // max(wide, 1)
    check_numbers(first, minor, (rows, columns) if layout not in COLUMNS else (columns, rows), layout)


def _check_sizes(first: Tensor, minor: Tensor, values: Tensor, size: list[int], layout: Any) -> None:
    """How long the index tensors and batches are."""
    one, other, _ = PARTS[layout]
    batch, blocks = first.ndim - 1, layout in BLOCKS
    refuse(
        (
            first.stride(-1) != 1 and first.shape[-1] > 1,
            f"expected {one} to be a contiguous tensor per batch",
        ),
        (
            minor.ndim > 0 and minor.stride(-1) != 1 and minor.shape[-1] > 1,
            f"expected {other} to be a contiguous tensor per batch",
        ),
    )
    outer = [list(t.shape[:batch]) for t in (first, minor, values)]
    refuse(
        (
            any(part != size[:batch] for part in outer),
            f"all batch dimensions of {one} (={outer[0]}), {other} (={outer[1]}), and values (={outer[2]}) "
            f"must be equal to tensor batch dimensions (={size[:batch]})",
        )
    )
    sides = list(values.shape[batch + 1 : batch + 3]) if blocks else [1, 1]
    for name, n, side in zip(("first", "second"), size[batch : batch + 2], sides, strict=True):
        refuse(
            (
                blocks and (side < 1 or n % side != 0),
                f"tensor shape[{batch + (name == 'second')}] (={n}) must be divisible with blocksize"
                f"[{int(name == 'second')}] (={side}) as defined by values shape",
            )
        )
    at = int(layout in COLUMNS)
    count = size[batch + at] // sides[at]
    what = ("column" if at else "row") + (" blocks" if blocks else "s")
    refuse(
        (
            first.shape[-1] != count + 1,
            f"{one}.shape[-1] must be equal to the number of {what} + 1 (={count + 1}), but got "
            f"{first.shape[-1]}",
        ),
        (
            minor.shape[-1] != values.shape[batch],
            f"{other}.shape[-1] must be equal to nnz (={values.shape[batch]}) as defined by "
            f"values.shape[{batch}], but got {minor.shape[-1]}",
        ),
    )


def check_numbers(first: Tensor, minor: Tensor, sizes: tuple[int, int], layout: Any) -> None:
    """Where lines begin, and that the indices of each grow."""
    one, other, _ = PARTS[layout]
    lines, across = ("ncols", "nrows") if layout in COLUMNS else ("nrows", "ncols")
    step, count = first.diff(dim=-1), minor.shape[-1]
    refuse(
        (bool((first[..., 0] != 0).any()), f"`{one}[..., 0] == 0` is not satisfied."),
        (bool((first[..., -1] != count).any()), f"`{one}[..., -1] == nnz` is not satisfied."),
        (
            bool(((step < 0) | (step > sizes[1])).any()),
            f"`0 <= {one}[..., 1:] - {one}[..., :-1] <= {across}` is not satisfied.",
        ),
        (bool(((minor < 0) | (minor >= sizes[1])).any()), f"`0 <= {other} < {across}` is not satisfied."),
    )
    rises = minor.diff(dim=-1) > 0
    n = torch.arange(first.shape[-1] - 1, device=first.device).expand(step.shape).reshape(-1)
    line = torch.repeat_interleave(n, step.reshape(-1).long()).reshape(minor.shape)
    refuse(
        (
            bool((~rises & (line.diff(dim=-1) == 0)).any()),
            f"`{other}[..., {one}[..., i - 1]:{one}[..., i]] for all i = 1, ..., {lines} are sorted and "
            "distinct along the last dimension values` is not satisfied.",
        )
    )
