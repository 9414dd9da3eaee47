"""Plans of composites and views: a call's kernels and views, written down as one generated function of
arrays.

Only the kinds, layouts and attributes of the operands decide what a view does, or the body of a row that is
declared `planned`: it looks at no values and has no effects. So the second call with such arguments is
recorded by a Script, as compile() would do it, and later ones run the same kernels without any dispatch
(docs/decisions/08-generated-fast-paths.md). Operands that require gradients, interpreters and recorders go
through the body.

The body of a composite may hand operands that require gradients to one row that has a gradient of its own
(matmul to mm): then the plan runs that row's kernel and records its node.
"""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from itertools import repeat
from typing import Any

import numpy as np

from rushlight._engine.autograd.in_place import ViewStep, view_of
from rushlight._engine.core import dtype as dt
from rushlight._engine.core.accelerator import Interface
from rushlight._engine.core.callers import warn
from rushlight._engine.core.layout import in_order, result_order
from rushlight._engine.core.numpy_warnings import hush, raises_no_flags, restore
from rushlight._engine.core.recording import TAPE
from rushlight._engine.core.results import Result
from rushlight._engine.dispatch.generated_code import MAKING, compile_function, forget, keep, made
from rushlight._engine.dispatch.interpreters import MODES
from rushlight._engine.dispatch.node_names import keeps_constants, rename
from rushlight._engine.dispatch.off_cpu import as_tensors, backend_of
from rushlight._engine.dispatch.runners.array_bodies import all_there, tracked
from rushlight._engine.dispatch.runners.plan_loops import Loops
from rushlight._engine.dispatch.runners.recorded import HasResolve, recorded, row_kernel_of
from rushlight._engine.dispatch.runners.views import see, see_each
from rushlight._engine.ops.resolved import arrays_in
from rushlight._engine.ops.row_kernels import BIG, broad
from rushlight._engine.ops.signature import Param
from rushlight._engine.ops.table import Row
from rushlight._engine.tensors.tensor import Tensor, wrap_view

Run = Callable[..., Any]
_PLAIN = frozenset((int, float, bool, str, type(None), dt.dtype))
_SCOPE = {
    **MAKING,
    "see": see,
    "see_each": see_each,
    "hush": hush,
    "restore": restore,
    "array": np.asarray,
    "empty": np.empty,
    "zeros": np.zeros,
    "new_tuple": tuple.__new__,
}
_SCOPE["rename"] = rename


