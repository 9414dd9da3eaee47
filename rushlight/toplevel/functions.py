"""Functions of torch's top level that are no rows of the table: other spellings of what is there, numbers
that PyTorch may trace, control flow as functions, and what the build has.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from functools import lru_cache, wraps
from typing import Any, TypeVar

import rushlight as torch
from rushlight._engine.core.errors import ALWAYS
from rushlight._engine.core.services import service as _service
from rushlight._engine.lazy import package as _package
from rushlight._engine.ops.signature import REQUIRED
from rushlight._engine.ops.table import ROWS
from rushlight._engine.tensors.tensor import Tensor

# --- norms and losses by the arguments of PyTorch's kernels -------------------------------------------


def frobenius_norm(
    input: Tensor, dim: Any = None, keepdim: bool = False, *, out: Tensor | None = None
) -> Tensor:
    """The root of the sum of squares over `dim`, one or two dims; all if None or empty."""
    dims = None if dim is None or dim == () or dim == [] else dim
    return torch.linalg.vector_norm(input, 2, dims, keepdim, out=out)


def nuclear_norm(
    input: Tensor, dim: Any = None, keepdim: bool = False, *, out: Tensor | None = None
) -> Tensor:
    """The sum of singular values of the matrices in two dims, the last by default."""
    dims = (-2, -1) if dim is None else tuple(dim)
    return torch.linalg.matrix_norm(input, "nuc", dims, keepdim, out=out)


def norm_except_dim(v: Tensor, pow: int = 2, dim: int = 0) -> Tensor:
    """The norms over all dims but one, which stay as sizes of 1; with dim=-1 the norm of all."""
    if dim == -1:
        return v.norm(pow)
    dims = [d for d in range(v.ndim) if d != dim % v.ndim]
    return torch.linalg.vector_norm(v, pow, dims, True) if dims else v.abs()


def affine_grid_generator(theta: Tensor, size: Sequence[int], align_corners: bool) -> Tensor:
    """torch.nn.functional.affine_grid."""
    return torch.nn.functional.affine_grid(theta, list(size), align_corners)


def embedding_renorm_(input: Tensor, indices: Tensor, max_norm: float, norm_type: float) -> Tensor:
    """Rows of `input` that the indices name, scaled in place to a norm of at most max_norm; the tensor
    itself.
    """
    with torch.no_grad():
        rows = indices.unique()
        found = input[rows]
        norms = found.norm(norm_type, 1, True)
        input[rows] = torch.where(norms > max_norm, found * (max_norm / (norms + 1e-7)), found)
    return input


def _weight_norm(v: Tensor, g: Tensor, dim: int = 0) -> Tensor:
    return v * (g / norm_except_dim(v, 2, dim))


def _shape_as_tensor(input: Tensor) -> Tensor:
    return torch.tensor(tuple(input.shape), dtype=torch.int64)


def _running_with_deploy() -> bool:
    """False: there is one interpreter."""
    return False


def _is_all_true(input: Tensor) -> Tensor:
    return input.all()


def _is_any_true(input: Tensor) -> Tensor:
    return input.any()


def _unique(input: Tensor, sorted: bool = True, return_inverse: bool = False) -> tuple[Tensor, Tensor]:
    values, places = torch.unique(input, sorted=sorted, return_inverse=True)
    return values, places if return_inverse else places.new_empty(0)


def _unique2(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
) -> tuple[Tensor, Tensor, Tensor]:
    values, places, counts = torch.unique(input, sorted=sorted, return_inverse=True, return_counts=True)
    none = places.new_empty(0)
    return values, places if return_inverse else none, counts if return_counts else none


def unique_dim(
    input: Tensor,
    dim: int,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
) -> tuple[Tensor, Tensor, Tensor]:
    """The different slices along dim in order, where each went, and counts: all three, whatever is asked."""
    found = torch.unique(input, sorted=sorted, return_inverse=True, return_counts=True, dim=dim)
    return found[0], found[1], found[2]


def unique_dim_consecutive(
    input: Tensor, dim: int, return_inverse: bool = False, return_counts: bool = False
) -> tuple[Tensor, Tensor, Tensor]:
    """The slices along dim without those that equal their predecessor, where each went, and counts."""
    found = torch.unique_consecutive(input, return_inverse=True, return_counts=True, dim=dim)
    return found[0], found[1], found[2]


def _int_mm(input: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
    for given in (input, mat2):
        if given.dtype is not torch.int8:
            raise RuntimeError(f"Expected self.dtype and mat2.dtype to be int8, got {given.dtype}")
    found = ROWS["_product_of_bytes"](input, mat2)
    return found if out is None else out.copy_(found)


# --- sparse products ------------------------------------------------------------------------------


def smm(input: Tensor, mat2: Tensor) -> Tensor:
    """A sparse matrix times a dense one, as a sparse matrix."""
    return torch.sparse.mm(input, mat2).to_sparse()


def spmm(input: Tensor, mat2: Tensor) -> Tensor:
    """The product of two matrices, of which the first one may be sparse."""
    return torch.mm(input, mat2)


dsmm = spmm


def saddmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """beta * input + alpha * (mat1 @ mat2) for a sparse mat1."""
    return torch.sparse.addmm(input, mat1, mat2, beta=beta, alpha=alpha)


# --- numbers that PyTorch may trace ---------------------------------------------------------------


def _symbolic(name: str, *args: Any) -> Any:
    """What a number that depends on a program's inputs (torch.SymInt) answers, as a pair; None of others."""
    for a, others in ((a, (*args[:i], *args[i + 1 :])) for i, a in enumerate(args)):
        own = getattr(a, name, None)
        if own is not None:
            return (own(*others),)
    return None


