"""Composites by plans: the kernels and views that a body ran, written down as one generated function.

Kinds, layouts and attributes alone decide what the bodies of the rows in PLANNED do: they look at no
numbers and leave nothing behind. The second call with such arguments is recorded as compile() would, and
later ones run the arrays through the same kernels without any dispatch. Tracked operands, interpreters and
recorders go by the body.
"""
from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from rushlight.base import dtype as dt
from rushlight.base.quiet import hush, restore
from rushlight.base.tape import TAPE
from rushlight.dispatch.formula import BIG, Formula
from rushlight.dispatch.reducing import Reducer
from rushlight.dispatch.source import compile_function, keep
from rushlight.dispatch.state import MODES
from rushlight.dispatch.viewing import see
from rushlight.ops.signature import Param
from rushlight.ops.table import Row
from rushlight.tensor.tensor import Tensor, wrap, wrap_view

Run = Callable[..., Any]
PLANNED = frozenset("""
    movedim narrow as_strided reshape flatten ravel unflatten broadcast_to split split_with_sizes unbind chunk
    tensor_split diag trace tile fliplr flipud sum_to_size expand_copy squeeze_copy unsqueeze_copy diff
    addmm baddbmm addmv addbmm addr outer inner matmul linalg_vecdot kron cross linalg_cross
    var std var_mean std_mean max min aminmax prod vector_norm _p_norm norm dist isclose logsumexp _logsumexp
    softmax log_softmax _functional_softmax _functional_log_softmax glu cosine_similarity pairwise_distance
    mse_loss l1_loss smooth_l1_loss huber_loss binary_cross_entropy_with_logits kl_div nll_loss cross_entropy
    layer_norm rms_norm group_norm batch_norm instance_norm torch_layer_norm torch_group_norm
    max_pool1d_function max_pool2d_function max_pool3d_function _max_pool1d_plain _max_pool2d_plain
    _max_pool3d_plain avg_pool1d avg_pool2d avg_pool3d adaptive_avg_pool1d adaptive_avg_pool2d
    adaptive_avg_pool3d adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d
    conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d unfold_columns
    pad interpolate grid_sample pixel_shuffle pixel_unshuffle channel_shuffle stft
    hstack vstack dstack column_stack stack cat""".split())
_PLAIN = frozenset((int, float, bool, str, type(None), dt.dtype))
_every: list[dict[Any, Any]] = []


class Script:
    """A recorder (base/tape.py) of one call, in `lines` of Python on arrays."""

    def __init__(self, names: dict[int, str]) -> None:
        self.names, self.lines, self.failed, self.hushed = names, list[str](), False, False
        self.scope: dict[str, Any] = {"see": see, "wrap": wrap, "hush": hush, "restore": restore,
                                      "array": lambda r: r if r.__class__ is np.ndarray else np.asarray(r)}
        self.tensors: dict[int, Tensor] = {}  # by their arrays, which may be views
        self.thread = threading.get_ident()

    def run(self, function: Run, operands: tuple[Any, ...], result: Any, values: Any) -> None:
        """`result` (tensors) was made by function(*operands)."""
        if threading.get_ident() == self.thread:
            self._know(values)
            found = self._kernel(function, operands)
            bare = isinstance(result, Tensor) and not result._a.ndim  # a ufunc gives a number
            self._hold(self._line(f"array({found})" if bare else found), result)

    def escape(self, *what: Any) -> None:
        """It cannot be repeated."""
        self.failed |= threading.get_ident() == self.thread

    def constant(self, array: Any) -> None:
        """Made from Python values."""

    write = call = accumulate = escape

    def answer(self, found: Any, given: dict[int, str]) -> str:
        """Code for the result: operands, views of them, and fresh tensors, or a tuple of these."""
        if isinstance(found, tuple):
            parts = "".join(f"{self.answer(f, given)}, " for f in found)
            return f"({parts})" if found.__class__ is tuple else f"{self._constant(type(found))}({parts})"
        if not isinstance(found, Tensor):
            self.failed = True
            return ""
        base = getattr(found, "_b", (None,))
        if id(found) in given:
            return given[id(found)]
        if id(base[0]) in given and base[-1] is not None:
            return f"see({self._constant(base[-1])}, {given[id(base[0])]})"
        self._know(found)
        return f"wrap({self._code(found._a)})"

    def _kernel(self, function: Any, operands: Any) -> str:
        """Code for a kernel's call."""
        if getattr(function, "func", None) is Formula.compute:
            way = "large" if any(a.size >= BIG for a in operands[0]) else "fn"
            function, operands = f"{self._constant(function.args[0])}.{way}", operands[0]
        elif getattr(function, "__func__", None) is Reducer.run:
            self.hushed = True
            function, operands = self._constant(function.__self__.way(*operands)), operands[:1]
        else:
            options = function.row.options if hasattr(function, "row") else {}
            self.hushed |= not options.get("quiet")
            function = self._constant(getattr(function, "body", function))
        return f"{function}({', '.join(map(self._code, operands))})"

    def function(self, name: str, operands: str, answer: str) -> Run:
        """The plan."""
        lines = [f"    {line}" for line in self.lines]
        if self.hushed:
            lines = ["    token = hush()", "    try:", *[f"    {line}" for line in lines],
                     "    finally:", "        restore(token)"]
        text = "\n".join([f"def plan({operands}):", *lines, f"    return {answer}", ""])
        return compile_function(text, "plan", self.scope, f"plan {name}")

    def _line(self, code: str) -> str:
        self.lines.append(f"r{len(self.lines)} = {code}")
        return f"r{len(self.lines) - 1}"

    def _constant(self, value: Any) -> str:
        name = f"c{len(self.scope)}"
        self.scope[name] = value
        return name

    def _know(self, value: Any) -> None:
        if isinstance(value, Tensor):
            self.tensors[id(value._a)] = value
        elif isinstance(value, (tuple, list)):
            for item in value:
                self._know(item)

    def _hold(self, name: str, result: Any) -> None:
        self._know(result)
        if isinstance(result, Tensor):
            self.names[id(result._a)] = name
        elif isinstance(result, (tuple, list)):
            for i, item in enumerate(result):
                self._hold(f"array({name}[{i}])", item)

    def _code(self, value: Any) -> str:
        """Code for an operand."""
        if value.__class__ in (list, tuple) and any(isinstance(v, (np.ndarray, list, tuple)) for v in value):
            return f"({''.join(f'{self._code(v)}, ' for v in value)})"
        self.failed |= isinstance(value, (dict, Tensor))
        if id(value) in self.names:
            return self.names[id(value)]
        t = self.tensors.get(id(value))
        if t is None:
            return self._constant(value)
        base = getattr(t, "_b", (None,))
        if base[-1] is None:
            self.failed = True
            return ""
        self._know(base[0])
        *_, function, args = base[-1]
        self.names[id(value)] = name = self._line(
            f"{self._constant(function)}({self._code(base[0]._a)}, *{self._constant(args)})")
        return name