class Script:
    """A recorder (core/recording.py) of one call, in `lines` of Python on arrays."""

    fuses = False

    def __init__(self, strict: bool = False) -> None:
        """strict: fail where an array is read that no op made; numbers may be constants."""
        self.strict = strict
        self.names, self.lines, self.scope, self.failed = dict[int, str](), list[str](), dict(_SCOPE), False
        self.tensors: dict[int, Tensor] = {}  # by their arrays, which may be views
        self.quiet, self.waiting = True, list[Any]()  # whether no flags are raised; kernels that may change
        self.thread = threading.get_ident()
        self.operands = dict[int, str]()  # code of the tensors that were given
        self.rows = list[tuple[Any, Any, Any]]()  # (rules of the row's gradient, its arguments, its result)
        self.loops = dict[str, Loops]()  # by the lines that stand for them
        self.whose = dict[str, Loops]()  # by the names of their results
        self.number = 0  # of names given

    def run(self, function: Any, operands: tuple[Any, ...], result: Any, values: Any) -> None:
        """`result` (tensors) was made by function(*operands)."""
        if threading.get_ident() != self.thread:
            return
        self._know(values)
        found = recorded(function)
        self.rows.append((found.rules, values, result))
        if found.compiled is not None:
            arrays = operands[0]
            if self._kernel(found.compiled.kernel, arrays, result):
                return
            of = result._geometry
            method = "large" if of.size >= BIG or broad(of, arrays) else "fn"
            out = self._laid(arrays, found.compiled, result)
            self._call(f"{self._constant(found.compiled)}.{method}", arrays, result, out=out)
        elif found.reducer is not None:
            total = found.reducer.resolve(*operands)
            if self._added(getattr(total, "into", None), operands[0], result):
                return
            self.quiet = self.quiet and raises_no_flags(total)
            self._call(self._constant(total), operands[:1], result, raises_no_flags(total))
        else:
            kernel = row_kernel_of(found.body, operands)
            if kernel is not None and self._kernel(*kernel, result):
                return
            if kernel is None:
                self.quiet = self.quiet and found.row is not None and bool(found.row.options.get("quiet"))
            body, resolved = found.body, NotImplemented
            if isinstance(body, HasResolve):
                resolved = body.resolve(*operands)
            if resolved is not NotImplemented:
                body, operands = resolved, tuple(arrays_in(operands))
            self._call(self._constant(body), operands, result)

    def _laid(self, arrays: Sequence[Any], compiled: Any, result: Tensor) -> str:
        """Code for the memory of a pointwise result, where it is laid out by its operands; else empty."""
        if all([a.flags.c_contiguous for a in arrays]):
            return ""
        order = result_order(arrays, compiled.copied, compiled.beside)
        return self._line(f"{self._constant(partial(in_order, *order, result._array.dtype))}()")

    def _call(
        self, function: str, operands: Sequence[Any], result: Any, gives_array: bool = False, out: str = ""
    ) -> None:
        """A line that calls a function (code) on operands; `gives_array`: also of no dims."""
        into = [f"out={out}"] * bool(out)
        code = f"{function}({', '.join([*map(self._code, operands), *into])})"
        self._know(result)
        if isinstance(result, Tensor):
            if not (result._geometry.ndim or gives_array):
                code = f"array({code})"  # a ufunc gives a number
            self.names[id(result._array)] = self._line(code)
        else:
            name = self._line(code)
            self.names.update({id(t._array): f"array({name}[{i}])" for i, t in enumerate(result)})

    def _kernel(self, kernel: Any, arrays: Sequence[Any], result: Any) -> bool:
        """Call a kernel's loop, if it can be: whether it can. Kernels raise no floating-point flags."""
        return self._loop(kernel, arrays, result if isinstance(result, tuple) else (result,))

    def _loop(self, kernel: Any, arrays: Sequence[Any], results: tuple[Tensor, ...]) -> bool:
        """Call the loop of a kernel alone, if it has one that fits; the plan holds until it may have one."""
        # few programs that only have small tensors compile
        from rushlight._engine.kernels.runtime import small_calls

        if kernel.pending:
            self.waiting.append(kernel)
        outs = [t._array for t in results]
        if not small_calls.fits(kernel, arrays, outs) or small_calls.of_kernel(kernel, arrays, outs) is None:
            return False
        loops, standing = self._stand(arrays)
        made = self._fresh(loops, results)
        loops.stages += small_calls.of_kernel(kernel, standing, made) or ()
        return True

    def _added(self, into: Any, a: Any, result: Any) -> bool:
        """Add up few elements, if they lie densely: whether that is so."""
        if into is None or into(a, result._array) is None:
            return False
        loops, standing = self._stand((a,))
        loops.stages.append(into(*standing, *self._fresh(loops, (result,), zeros=True)))
        return True

    def _stand(self, arrays: Sequence[Any]) -> tuple[Loops, list[Any]]:
        """(the loops that nothing has followed yet, what stands there for arrays)."""
        label = self.lines.pop() if self.lines and self.lines[-1] in self.loops else f"loops {self._next()}"
        loops = self.loops.setdefault(label, Loops())
        standing = [self._standing(a, loops) for a in arrays]
        self.lines.append(label)  # behind what makes operands
        return loops, standing

    def _standing(self, a: Any, loops: Loops) -> Any:
        """What stands for an array."""
        found = loops.standing(a)
        if found is not None:
            return found
        view = None if id(a) in self.names or id(a) not in self.tensors else view_of(self.tensors[id(a)])
        if view is None or not view.base._array.flags.c_contiguous:
            return loops.given(a, self._code(a))
        self._know(view.base)
        self._standing(view.base._array, loops)
        return loops.view(a, view.base._array)

    def _fresh(self, loops: Loops, results: tuple[Tensor, ...], zeros: bool = False) -> list[Any]:
        """What stands for results."""
        made = []
        for t in results:
            self._know(t)
            name = self.names[id(t._array)] = f"r{self._next()}"
            self.whose[name] = loops
            made.append(loops.result(t._array, name, zeros))
        return made

    def whole(self) -> list[str]:
        """All lines."""
        # few programs that only have small tensors compile
        from rushlight._engine.kernels.runtime import small_calls

        found = list[str]()
        for line in self.lines:
            loops = self.loops.get(line)
            found += [line] if loops is None else loops.lines(self._constant, small_calls.joined)
        return found

    def function(self, names: Sequence[str], answer: str, title: str) -> Run | None:
        """The plan, of operands with these names; None where there can be none."""
        if self.failed:
            return None
        lines = [*self.whole(), f"return {answer}"]
        if not self.quiet:
            lines = ["token = hush()", "try:", *[f"    {s}" for s in lines], "finally:", "    restore(token)"]
        text = "\n    ".join([f"def plan({', '.join(names)}):", *lines])
        return compile_function(f"{text}\n", "plan", self.scope, title)

    def _next(self) -> int:
        self.number += 1
        return self.number

    def made_whole(self, t: Tensor) -> None:
        """How it is seen is asked now, since the tensor will not know."""
        self._know(t)
        self._code(t._array)

    def escape(self, *what: Any) -> None:
        """It cannot be repeated."""
        self.failed |= threading.get_ident() == self.thread

    def constant(self, array: Any) -> None:
        """Made from Python values."""

    write = backward_begins = escape

    def call(self, function: Callable[..., Any], *args: Any) -> Any:
        """It cannot be repeated; another thread does it when this call is through."""
        self.escape()
        if threading.get_ident() == self.thread:
            return None
        while self in TAPE:
            time.sleep(0)
        return function(*args)

    def accumulate(self, function: Callable[..., Any], node: Any, grad: Any, create: bool) -> None:
        """A leaf receives its gradient, maybe by another thread's backward pass."""
        self.escape()
        function(node, grad, create)

    def update(self, plan: Any, numbers: Any) -> bool:
        """Nothing is put off."""
        self.escape()
        return False

    def answer(self, found: Any) -> str:
        """Code for the result: operands, views of them, and fresh tensors, or a tuple of these and None."""
        if found is None and self.strict:
            return "None"
        if isinstance(found, tuple):
            if found.__class__ is tuple and (all_seen := self._all_seen(found)):
                return all_seen
            parts = "".join(f"{self.answer(f)}, " for f in found)
            if found.__class__ is tuple:
                return f"({parts})"
            cls = self._constant(type(found))  # as many as it takes
            return f"new_tuple({cls}, ({parts}))" if isinstance(found, Result) else f"{cls}({parts})"
        if not isinstance(found, Tensor) or found._kind.lazy:
            self.failed = True
            return ""
        self._know(found)
        return self._seen(found) or self._made(found)

    def tracked(self, found: Any) -> str:
        """Code for the result of the one row that ran, on the operands, and left its node behind."""
        node = getattr(found, "_grad_node", None)
        own = self.rows[0][0] if len(self.rows) == 1 else None
        if own is None or getattr(node, "rules", None) is not own or found._kind.lazy:
            self.failed = True
            return ""
        rules, values, results = self.rows[0]
        several = isinstance(results, tuple)
        parts = [self._made(t) for t in (results if several else (results,))]
        out = f"({', '.join(parts)},)" if several else parts[0]
        self.lines.append(f"{self._constant(rules.record)}(({''.join(map(self._given, values))}), {out})")
        answer: str = parts[found._output_nr]
        if node.__class__ is not rules.nodes[several]:
            self.failed |= keeps_constants(node)
            self.lines.append(f"rename({answer}, {node.__class__.__name__!r})")
        return answer

    def _given(self, value: Any) -> str:
        """Code of an argument of a row, and a comma."""
        if value.__class__ in (list, tuple) and any(isinstance(v, Tensor) for v in value):
            return f"[{''.join(map(self._given, value))}], "
        if isinstance(value, Tensor):
            self.failed |= id(value) not in self.operands
            return f"{self.operands.get(id(value))}, "
        return f"{self._constant(value)}, "

    def _made(self, found: Tensor) -> str:
        """The name of a fresh tensor."""
        t = f"t{self._next()}"
        self.lines += made(t, self._code(found._array), self._constant(found._kind), 0).splitlines()
        return t

    def _seen(self, t: Tensor) -> str:
        """Code for an operand or a view of one."""
        given = self.names.get(id(t._array), "")
        if given.endswith("._array"):
            return given.removesuffix("._array")
        view = view_of(t)
        of = "" if view is None or view.step is None else self._seen(view.base)
        return of and f"see({self._constant(view.step)}, {of})"  # type: ignore[union-attr]

    def _all_seen(self, found: tuple[Any, ...]) -> str:
        """Code for views of one operand."""
        views = [view_of(t) if isinstance(t, Tensor) and not t._kind.lazy else None for t in found]
        if len(found) < 2 or any(v is None or v.step is None or v.base is not views[0].base for v in views):  # type: ignore[union-attr]
            return ""
        given = self.operands.get(id(views[0].base))  # type: ignore[union-attr]
        steps = tuple([v.step for v in views])  # type: ignore[union-attr]
        return "" if given is None else f"see_each({self._constant(steps)}, {given})"

    def step_of(self, found: Any) -> Any:
        """The step of one view of an operand, if that is the result and nothing else ran: then it is the plan
        (general.py has `see` take it); else None.
        """
        view = view_of(found) if isinstance(found, Tensor) else None
        return view.step if view is not None and id(view.base) in self.operands else None

    def _line(self, code: str) -> str:
        name = f"r{self._next()}"
        self.lines.append(f"{name} = {code}")
        return name

    def _constant(self, value: Any) -> str:
        self.scope[f"c{len(self.scope)}"] = value
        return f"c{len(self.scope) - 1}"

    def _know(self, *values: Any) -> None:
        for value in values:
            if isinstance(value, Tensor) and value._kind.lazy:
                self.failed = True
            elif isinstance(value, Tensor):
                self.tensors[id(value._array)] = value
            elif isinstance(value, (tuple, list)):
                self._know(*value)

    def _code(self, value: Any) -> str:
        """Code for an operand."""
        if value.__class__ in (list, tuple) and any(isinstance(v, (np.ndarray, list, tuple)) for v in value):
            return f"({''.join(f'{self._code(v)}, ' for v in value)})"
        self.failed |= isinstance(value, (dict, Tensor))
        if id(value) not in self.names and id(value) in self.tensors:
            view = view_of(self.tensors[id(value)])
            if view is None or view.step is None:
                self.failed = True
                return ""
            self._know(view.base)
            step = ViewStep(*view.step)
            function, args = self._constant(step.function), self._constant(step.args)
            self.names[id(value)] = self._line(f"{function}({self._code(view.base._array)}, *{args})")
        name = self.names.get(id(value))
        if name in self.whose:
            self.whose[name].seen.add(name)
        if name is None and self.strict and isinstance(value, np.ndarray) and value.ndim:
            self.failed = True
        return name or self._constant(value)


