"""The graph nodes of x[...]: lean ones, since programs index in inner loops.

Their gradients are those of the rows `_basic` and `index`; where the gradient itself is recorded or
an interpreter stands in the dispatcher, the rows' own rules are asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rushlight._engine.autograd.grad_mode import LOCAL
from rushlight._engine.autograd.node import TRACES, Node, backward_name, new, next_seq
from rushlight._engine.autograd.saved_tensors import check_version, version_of
from rushlight._engine.dispatch.interpreters import MODES
from rushlight._engine.numerics import advanced_indexing
from rushlight._engine.ops.indexing.reads import BASIC
from rushlight._engine.ops.table import ROWS
from rushlight._engine.tensors.tensor import Tensor, wrap


def _node(kind: type[Node], self: Tensor, out: Tensor, saved: Any) -> None:
    node = new(kind)
    node.next = ((self._grad_node, self._output_nr),)
    node.seq = next_seq()
    node.hooks = None
    node.saved = saved
    out._grad_node = node
    if TRACES.record is not None:
        TRACES.record(node)


# --- views ----------------------------------------------------------------------------------------


def _view_gradient(node: Any, grad: Tensor) -> list[Any]:
    shape, _, basic, ones = node.saved
    if LOCAL.enabled or MODES or grad._kind.off_cpu:
        into = grad.new_zeros(shape)
        BASIC(into, basic, ones).copy_(grad)
        return [into]
    array = np.zeros(shape, grad._geometry.dtype)
    advanced_indexing.view(array, basic, ones)[...] = grad._array
    return [wrap(array, grad._kind)]


# PyTorch names a view after the last step of making it.
_VIEWS = {
    step: type(backward_name(step), (Node,), {"__slots__": (), "apply": _view_gradient})
    for step in ("select", "slice", "unsqueeze", "alias")
}


def _view_again(out: Tensor, values: Sequence[Any]) -> None:
    record_view(values[0], out, *values[1:])


def record_view(self: Tensor, out: Tensor, basic: tuple[Any, ...], ones: tuple[int, ...], last: str) -> None:
    """Leave the node of a view behind."""
    if TRACES.asked:
        TRACES.how = _view_again, out, (self, basic, ones, last)
    _node(_VIEWS[last], self, out, (self._geometry.shape, (), basic, ones))


# --- index tensors --------------------------------------------------------------------------------


def _index_gradient(node: Any, grad: Tensor) -> list[Any]:
    shape, kept = node.saved
    indices = [None if k is None else check_version(node, *k) for k in kept]
    if LOCAL.enabled or MODES or grad._kind.off_cpu:
        return [ROWS["index_put"](grad.new_zeros(shape), indices, grad, True)]
    array = np.zeros(shape, grad._geometry.dtype)
    advanced_indexing.write(array, [None if i is None else i._array for i in indices], grad._array, True)
    return [wrap(array, grad._kind)]


_INDEX = type("IndexBackward0", (Node,), {"__slots__": (), "apply": _index_gradient, "release": Node.let_go})


def record_index(self: Tensor, out: Tensor, indices: tuple[Tensor | None, ...]) -> None:
    """Leave the node of a read at index tensors behind."""
    kept = [None if i is None else (i, version_of(i)) for i in indices]
    _node(_INDEX, self, out, (self._geometry.shape, kept))
