"""The functions by which programs know a row: one object for each public name, as in PyTorch.

All of a row's have the same code. `torch.abs` and `Tensor.abs` do the same, but handlers of
`__torch_function__` tell them apart. Which one was called is known by the code in its frame, which bears the
public name. What PyTorch has in compiled code is a built-in function here, too (names/built_in.py),
behind which the one in Python runs: programs have the former, the engine calls the latter.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from types import CodeType, FunctionType
from typing import Any, NamedTuple

from rushlight._engine.lazy import is_ours, package
from rushlight._engine.names.built_in import built_in, plain
from rushlight._engine.ops.table import Row

# Functions of nn.functional that PyTorch has in compiled code: the others, in Python, hand all of their
# arguments on, those with a default by keyword.
OF_NN = frozenset(
    "gelu linear softplus softshrink hardtanh_ log_sigmoid logsigmoid one_hot threshold_ avg_pool2d "
    "avg_pool3d scaled_dot_product_attention".split()
)
# Functions of nn.functional that are torch's own.
OF_TORCH = frozenset(
    "conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d conv_tbc avg_pool1d bilinear "
    "prelu rrelu_ celu_ selu_ relu_ pixel_shuffle pixel_unshuffle channel_shuffle "
    "native_channel_shuffle pairwise_distance pdist cosine_similarity hardshrink adaptive_avg_pool1d".split()
)
# PyTorch's functions of torch that are Python, in torch.functional.
IN_PYTHON = frozenset(
    "atleast_1d atleast_2d atleast_3d block_diag broadcast_tensors cartesian_prod cdist chain_matmul einsum "
    "lu meshgrid norm split stft tensordot unique unique_consecutive unravel_index".split()
)
# Methods that PyTorch has in Python.
METHODS_IN_PYTHON = frozenset("istft lu norm split stft unique unique_consecutive".split())
# What these functions of torch and of nn.functional are called where PyTorch has them.
_KNOWN_AS = {
    ("torch", "pca_lowrank"): ("_lowrank", "pca_lowrank"),
    ("torch", "svd_lowrank"): ("_lowrank", "svd_lowrank"),
    ("nn.functional", "logsigmoid"): ("_C._nn", "log_sigmoid"),
    ("nn.functional", "threshold"): ("nn.functional", "_threshold"),
}
# Modules whose functions have its name before their own.
_PREFIXED = ("fft", "linalg", "special")


class Spelling(NamedTuple):
    """How a row is called by one of its functions."""

    row: str
    function: Callable[..., Any]
    reflected: bool  # whether the function has the row's two operands in the other order


# By the qualified name of their code.
_SPELLINGS: dict[str, Spelling] = {}
_made: dict[tuple[str, str, str, str], Callable[..., Any]] = {}


def spelling(code: CodeType) -> Spelling | None:
    """Whose code it is."""
    return _SPELLINGS.get(code.co_qualname)


def space_of(function: Any) -> tuple[str, str]:
    """(namespace, name) of a row's function; of another ("", its name), of what is none ("", "")."""
    function = plain(function)
    if function.__class__ is not FunctionType:  # what answers for any attribute, too
        return "", ""
    found: tuple[str, str] = getattr(function, "published", ("", function.__name__))
    return found


def in_python(function: Any) -> bool:
    """Whether a function is one that PyTorch has in Python, which asks for itself who takes it over."""
    space, name = space_of(function)
    if not space and function.__class__ is FunctionType:
        return not is_ours(function)
    return _written_in_python(space, name)


def _written_in_python(space: str, name: str) -> bool:
    if space == "nn.functional":
        return name not in OF_NN
    return (space == "torch" and name in IN_PYTHON) or (space == "Tensor" and name in METHODS_IN_PYTHON)


def row_of(function: Any) -> Row | None:
    """The row whose function it is."""
    found: Row | None = getattr(plain(function), "table_row", None)
    return found


def public(function: Callable[..., Any]) -> Callable[..., Any]:
    """What programs have in place of a function of ours: for one of a row's that PyTorch has in compiled
    code, the built-in function.
    """
    space, name = space_of(function)
    if space in ("", "Tensor") or _written_in_python(space, name):
        return function
    return built_in(function)


def _titles(space: str, name: str) -> tuple[str, str, str]:
    """The attributes __module__, __name__ and __qualname__, by which a function can be found."""
    module = package()
    if space == "Tensor":
        return module, name, f"Tensor.{name}"
    if (space, name) in _KNOWN_AS:
        home, known = _KNOWN_AS[space, name]
        return f"{module}.{home}", known, known
    if space in _PREFIXED:
        full = f"{space}_{name}"
        return f"{module}._C._{space}", full, full
    if space == "nn.functional" and name in OF_NN:
        return f"{module}._C._nn", name, name
    if space == "torch":
        return f"{module}.functional" if name in IN_PYTHON else module, name, name
    return f"{module}.{space}", name, name


def entitle(function: Callable[..., Any], row: str, space: str, name: str) -> Callable[..., Any]:
    """The function itself, which is from now on the row's by this name."""
    made: Any = function
    made.__module__, made.__name__, made.__qualname__ = _titles(space, name)
    made.published = space, name
    _mark(made, f"{space}.{name}", Spelling(row, made, False))
    return function


def held(store: dict[Any, Any], key: Any, function: Callable[..., Any], row: str) -> Callable[..., Any]:
    """The function of a row's that `store` has from now on: the same to threads that made one each."""
    found: Callable[..., Any] = store.setdefault(key, function)
    _SPELLINGS[".".join(space_of(found))] = Spelling(row, found, False)
    return found


def _mark(made: Any, name: str, spelling: Spelling) -> None:
    made.__code__ = made.__code__.replace(co_qualname=name)
    _SPELLINGS[name] = spelling


def under(row: str, found: Callable[..., Any], space: str, name: str) -> Callable[..., Any]:
    """A row's function by another of its names: an object of its own of the same code."""
    if space == "nn.functional" and name in OF_TORCH:
        space = "torch"
    if getattr(found, "published", None) == (space, name):
        return found
    key = (row, found.__name__, space, name)
    made = _made.get(key)
    if made is None:
        made = held(_made, key, entitle(copied(found), row, space, name), row)
    return made


def copied(found: Any) -> Callable[..., Any]:
    """Another function that does the same by the same globals."""
    other = FunctionType(
        found.__code__, found.__globals__, found.__name__, found.__defaults__, found.__closure__
    )
    update_wrapper(other, found)
    del other.__wrapped__  # type: ignore[attr-defined]
    vars(other).pop("built_in", None)  # of the other
    other.__kwdefaults__ = found.__kwdefaults__
    return other


def speak_for(
    found: Callable[..., Any], row: str, function: Callable[..., Any], reflected: bool = False
) -> None:
    """Let handlers know calls of `found`, a function of the row's without a name, as calls of `function`."""
    _mark(found, function.__qualname__, Spelling(row, function, reflected))