def planner(row: Row, run: Run) -> Run:
    """A runner with what the dispatcher needs: plans, and learn(key, *values), NotImplemented at first."""
    plans: dict[Any, Any] = {}
    tried: dict[Any, Any] = {}
    forget(plans, tried)

    takes_tracked = row.kind == "composite" and row.vjp is None

    def learn(key: Any, *values: Any) -> Any:
        if Interface.platform is not None and row.kind == "composite":
            backend = backend_of(values)
            if backend is not None:
                return away(backend, key, values)
        if tried.get(key) or TAPE:
            return NotImplemented
        keep(tried, key, key in tried)
        if not tried.get(key) or not all(map(_plain, row.params, values, repeat(row.kind == "view"))):
            return NotImplemented
        found, plan, waiting = _recorded(row, run, list(values), takes_tracked and tracked(values))
        if plan is not None:
            keep(plans, key, plan)
            for kernel in waiting:
                kernel.on_ready(lambda _: renew(key))
        return found

    def away(backend: Any, key: Any, values: Sequence[Any]) -> Any:
        if row.vjp is not None or TAPE or MODES or not all_there(values, backend) or tracked(values):
            return NotImplemented
        made = backend.run_composite(row.name, run, values)
        ready = None if made is NotImplemented else backend.ready_composite(row.name, values)
        if ready is not None:
            keep(plans, key, _Away(row, run, values, ready))
        return made

    def renew(key: Any) -> None:
        plans.pop(key, None)
        tried[key] = False

    planned = partial(run)  # which has attributes, and is no frame for warnings to count
    planned.__dict__.update(plans=plans, learn=learn, takes_tracked=takes_tracked)
    planned.__dict__["record"] = getattr(run, "record", None)
    return planned