_Function = TypeVar("_Function", bound=Callable[..., Any])


def _of_numbers(function: _Function) -> _Function:
    """Decorator of a function of numbers, which classes and modes may take over."""

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return _service("call that may be taken over")(call, function, args, kwargs)

    call.__module__ = _package()
    return call  # type: ignore[return-value]  # it has the function's signature


@_of_numbers
def sym_float(a: Any) -> Any:
    """The number as a float."""
    found = _symbolic("__sym_float__", a)
    return float(a) if found is None else found[0]


@_of_numbers
def sym_int(a: Any) -> Any:
    """The number as an int, rounded towards zero."""
    found = _symbolic("__sym_int__", a)
    return int(a) if found is None else found[0]


@_of_numbers
def sym_not(a: Any) -> Any:
    """Whether it is false."""
    found = _symbolic("__sym_not__", a)
    return not a if found is None else found[0]


@_of_numbers
def sym_max(a: Any, b: Any) -> Any:
    """The greater one; a float if either is."""
    symbolic = _symbolic("__sym_max__", a, b)
    if symbolic is not None:
        return symbolic[0]
    found = max(a, b)
    return float(found) if isinstance(a, float) or isinstance(b, float) else found


@_of_numbers
def sym_min(a: Any, b: Any) -> Any:
    """The lesser one; a float if either is."""
    symbolic = _symbolic("__sym_min__", a, b)
    if symbolic is not None:
        return symbolic[0]
    found = min(a, b)
    return float(found) if isinstance(a, float) or isinstance(b, float) else found


@_of_numbers
def sym_sum(args: Sequence[Any]) -> Any:
    """The sum of numbers."""
    return sum(args)


@_of_numbers
def sym_ite(b: Any, t: Any, f: Any) -> Any:
    """t if b else f; AssertionError for two of different types."""
    if type(t) is not type(f):
        raise AssertionError(f"expected values of one type, got {type(t)} and {type(f)}")
    found = _symbolic("__sym_ite__", b, t, f)
    return (t if b else f) if found is None else found[0]


def sym_fresh_size(expr: Any) -> Any:
    """The number as a tensor's: in an exported program one that nothing else is known of."""
    return torch.tensor(expr).item()


def _function_of_math(name: str) -> Callable[[Any], Any]:
    """The function of math, of a number that may be symbolic."""

    def function(a: Any) -> Any:
        found = _symbolic(f"__sym_{name}__", a)
        return getattr(math, name)(a) if found is None else found[0]

    function.__name__ = function.__qualname__ = f"_sym_{name}"  # as graphs call it
    function.__doc__ = f"math.{name} of a number."
    return _of_numbers(function)


sym_sqrt = _sym_sqrt = _function_of_math("sqrt")
_sym_sin, _sym_cos, _sym_tan = map(_function_of_math, ("sin", "cos", "tan"))
_sym_asin, _sym_acos, _sym_atan = map(_function_of_math, ("asin", "acos", "atan"))
_sym_sinh, _sym_cosh, _sym_tanh = map(_function_of_math, ("sinh", "cosh", "tanh"))
_sym_log2 = _function_of_math("log2")


def sym_constrain_range(size: Any, *, min: int | None = None, max: int | None = None) -> None:
    """RuntimeError unless the number lies between the two."""
    if getattr(size, "expr", None) is not None:
        from rushlight.toplevel.checks import _check  # few programs need it

        _check(size >= (0 if min is None else min))
        if max is not None:
            _check(size <= max)
        return
    low, high = -math.inf if min is None else min, math.inf if max is None else max
    if not low <= size <= high:
        raise RuntimeError(f"Invalid value range for {size} between [{low}, {high}].")


sym_constrain_range_for_size = sym_constrain_range


# --- control flow ---------------------------------------------------------------------------------


