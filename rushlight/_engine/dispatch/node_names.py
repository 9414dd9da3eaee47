"""PyTorch's names of nodes, where an op's own name is not the one.

PyTorch numbers the overloads of an op (SumBackward1 has dims), and has one node for some ops that
are several rows here: then the last row's node takes the name of the whole.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from rushlight._engine.autograd.node import TRACES, keep_constants, next_seq, show_saved
from rushlight._engine.dispatch.nodes.saved_arguments import Saved
from rushlight._engine.ops.table import Row
from rushlight._engine.tensors.tensor import Tensor, wrap

# In place of a name: the node is a part of another, by whose name PyTorch calls the whole.
INSIDE = "-"
Values = Mapping[str, Any]
Label = str | Callable[[Values], str | None]


def _numbered(name: str, test: Callable[[Values], bool | int]) -> Callable[[Values], str]:
    """The name with test(values) as its number."""
    return lambda v: f"{name}Backward{int(test(v))}"


def _given(name: str, parameter: str = "dim") -> Callable[[Values], str]:
    return _numbered(name, lambda v: v[parameter] is not None)


def _tensor(name: str, parameter: str) -> Callable[[Values], str]:
    return _numbered(name, lambda v: isinstance(v[parameter], Tensor))


def _number(name: str, parameter: str) -> Callable[[Values], str]:
    return _numbered(name, lambda v: not isinstance(v[parameter], Tensor))


def _over(name: str, suffix: str = "Backward0") -> Callable[[Values], str]:
    """Names with the number of spatial dims: AvgPool2D."""
    return lambda v: f"{name}{v['input'].ndim - 2}D{suffix}"


def _power(v: Values) -> str:
    first, second = (isinstance(v[n], Tensor) for n in ("input", "exponent"))
    return f"PowBackward{0 if not second else 1 if first else 2}"


def _extreme(name: str) -> Callable[[Values], str | None]:
    return lambda v: f"{name}Backward1" if v["dim"] is None and v["other"] is None else None


def _nll(v: Values) -> str | None:
    if v.get("label_smoothing"):
        return None
    if v["target"].dtype.is_floating_point:
        return "DivBackward1" if v["reduction"] == "mean" else None
    many = v["input"].ndim > 2
    return (
        None
        if many and v["input"].ndim != 4 and v["reduction"] == "none"
        else ("NllLoss2DBackward0" if many else "NllLossBackward0")
    )


def _matmul(v: Values) -> str:
    dims = min(v["input"].ndim, 3), min(v["other"].ndim, 3)
    return _PRODUCTS.get(dims, "UnsafeViewBackward0")


_PRODUCTS = {
    (1, 1): "DotBackward0",
    (2, 2): "MmBackward0",
    (2, 1): "MvBackward0",
    (1, 2): "SqueezeBackward4",
    (2, 3): "CloneBackward0",
}


def _linear(v: Values) -> str:
    two = v["input"].ndim == 2
    if v["bias"] is not None:
        return "AddmmBackward0" if two else "ViewBackward0"
    return "MmBackward0" if two else ("SqueezeBackward4" if v["input"].ndim == 1 else "UnsafeViewBackward0")


def _resampled(v: Values) -> str:
    n = v["input"].ndim - 2
    if v["mode"] == "area":
        return f"AdaptiveAvgPool{n}DBackward0"
    name = "".join(part.capitalize() for part in v["mode"].split("-"))
    return f"Upsample{name}{n}D{'Aa' if v['antialias'] else ''}Backward0"


def _padded(v: Values) -> str | None:
    name = {"reflect": "ReflectionPad", "replicate": "ReplicationPad"}.get(v["mode"])
    return name and f"{name}{len(v['pad']) // 2}DBackward0"


def _averaged(dims: int) -> Label:
    def name(v: Values) -> str:
        size = v["output_size"]
        ones = all(s == 1 for s in (size if isinstance(size, (tuple, list)) else (size,)))
        return "MeanBackward1" if ones else f"AdaptiveAvgPool{dims}DBackward0"

    return name


with open(os.path.join(os.path.dirname(__file__), "node_names.tsv"), encoding="utf-8") as _file:
    _LABELS: dict[str, Label] = {row: label for row, label in map(str.split, _file)}
_LABELS |= {
    # overloads
    "sum": _given("Sum"),
    "mean": _given("Mean"),
    "prod": _given("Prod"),
    "pow": _power,
    "max": _extreme("Max"),
    "min": _extreme("Min"),
    "scatter": _number("Scatter", "src"),
    "masked_fill": _tensor("MaskedFill", "value"),
    "index_fill": _tensor("IndexFill", "value"),
    "lerp": _tensor("Lerp", "weight"),
    "remainder": _tensor("Remainder", "other"),
    "clamp_min": _tensor("ClampMin", "min"),
    "clamp_max": _tensor("ClampMax", "max"),
    "fmod": _tensor("Fmod", "other"),
    "rsub": _number("Rsub", "other"),
    "fill": _tensor("Fill", "value"),
    "copysign": _number("Copysign", "other"),
    "clamp": _numbered("Clamp", lambda v: not any(isinstance(v.get(n), Tensor) for n in ("min", "max"))),
    "round": _numbered("Round", lambda v: v["decimals"] != 0),
    "squeeze": _numbered(
        "Squeeze",
        lambda v: 0 if v["dim"] is None else 1 + (isinstance(v["dim"], tuple) and len(v["dim"]) > 1),
    ),
    "sub": lambda v: "SubBackward0" if isinstance(v["input"], Tensor) else "RsubBackward1",
    "_true_divide": lambda v: "DivBackward0" if isinstance(v["input"], Tensor) else "MulBackward0",
    "div": lambda v: v["rounding_mode"] and "DivBackward2",
    # what PyTorch makes of other ops
    "matmul": _matmul,
    "linear": _linear,
    "nll_loss": _nll,
    "cross_entropy": _nll,
    "interpolate": _resampled,
    "pad": _padded,
    "adaptive_avg_pool2d": _averaged(2),
    "adaptive_avg_pool3d": _averaged(3),
    "norm": lambda v: None if v["p"] == "nuc" else "LinalgVectorNormBackward0",
    "linalg_cond": lambda v: "SqueezeBackward1" if v["p"] is None else None,
    "repeat_interleave": lambda v: (
        "ViewBackward0" if isinstance(v["repeats"], int) else "IndexSelectBackward0"
    ),
    "trapezoid": lambda v: "MulBackward1" if v["x"] is None else "DivBackward1",
    "cumulative_trapezoid": lambda v: "CumsumBackward0" if v["x"] is None else "DivBackward1",
    "stft": lambda v: None if v["return_complex"] is False else "TransposeBackward1",
    **dict.fromkeys(
        ("grid_sample", "grid_sampler", "grid_sampler_2d", "grid_sampler_3d"), _over("GridSampler")
    ),
    "unique": lambda v: "Unique2Backward0" if v["dim"] is None else "UniqueDimBackward0",
    "split": lambda v: (
        "SplitBackward0" if isinstance(v["split_size_or_sections"], int) else "SplitWithSizesBackward0"
    ),
}


# The nodes of these hold constants of the op's own only, which backward() may use again.
_SAVING_NOTHING = ("Upsample", "AffineGridGenerator")


def keeps_constants(node: Any) -> bool:
    """Whether a node of this name may be gone through again by backward()."""
    return bool(node.__class__.__name__.startswith(_SAVING_NOTHING))


def label(row: Row) -> Label | None:
    """The name of a row's node, or a function of the arguments by name; None: the usual one."""
    return _LABELS.get(row.name)