class _Away:
    """The plan of a composite on a device: `ready` for arrays that begin at multiples of 256 bytes, each in
    memory of its own; the body for others.
    """

    def __init__(self, row: Row, run: Run, values: Sequence[Any], ready: Run) -> None:
        self.run, self.ready = run, ready
        self.given = [
            None if p.is_tensor or p.is_list else v for p, v in zip(row.params, values, strict=True)
        ]
        self.places = [i for i, p in enumerate(row.params) if p.is_tensor or p.is_list]

    def __call__(self, *operands: Any) -> Any:
        if TAPE:
            return self._slowly(operands)
        arrays = []
        for t in operands:
            if t.__class__ in (list, tuple):
                arrays += [one._array for one in t]
            elif isinstance(t, Tensor):
                arrays.append(t._array)
        apart = 0
        for a in arrays:
            apart |= a.address
        if apart & 255 or (len(arrays) > 1 and len({id(a.handle) for a in arrays}) != len(arrays)):
            return self._slowly(operands)
        return as_tensors(self.ready(*arrays))

    def _slowly(self, operands: Sequence[Any]) -> Any:
        values = list(self.given)
        for place, t in zip(self.places, operands, strict=True):
            values[place] = t
        return self.run(*values)


def _plain(p: Param, value: Any, views: bool) -> bool:
    """Whether a plan may hold for all arguments that look like this one; views: of a row that makes views."""
    if isinstance(value, Tensor):
        return p.is_tensor and (not value._kind.special or (views and value._kind.backend is not None))
    if p.is_list:
        return all(isinstance(t, Tensor) and not t._kind.special for t in value)
    return (
        value.__class__ in _PLAIN and (value.__class__ is not float or value != 0 or value is p.default)
    ) or (value.__class__ in (tuple, list) and all(v.__class__ is int for v in value))