def cond(pred: Any, true_fn: Callable[..., Any], false_fn: Callable[..., Any], operands: Any = ()) -> Any:
    """true_fn(*operands) if pred else false_fn(*operands). RuntimeError where a predicate is no bool or a
    tensor of several, a branch cannot be called, or operands are no tuple or list.
    """
    from rushlight._higher_order_ops.cond import cond as found  # few programs need it

    return found(pred, true_fn, false_fn, operands)


def while_loop(cond_fn: Callable[..., Any], body_fn: Callable[..., Any], carried_inputs: Any) -> Any:
    """carried_inputs = body_fn(*carried_inputs) while cond_fn(*carried_inputs); what is carried last, as a
    tuple. RuntimeError where a body gives another number of values than it took.
    """
    from rushlight._higher_order_ops.while_loop import while_loop as found  # few programs need it

    return found(cond_fn, body_fn, carried_inputs)


# --- what the build has, and how it warns -------------------------------------------------------------


def set_flush_denormal(mode: bool) -> bool:
    """Let this thread, and those it starts from now on, take denormal numbers for zero (True), or compute
    with them again; what it gives says whether the processor can: x86-64 does.

    >>> import rushlight as torch
    >>> torch.set_flush_denormal(True)
    True
    >>> torch.tensor(1e-323, dtype=torch.float64) * 1
    tensor(0., dtype=torch.float64)
    >>> torch.set_flush_denormal(False)
    True
    """
    # LLVM loads for those who ask.
    from rushlight._engine.kernels.runtime.denormals import flush

    return flush(mode)


def is_warn_always_enabled() -> bool:
    """What set_warn_always was given; False at start."""
    return ALWAYS[0]


def set_warn_always(b: bool) -> None:
    """Whether warnings that are given once by default are given each time."""
    ALWAYS[0] = bool(b)
    if b:
        warnings.simplefilter("always")


has_lapack = has_spectral = has_openmp = True  # what they ask for is there, by other means
has_mkl = False


def fork(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """torch.jit.fork."""
    return torch.jit.fork(func, *args, **kwargs)


def wait(future: Any) -> Any:
    """torch.jit.wait."""
    return torch.jit.wait(future)


# --- PyTorch's kernels ----------------------------------------------------------------------------


def __getattr__(name: str) -> Any:
    """Those that homes.tsv sends here, with their own arguments: functions that call torch.ops.aten's."""
    if name.startswith("__"):
        raise AttributeError(name)
    return _of_aten(name)


@lru_cache(None)
def _of_aten(name: str) -> Callable[..., Any]:
    """The function that calls torch.ops.aten.NAME, and that classes and modes take over as torch.NAME."""
    # they load PyTorch's schemas, and need all of torch
    from rushlight import overrides
    from rushlight.export.overloads import packet

    found = packet(name)
    op = found if "deprecated" in found.overloads() else found.default
    needed = [] if op is found else _needed(op._schema)

    def function(*args: Any, **kwargs: Any) -> Any:
        relevant = (*args, *kwargs.values())
        if overrides.takes_over(relevant):
            return overrides.handle_torch_function(getattr(torch, name), relevant, *args, **kwargs)
        if len(args) < len(needed):
            _refuse_missing(name, needed[len(args) :], kwargs)
        return op(*args, **kwargs)

    function.__doc__ = f"torch.ops.aten.{name}: {found.default._schema}"
    return function


def _needed(schema: Any) -> list[str]:
    """The parameters without a default, which are the first ones."""
    return [p.name for p in schema.arguments if p.default is REQUIRED and not p.kwarg_only]


def _refuse_missing(name: str, needed: list[str], kwargs: dict[str, Any]) -> None:
    missing = [given for given in needed if given not in kwargs]
    if missing:
        told = ", ".join('"input"' if given == "self" else f'"{given}"' for given in missing)
        s = "s" if len(missing) == 1 else ""  # as PyTorch says it
        raise TypeError(f"{name}() missing {len(missing)} required positional argument{s}: {told}")


def compiled_with_cxx11_abi() -> bool:
    """Whether PyTorch's library would have been built with the C++11 ABI, as all its releases are now."""
    return True


def is_vulkan_available() -> bool:
    """Whether ops run on Vulkan: never."""
    return False


def is_distributed(input: Tensor) -> bool:
    """PyTorch's old question, whose answer is always False."""
    return False


legacy_contiguous_format = torch.contiguous_format


def _has_compatible_shallow_copy_type(input: Tensor, from_: Tensor) -> bool:
    """Whether `from_` could become the data of `input`: both have the same layout."""
    return input.layout is from_.layout


def native_norm(input: Tensor, p: float = 2, *args: Any, **kwargs: Any) -> Tensor:
    """The norm of a sparse tensor's values: NotImplementedError for other tensors, as PyTorch's."""
    if input.layout is torch.strided:
        raise NotImplementedError(
            "Could not run 'aten::native_norm' with arguments from the 'CPU' backend: it is of sparse "
            "tensors; use torch.norm"
        )
    return torch.norm(input, p)
