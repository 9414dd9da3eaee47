"""Error messages that several ops share, in one form: `op: what was expected, got what came`, with the remedy
where one is known. What only one op says stands at that op.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import Any, NoReturn

from rushlight._engine.core.callers import warn

_warned: set[str] = set()


class LinAlgError(RuntimeError):
    """torch.linalg.LinAlgError: a matrix that an algorithm cannot do with."""


class TorchDynamoException(RuntimeError):
    """torch._dynamo.exc.TorchDynamoException: what compile() raises."""


class RecompileError(TorchDynamoException):
    """torch._dynamo.exc.RecompileError: arguments of a new kind, with config.error_on_recompile."""


class Unsupported(TorchDynamoException):
    """torch._dynamo.exc.Unsupported: fullgraph=True of what cannot be one program."""


LinAlgError.__name__ = LinAlgError.__qualname__ = "_LinAlgError"  # PyTorch's private name


def missing(name: str, instead: str) -> NoReturn:
    """Raise for a part of PyTorch that is not in Rushlight; says what to use instead."""
    raise NotImplementedError(f"{name} is not part of Rushlight yet; {instead}")


def wrong_type(op: str, name: str, wanted: str, value: object, position: int | None = None) -> TypeError:
    """The error, in PyTorch's words, for an argument of another type than `wanted`; position: from 1 on."""
    place = "" if position is None else f" (position {position})"
    return TypeError(f"{op}(): argument '{name}'{place} must be {wanted}, not {type(value).__name__}")


ALWAYS = [False]  # torch.set_warn_always


def warn_once(text: str) -> None:
    """A UserWarning, the first time that it is asked for, or each time where that is wanted."""
    if text not in _warned or ALWAYS[0]:
        _warned.add(text)
        warn(text, UserWarning)


def wrap_dim(dim: int, ndim: int) -> int:
    """`dim` counted from the front; a 0-d tensor accepts 0 and -1, as PyTorch does."""
    limit = ndim or 1
    if -limit <= dim < limit:
        return dim + limit if dim < 0 else dim
    raise IndexError(
        f"Dimension out of range (expected to be in range of [{-limit}, {limit - 1}], but got {dim})"
    )


def wrap_dims(dims: int | tuple[int, ...] | list[int] | None, ndim: int) -> tuple[int, ...]:
    """Several dims, each counted from the front; None or () means all of them."""
    if dims is None or (not isinstance(dims, int) and len(dims) == 0):
        return tuple(range(ndim))
    wrapped = tuple(wrap_dim(index(d), ndim) for d in ((dims,) if isinstance(dims, int) else dims))
    if len(set(wrapped)) != len(wrapped):
        twice = next(d for d in wrapped if wrapped.count(d) > 1)
        raise RuntimeError(f"dim {twice} appears multiple times in the list of dims")
    return wrapped if ndim else ()


def check_multipliable(mat1: Sequence[int], mat2: Sequence[int]) -> None:
    """RuntimeError unless sizes (n, k) and (k, m), or (n, k) and a vector's (k,), can be multiplied."""
    if mat1[-1] != mat2[0]:
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({'x'.join(map(str, mat1))} and "
            f"{'x'.join(map(str, mat2))})"
        )


def check_batches(batch1: Sequence[int], batch2: Sequence[int]) -> None:
    """RuntimeError unless batches of sizes (b, n, k) and (b, k, m) can be multiplied."""
    if batch1[0] != batch2[0] or batch1[2] != batch2[1]:
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{batch1[0]}, {batch1[2]}] but "
            f"got: [{batch2[0]}, {batch2[1]}]."
        )


def check_size(op: str, a: Any, d: int | None, otherwise: type[Exception] = RuntimeError) -> None:
    """A reduction of an array or tensor along d (of all of it, or `otherwise`) needs an element to pick."""
    if d is None and 0 in a.shape:
        raise otherwise(
            f"{op}(): Expected reduction dim to be specified for input.numel() == 0. Specify the "
            "reduction dim with the 'dim' argument."
        )
    if d is not None and a.ndim and a.shape[d] == 0:
        raise IndexError(f"{op}(): Expected reduction dim {d} to have non-zero size.")
