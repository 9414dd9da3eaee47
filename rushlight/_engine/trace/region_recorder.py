"""The recorder in TAPE while a call is matched (matching.py): what the engine tells it, it tells the
region.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np

from rushlight._engine.autograd import hooks
from rushlight._engine.autograd.grad_mode import LOCAL
from rushlight._engine.core.pytree import tree_map
from rushlight._engine.core.recording import TAPE, constant
from rushlight._engine.dispatch.interpreters import MODES, STACK
from rushlight._engine.lazy import our_module
from rushlight._engine.numerics.rng import default_engine
from rushlight._engine.ops.table import ROWS
from rushlight._engine.tensors.geometry import contiguous_format
from rushlight._engine.tensors.gradient import Gradient, as_kept
from rushlight._engine.tensors.lazy_views import Pending
from rushlight._engine.tensors.tensor import Tensor, wrap
from rushlight._engine.trace import walks
from rushlight._engine.trace.guards import VisibleTensors
from rushlight._engine.trace.recorder import Array, flat


class Suspended:
    """While what runs is run as if a region were not there."""

    def __init__(self, region: Any) -> None:
        self.region, self.at = region, -1

    def __enter__(self) -> None:
        region, modes = self.region, STACK.modes
        if region in modes:
            self.at = modes.index(region)
            del modes[self.at]
        TAPE.remove(region.recorder)
        MODES.remove(region)

    def __exit__(self, *error: object) -> None:
        region = self.region
        TAPE.append(region.recorder)
        MODES.append(region)
        if self.at >= 0:
            STACK.modes.insert(self.at, region)


class Whole:
    """A call of an op of a program's own, `op`, which graphs that are handed over hold as one: `target`.

    The op must say the shapes of its results (register_fake), or be made of others.
    """

    acts = True

    def __init__(self, trace: Any, op: Any) -> None:
        self.trace, self.op, self.target = trace, op, op._opoverload
        self.name = str(op)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """What the op gives, of which the region hears nothing else."""
        region = self.trace.region
        if region is None or region.recorder not in TAPE:
            return self.op._call(args, kwargs)
        with Suspended(region):
            out = self.op._call(args, kwargs)
            told = self._tells(args, kwargs, out)
        if region.unit is not None:
            region.unit.nodes.clear()  # its result is tracked by none
            given = tree_map(_array_of, (list(args), kwargs))
            region.recorder.run(self, tuple(given), out, None)
            if not told:
                region.unit.fail("the shape of a result depends on values")
        return out

    def _tells(self, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any) -> bool:
        """Whether the op gives, without values, results of these shapes."""
        engine = default_engine()
        before = engine.get_state()
        try:
            given = tree_map(_on_meta, (list(args), kwargs))
            if any(isinstance(v, Tensor) for v in flat(given)):
                said = self.op._call(tuple(given[0]), given[1])
            else:  # none is there that lies on meta
                said = self.target.faked(args, kwargs)
        except Exception:  # of whatever kind: a function of the program's
            return False
        finally:
            engine.set_state(before)
        return [t.shape for t in flat(said) if isinstance(t, Tensor)] == [
            t.shape for t in flat(out) if isinstance(t, Tensor)
        ]


def silent(op: Any, leaves: Iterable[Any]) -> bool:
    """Whether an op of a program's own does not say what it gives of these, or writes to what it is given."""
    writes = op._mutates or (op._schema is not None and op._schema.writes)
    tells = "Meta" in op._kernels or (op._composite and any(isinstance(v, Tensor) for v in leaves))
    return bool(writes) or not tells


def holds_tensors(op: Any) -> bool:
    """Whether what an op of a program's own is made of can see tensors that it is not given."""
    return any(VisibleTensors(kernel).known() for kernel in op._kernels.values())


def _array_of(value: Any) -> Any:
    return value._array if isinstance(value, Tensor) else value


def _on_meta(value: Any) -> Any:
    return value.to("meta") if isinstance(value, Tensor) else value


