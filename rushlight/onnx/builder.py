"""An ONNX graph while it is written: nodes, constants, and values that know their dtypes and shapes."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from rushlight._engine.core import dtype as dt
from rushlight.export.numbers.symbolic import SIZES

_SIGNS: dict[type, str] = {ast.Add: "Add", ast.Sub: "Sub", ast.Mult: "Mul", ast.FloorDiv: "Div"}
_OF = {
    "bfloat16": TensorProto.BFLOAT16,
    "float8_e4m3fn": TensorProto.FLOAT8E4M3FN,
    "float8_e5m2": TensorProto.FLOAT8E5M2,
}


def element(dtype: Any) -> int:
    """ONNX's number of a dtype."""
    return _OF.get(dtype.name) or helper.np_dtype_to_tensor_dtype(np.dtype(dtype.np))


class Ref(str):
    """A value of the graph: its name, dtype, and shape (numbers and expressions; None where unknown)."""

    dtype: Any
    shape: Any

    @classmethod
    def of(cls, name: str, dtype: Any, shape: Any) -> Ref:
        """A value with these facts."""
        made = cls(name)
        made.dtype, made.shape = dtype, shape
        return made


class Builder:
    """Nodes and constants of a graph; a capital name is an ONNX op: `b.Add(x, y)`, `b.Softmax(x, axis=1)`."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: dict[str, Any] = {}
        self.sizes: dict[str, Ref] = {}
        self.names: set[str] = set()
        self.where, self.hint = "", "value"
        self.dtype: Any = dt.float32

    def fresh(self, wanted: str) -> str:
        """A name that nothing has."""
        name, number = wanted, 0
        while name in self.names:
            number += 1
            name = f"{wanted}_{number}"
        self.names.add(name)
        return name

    def __getattr__(self, op: str) -> Callable[..., Ref]:
        if not op[0].isupper():
            raise AttributeError(op)
        return self.op(op)

    def op(self, name: str) -> Callable[..., Ref]:
        """The function that adds a node of an op, by its name: op("Add")(a, b) is Add(a, b)."""
        return lambda *inputs, **attributes: self.node(name, inputs, attributes)

    def node(self, op: str, inputs: Sequence[Any], attributes: dict[str, Any]) -> Ref:
        """A node of one result, of the dtype of the first input unless the attribute to_dtype says
        another.
        """
        return self.node_of_several(op, inputs, attributes, 1)[0]

    def node_of_several(
        self, op: str, inputs: Sequence[Any], attributes: dict[str, Any], count: int
    ) -> list[Ref]:
        """A node of `count` results."""
        to = attributes.pop("to_dtype", None)
        like = next((v.dtype for v in inputs if isinstance(v, Ref)), self.dtype)
        names = ["" if v is None else self.value(v, like) for v in inputs]
        while names and not names[-1]:
            names.pop()
        results = [Ref.of(self.fresh(self.hint), to or like, None) for _ in range(count)]
        kept = {k: v for k, v in attributes.items() if v is not None}
        made = helper.make_node(op, names, list(results), name=self.fresh(f"node_{results[0]}"), **kept)
        made.doc_string = self.where
        self.nodes.append(made)
        return results

    def value(self, v: Any, like: Any = None) -> Ref:
        """A value: itself, a number in the dtype of `like`, a list of sizes as int64."""
        if isinstance(v, Ref):
            return v
        if isinstance(v, (list, tuple, *SIZES)):
            return self.shape([v] if isinstance(v, SIZES) else v)
        if not isinstance(v, np.ndarray):
            v = np.asarray(v, (like or self.dtype).np)
        return self.constant(v)

    def constant(self, array: Any, name: str | None = None, dtype: Any = None) -> Ref:
        """An array as a constant of the model."""
        dtype = dtype or dt.BY_NAME[array.dtype.name]
        for known, held in self.constants.items() if name is None and array.size < 64 else ():
            if held.dtype == array.dtype and held.shape == array.shape and held.tobytes() == array.tobytes():
                return Ref.of(known, dtype, array.shape)
        name = self.fresh(name or "constant")
        self.constants[name] = array
        return Ref.of(name, dtype, array.shape)

    def shape(self, sizes: Sequence[Any]) -> Ref:
        """Sizes as one int64 vector: numbers, expressions of sizes, and vectors of one size each."""
        if all(isinstance(n, (int, np.integer)) and not isinstance(n, SIZES) for n in sizes):
            return self.constant(np.array([int(n) for n in sizes], np.int64))
        parts = [n if isinstance(n, Ref) else self.size(n) for n in sizes]
        return parts[0] if len(parts) == 1 else self.node("Concat", parts, {"axis": 0, "to_dtype": dt.int64})

    def size(self, n: Any) -> Ref:
        """One size as a vector."""
        if not isinstance(n, SIZES):
            return self.constant(np.array([int(n)], np.int64))
        return self._tree(n.tree().body)

    def _tree(self, tree: Any) -> Ref:
        if isinstance(tree, ast.Constant):
            return self.size(tree.value)
        if isinstance(tree, ast.Name):
            return self.sizes[tree.id]
        parts = [self._tree(tree.left), self._tree(tree.right)]
        return self.node(_SIGNS[type(tree.op)], parts, {"to_dtype": dt.int64})

    def cast(self, v: Any, dtype: Any) -> Ref:
        """A value in another dtype."""
        ref = self.value(v)
        if ref.dtype is dtype:
            return ref
        made = self.node("Cast", [ref], {"to": element(dtype), "to_dtype": dtype})
        made.shape = ref.shape
        return made


def tensor(name: str, array: Any) -> TensorProto:
    """A constant as ONNX holds it."""
    code = _OF.get(array.dtype.name)
    if code is None:
        return numpy_helper.from_array(np.asarray(array, order="C"), name)
    return onnx.TensorProto(name=name, data_type=code, dims=array.shape, raw_data=array.tobytes())
