"""Functions of Python's library and of torch's modules that programs call as ops, or as our helpers."""

from __future__ import annotations

import cmath
import math
import warnings
from functools import cache
from typing import Any

import rushlight as torch
from rushlight._engine.dispatch.spellings import space_of
from rushlight._engine.lazy import our_module
from rushlight.backends import cudnn
from rushlight.jit.program import schema as schemas
from rushlight.jit.program.types import TENSOR
from rushlight.nn import init
from rushlight.nn.modules import utils

# cmath's functions whose ops have other names.
_OF_COMPLEX = {"phase": "angle", "rect": "polar"}


def place(found: Any) -> tuple[str, str, str]:
    """(namespace of an op's function, else ""; module; name)."""
    space, name = space_of(found)
    home = "rushlight" if space in ("torch", "Tensor") else f"rushlight.{space}"
    return (space, home, name) if space else ("", our_module(found), getattr(found, "__qualname__", ""))


def op_of(found: Any, module: str, name: str) -> str:
    """The op that a function of a module is; empty where it is none."""
    if found in (warnings.warn, torch.save):
        return f"aten::{found.__name__}"
    if found is torch.jit._unwrap_optional:
        return "aten::_unwrap_optional"
    if found is torch._C._infer_size:
        return "aten::_infer_size"
    if module == "rushlight.sparse" and schemas.named(f"aten::_sparse_{name}"):
        return f"aten::_sparse_{name}"
    if found is math.remainder:  # aten::remainder is %
        return "aten::mathremainder"
    if getattr(math, name, None) is found and _takes_numbers(name):
        return f"aten::{name}"
    if getattr(cmath, name, None) is found and _takes_numbers(_OF_COMPLEX.get(name, name)):
        return f"aten::{_OF_COMPLEX.get(name, name)}"
    return ""


def _takes_numbers(op: str) -> bool:
    return any(TENSOR not in [p.type for p in s.parameters] for s in schemas.named(f"aten::{op}"))


@cache
def _helpers() -> dict[Any, str]:
    tuples = ("_single", "_pair", "_triple", "_quadruple", "_list_with_default")
    found = {getattr(utils, name): name for name in tuples}
    fills = ("fill", "normal", "uniform", "zero")
    found |= {getattr(init, f"_no_grad_{name}_"): f"_no_grad_{name}_" for name in fills}
    return {**found, cudnn.is_acceptable: "is_acceptable"}


def helper_of(found: Any) -> str:
    """The name of a function that the library's helpers spell; empty for others."""
    try:
        return _helpers().get(found, "")
    except TypeError:  # no hash
        return ""