class RegionRecorder:
    """The recorder of a region: what is told to a recorder is in core/recording.py."""

    fuses = True
    once = ""

    def __init__(self, region: Any) -> None:
        self.region = region
        # Whose ops it hears: the region's.
        self.thread = 0

    def run(self, function: Any, operands: tuple[Any, ...], result: Any, values: Any) -> None:
        """An op ran."""
        unit = self.region.listener()
        if unit is not None:
            unit.run(function, operands, result)

    def write(self, function: Any, operands: tuple[Any, ...], values: Any) -> None:
        """An op wrote to memory."""
        unit = self.region.listener()
        if unit is not None:
            unit.write(function, operands)

    def check(self, function: Callable[..., Any], arrays: tuple[Any, ...]) -> None:
        """Values were looked at."""
        unit = self.region.listener()
        if unit is not None:
            unit.check(function, arrays)

    def call(self, function: Callable[..., Any], *args: Any) -> Any:
        """Python of the package that looks at memory: run as it is."""
        if function is getattr(Gradient.grad, "fset"):
            return None  # who says so sets it himself
        unit = self.region.listener()
        if unit is not None:
            unit.fail("it calls what may do anything")
        elif self.region.mine() and args == (True,) and _forgets(function):
            return self.region.aside(function, args)  # whom gradients belong to is no memory
        here = unit is None and self.region.mine()
        return self.region.eagerly(function, args, {}) if here else function(*args)

    def update(self, plan: Any, numbers: list[float]) -> bool:
        """An optimizer steps a bucket of parameters (updates.py): whether that is put off."""
        return self.region.update(plan, numbers) if self.region.mine() else False

    def accumulate(self, function: Callable[..., Any], node: Any, grad: Tensor, create: bool) -> None:
        """A leaf receives its gradient."""
        leaf = node.variable
        if (
            leaf is None
            or not self.region.mine()
            or create
            or leaf.grad is not None
            or (not self.region.pending(grad))
            or not leaf._geometry.flags.c_contiguous
        ):
            self.region.events += 1  # a walk that is learnt would have to do that, too
            function(node, grad, create)
            return
        grad = as_kept(leaf, grad)
        alone = sys.getrefcount(grad) <= _ALONE and grad._grad_node is None and self.region.alone(grad)
        leaf._grad = grad if alone else ROWS["clone"](grad, memory_format=contiguous_format)
        if self.region.trail is not None:
            self.region.trail.append((self.region.node, "leaf", node, leaf._grad))
        if node.hooks is not None:
            hooks.accumulated(node, leaf)

    def alias(self, t: Tensor, other: Tensor) -> None:
        """`other` is going to be a second tensor of the same memory."""
        if self.region.unit is not None:
            self.region.unit.aliases.append((t, other))
        elif other.__class__ is Tensor:
            self.region.also(t, other)

    def backward_begins(self) -> None:
        """Nothing: the ops of a backward pass are like others."""

    def walk(self, function: Callable[..., None], roots: Any, keep: bool, *how: Any) -> None:
        """A whole backward pass: at once where it is known (walks.py)."""
        region, modes = self.region, STACK.modes
        plain = how == _TO_LEAVES and len(roots) == 1 and not LOCAL.enabled and not walks.heard()
        region.walked = True
        if plain and modes and modes[-1] is region:
            walks.walk(region, function, roots, keep, how)
        else:
            region.ones.clear()
            function(roots, keep, *how)

    def one(self, t: Tensor, dtype: Any) -> Tensor:
        """The gradient that the pass through the graph of a scalar begins with: the same tensor as long as
        passes are known as a whole, in which nobody gets to see it.
        """
        kind, ones = t._kind, self.region.ones
        here = self.region.mine() and self.region.unit is None
        found: Tensor | None = ones.get(kind) if here else None
        if found is None:
            found = wrap(constant(np.ones((), dtype)), kind)
        if here:
            ones[kind] = found
            hidden = getattr(t, "_hidden", None)
            if hidden.__class__ is Pending:
                ones[hidden] = found
        return found

    def known_one(self, t: Tensor) -> Any:
        """The same where the pass of a scalar at the same place of the trace has begun with it."""
        region = self.region
        try:
            hidden = _hidden(t)
        except AttributeError:
            return None
        known = hidden.__class__ is Pending and region.mine() and region.unit is None
        return region.ones.get(hidden) if known else None

    def run_node(self, node: Any, grad: Any) -> Any:
        """What a node's rule gives: at once where it is known (matchers.py)."""
        region, modes = self.region, STACK.modes
        if LOCAL.enabled or not modes or modes[-1] is not region:
            return node.apply(grad)
        key, values = node.__class__, (node, grad)
        take = region.known.get(key)
        if take is not None:
            found = take(region, values)
            if found is not NotImplemented:
                return found
        mark = region.mark(key)
        return region.learnt(key, mark, values, node.apply(grad))

    def constant(self, array: Array) -> None:
        """Python made values."""
        unit = self.region.listener()
        if unit is not None:
            unit.constant(array)

    def escape(self, what: str, breaks: bool = True) -> None:
        """A value is about to leave: who reads it makes the region compute it."""
        unit = self.region.listener()
        if unit is not None:
            unit.repeats = False
            unit.fail(what)
        elif self.region.mine() and "hook" not in what:
            self.region.events += 1  # a matcher would repeat what was done for these values
            self.region.note(what, breaks)
            self.region.settle()

    def warned(self) -> None:
        """A warning is given: what runs is not taken at once, or not yet."""
        unit = self.region.listener()
        if unit is not None:
            unit.warned = True
        elif self.region.mine():
            self.region.events += 1

    def settle(self) -> None:
        """Memory is to be written to."""
        if self.region.unit is None and self.region.mine():
            self.region.settle()

    def settle_draws(self) -> None:
        """A generator's state is asked for."""
        region = self.region
        if region.unit is None and region.mine():
            region.events += 1
            if region.node.effects:
                region.settle()


_hidden = Tensor.__dict__["_hidden"].__get__
# Of a backward pass (autograd/engine.py): it is not tracked itself, all leaves are wanted, and accumulate.
_TO_LEAVES = (False, None, True)


def _forgets(function: Any) -> bool:
    """Whether it is the zero_grad() that all optimizers have."""
    of = getattr(function, "__func__", None)
    return getattr(of, "__qualname__", "") == "Optimizer.zero_grad" and (
        our_module(of) == "rushlight.optim.optimizer"
    )


def _calibrate() -> int:
    # How many references are held to a gradient on its way to accumulate(), as in autograd/hooks.py.
    class Receiver:
        def accumulate(self, function: Any, node: Any, grad: Any, create: bool) -> int:
            return sys.getrefcount(grad)

    add = partial(Receiver().accumulate, None)
    buffers = {0: object()}
    grad = buffers.pop(0)
    return add(None, grad, False)


_ALONE = _calibrate()