def rename(t: Tensor, name: str) -> Tensor:
    """Give the node of a fresh result another name."""
    if t._grad_node is not None:
        t._grad_node.__class__ = _renamed(t._grad_node.__class__, name)
        if TRACES.listener is not None:
            TRACES.listener(t)
    return t


def labelled(row: Row, body: Callable[..., Any]) -> Callable[..., Any]:
    """A composite's body, the last nodes of which get the name of the whole."""
    rule = label(row)
    if rule is None:
        return body
    names = [p.name for p in row.params]

    def run(*values: Any) -> Any:
        start = next_seq()
        out = body(*values)
        if out.__class__ is Tensor and (out._grad_node is None or out._grad_node.seq < start):
            return out
        for t in (out,) if isinstance(out, Tensor) else out:
            if isinstance(t, Tensor) and t._grad_node is not None and t._grad_node.seq > start:
                found = rule if isinstance(rule, str) else rule(dict(zip(names, values, strict=True)))
                if found:
                    rename(t, found)
                    if found.startswith(_SAVING_NOTHING):
                        keep_constants(t._grad_node, start)
        return out

    return run


_classes: dict[tuple[type, str], type] = {}
# The bias first, where linear has it last.
_ORDERS = {"AddmmBackward0": (2, 0, 1)}


def _renamed(cls: type, name: str) -> type:
    """A node's class under another name."""
    if cls.__name__ == name:
        return cls
    found = _classes.get((cls, name))
    if found is None:
        found = _classes[cls, name] = type(name, (cls,), {"__slots__": (), "shown": _ORDERS.get(name, ())})
    return found


def name_of(node: Any) -> str:
    """The name of the overload that a row's node stands for: worked out when someone looks."""
    return named(type(node), getattr(node.saved, "_shapes", None), getattr(node.saved, "_values", ()))


def place(node: Any) -> Any:
    """What `named` takes to find the name later, where that keeps no tensor; else the class of that name."""
    cls, saved = node.__class__, node.saved
    if saved.__class__ is not Saved:
        return cls
    return _renamed(cls, name_of(node)) if saved.tensors() else (cls, saved._shapes, saved._values)


def place_by_shapes(node: Any) -> Any:
    """The same, where nothing but the operands' shapes decides."""
    cls, saved = node.__class__, node.saved
    return cls if saved.__class__ is not Saved else (cls, saved._shapes)


def named(cls: Any, shapes: Any, values: Any = ()) -> str:
    """The same without the node."""
    plain = cls is cls.rules.nodes[cls.multi] and shapes is not None
    named = cls.rules.naming(_Given(dict(zip(cls.rules.places, shapes)), values)) if plain else None
    return str(named or cls.__name__)


def settle(node: Any) -> Any:
    """A row's node under that name."""
    node.__class__ = cls = _renamed(type(node), name_of(node))
    show_saved(cls)
    return node


_ZERO = np.zeros(1, np.float32)


class _Given(dict[str, Any]):
    """The arguments that a node was recorded with; a tensor that was not kept, by its shape."""

    def __init__(self, shapes: Any, values: Any) -> None:
        super().__init__(values)
        self._shapes = shapes

    def __getitem__(self, name: str) -> Any:
        shape = self._shapes.get(name)
        return _shaped(shape) if isinstance(shape, tuple) else self.get(name)


@lru_cache(maxsize=256)
def _shaped(shape: tuple[int, ...]) -> Tensor:
    return wrap(np.ndarray(shape, np.float32, _ZERO, 0, (0,) * len(shape)))


def variant(classes: Mapping[bool, type], rule: Label | None, values: Values) -> Mapping[bool, type]:
    """A formula's classes of nodes under the name that these operands give."""
    name = None if rule is None or isinstance(rule, str) else rule(values)
    return classes if name is None else {flag: _renamed(c, name) for flag, c in classes.items()}