def planner(row: Row, run: Run) -> Run:
    """A composite's runner with what the door needs: `plans`, and whether a call is `due` to `learn`."""
    plans: dict[Any, Any] = {}
    tried: dict[Any, Any] = {}
    _every.extend((plans, tried))
    spots = [i for i, p in enumerate(row.params) if p.is_tensor or p.is_list]

    def due(key: Any, *values: Any) -> bool:
        if tried.get(key) or TAPE:
            return False
        keep(tried, key, key in tried)
        return tried[key] and all(_plain(p, v) for p, v in zip(row.params, values, strict=True))

    def learn(key: Any, *values: Any) -> Any:
        found, plan = _recorded(row, run, values, spots)
        if plan is not None:
            keep(plans, key, plan)
        return found
    planned: Any = partial(run)  # which has attributes, and is no frame for warnings to count
    planned.plans, planned.due, planned.learn = plans, due, learn
    return planned  # type: ignore[no-any-return]


def _plain(p: Param, value: Any) -> bool:
    """Whether a plan may hold for all arguments that look like this one."""
    if isinstance(value, Tensor):
        return p.is_tensor and not value._k.on_meta
    if p.is_list:
        return all(isinstance(t, Tensor) and not t._k.on_meta for t in value)
    return (value.__class__ in _PLAIN and (value.__class__ is not float or value != 0 or value is p.default)
            or value.__class__ is tuple and all(v.__class__ is int for v in value))


def _recorded(row: Row, run: Run, values: tuple[Any, ...], spots: list[int]) -> tuple[Any, Run | None]:
    """(the result of run(*values), the plan of such calls)."""
    given, names, own = dict[int, str](), dict[int, str](), list(values)

    def note(t: Any, name: str) -> Any:
        if isinstance(t, Tensor):
            t = t if id(t._a) not in names else wrap_view(t._a[...], t)  # an operand that is given twice
            given[id(t)], names[id(t._a)] = name, f"{name}._a"
        return t
    for i in spots:
        name = row.params[i].name
        own[i] = [note(t, f"{name}[{j}]") for j, t in enumerate(own[i])] if row.params[i].is_list else \
            note(own[i], name)
    script = Script(names)
    MODES.append(script)
    TAPE.append(script)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = run(*own)
    finally:
        TAPE.remove(script)
        MODES.remove(script)
    script.failed |= bool(caught)
    for w in caught:
        warnings.warn(w.message, w.category, stacklevel=4)
    answer = script.answer(found, given)
    if script.failed:
        return found, None
    if not script.lines and answer.startswith("see(") and len(spots) == 1:
        return found, partial(see, script.scope[answer[4:].split(",")[0]])
    return found, script.function(row.name, ", ".join(row.params[i].name for i in spots), answer)


def _forget() -> None:
    """Plans depend on the default dtype."""
    for plans in _every:
        plans.clear()


dt.on_default_change.append(_forget)