def _recorded(row: Row, run: Run, values: list[Any], tracked: bool) -> tuple[Any, Run | None, list[Any]]:
    """(the result of run(*values), the plan of such calls, kernels with which it may become another)."""
    script, operands = Script(), [p for p in row.params if p.is_tensor or p.is_list]
    script.failed = any(p.name in _SCOPE for p in operands)  # which the plan's own names would be

    def note(t: Any, name: str) -> Any:
        if isinstance(t, Tensor):
            if id(t._array) in script.names:  # an operand that is given twice
                script.failed |= tracked
                t = t if tracked else wrap_view(t._array[...], t)
            script.names[id(t._array)] = f"{name}._array"
            script.operands[id(t)] = name
        return t

    for i, p in enumerate(row.params):
        values[i] = (
            [note(t, f"{p.name}[{j}]") for j, t in enumerate(values[i])]
            if p.is_list
            else note(values[i], p.name)
        )
    found = listened(script, run, *values)
    answer = script.tracked(found) if tracked else script.answer(found)
    if script.failed:
        return found, None, []
    if len(operands) == 1 and operands[0].is_tensor and not script.lines:
        step = script.step_of(found)
        if step is not None:
            return found, step, []
    names = [p.name for p in operands]
    return found, script.function(names, answer, f"plan {row.name}"), script.waiting


def listened(script: Script, run: Run, *values: Any) -> Any:
    """What run(*values) gives, which a script records; it fails where that warns."""
    MODES.append(script)
    TAPE.append(script)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = run(*values)
    finally:
        TAPE.remove(script)
        MODES.remove(script)
    for w in caught:
        script.failed = True
        warn(w.message, w.category)
    return found
