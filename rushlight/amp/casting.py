"""What autocast does to ops: an interpreter in the dispatcher that casts operands by each row's policy.

The policies are told in ops/autocast.py. In-place forms and `out=` have none.
"""

from __future__ import annotations

import functools
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from rushlight._engine.autograd.grad_mode import LOCAL
from rushlight._engine.autograd.node import Node
from rushlight._engine.core import dtype as dt
from rushlight._engine.dispatch import interpreters
from rushlight._engine.ops.autocast import CHOSEN, CUDA, REFUSED
from rushlight._engine.tensors.tensor import Tensor
from rushlight._engine.transforms.levels import operands


class ToCopyBackward0(Node):
    """The node of a weight's cast."""

    __slots__ = ()

    def apply(self, grad: Tensor) -> Any:
        """The gradient in the weight's own type."""
        return (grad.to(dt.float32),)


class Casting:
    """Stands in a thread's dispatcher while autocast is on for a type of device, and keeps the weights it has
    cast.
    """

    casts = True

    def __init__(self, device: str, dtype: dt.dtype) -> None:
        self.device, self.dtype = device, dtype
        self.keeps_weights = True
        # id of a weight -> (the weight, its copies), until the outermost autocast is left. A copy made under
        # no_grad has no gradient: it may not serve a later product that needs one.
        self._weights: dict[int, tuple[weakref.ref[Tensor], dict[tuple[dt.dtype, bool], Tensor]]] = {}

    def run(self, row: Any, call: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> Any:
        """Cast the operands as the row's policy says, and run the op."""
        policy = row.autocast if self.device == "cpu" else CUDA.get(row.name, "keep")
        if policy == "by arguments":
            policy = CHOSEN[row.name](*args, **kwargs)
        elif policy == "refused" and self._concerned((*args, *kwargs.values())):
            raise RuntimeError(REFUSED[row.name])
        if policy in ("keep", "refused") or kwargs.get("out") is not None or getattr(call, "writes", False):
            return _run(row, call, args, kwargs)
        if policy == "through":
            return interpreters.within(self, call, args, kwargs)
        if policy == "promote":
            target = self._widest((*args, *kwargs.values()))
        else:
            target = self.dtype if policy == "lower" else dt.float32
        cast = functools.partial(self._cast, target)
        return _run(row, call, tuple(map(cast, args)), {k: cast(v) for k, v in kwargs.items()})

    def forget_weights(self) -> None:
        """Drop the casts of weights."""
        self._weights.clear()

    def _cast(self, target: dt.dtype, value: Any) -> Any:
        if isinstance(value, Tensor):
            if not castable(value, self.device) or value._kind.dtype is target:
                return value
            return self._weight(value, target) if self._is_weight(value, target) else value.to(target)
        if isinstance(value, (list, tuple)) and any(isinstance(v, Tensor) for v in value):
            return type(value)(self._cast(target, v) for v in value)
        return value

    def _is_weight(self, value: Tensor, target: dt.dtype) -> bool:
        return (
            self.keeps_weights
            and value._grad_node is not None
            and target is self.dtype
            and value._kind.dtype is dt.float32
            and value.is_leaf
        )

    def _weight(self, value: Tensor, target: dt.dtype) -> Tensor:
        known = self._weights.get(id(value))
        if known is None or known[0]() is not value:
            known = self._weights[id(value)] = weakref.ref(value), {}
        copy = known[1].get((target, True), known[1].get((target, LOCAL.enabled)))
        if copy is None:
            copy = known[1][target, LOCAL.enabled] = value.detach().to(target)
            if LOCAL.enabled:
                copy._grad_node, copy._output_nr = ToCopyBackward0(((value._grad_node, value._output_nr),)), 0
        return copy

    def _concerned(self, values: Sequence[Any]) -> bool:
        return any(castable(t, self.device) for t in operands(values))

    def _widest(self, values: Sequence[Any]) -> dt.dtype:
        widest = self.dtype
        for tensor in operands(values):
            if not castable(tensor, self.device) or dt.float32 is widest:
                continue
            dtype = tensor._kind.dtype
            if dtype is not dt.float32 and dtype is not widest:
                raise RuntimeError(
                    f"Unexpected floating ScalarType in at::autocast::prioritize: autocast runs in {widest}, "
                    f"but got a tensor of {dtype}. Convert it to {widest} or torch.float32"
                )
            widest = dtype
        return widest


def _run(row: Any, call: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run an op under the interpreters behind autocast; where there are none, by its generated function,
    which has plans.
    """
    short = None if interpreters.STACK.modes else getattr(call, "short", None)
    if short is None or [a for a in args if isinstance(a, Tensor) and a.__class__ not in interpreters.PLAIN]:
        return interpreters.interpret(row, call, args, kwargs)
    return short(*args, **kwargs)


def castable(tensor: Tensor, device: str) -> bool:
    """Whether autocast for a type of device changes the tensor's type: floating, not float64, and there."""
    kind = tensor._kind
    return kind.dtype.is_floating_point and kind.dtype is not dt.float64 and kind.device.type == device


class _Local(threading.local):
    """A thread's state: what autocast is set to for each type of device."""

    def __init__(self) -> None:
        self.enabled: dict[str, bool] = {}
        self.dtypes: dict[str, dt.dtype] = {}
        self.nesting = 0
        self.castings = {"cpu": Casting("cpu", dt.bfloat16), "cuda": Casting("cuda", dt.float16)}


THREAD = _Local()


def enable(device_type: str, enabled: bool) -> None:
    """Switch autocast on or off in this thread: an interpreter enters or leaves the dispatcher."""
    THREAD.enabled[device_type] = enabled
    casting = THREAD.castings.get(device_type)
    if casting is None or enabled == (casting in interpreters.STACK.modes):
        return
    if enabled:
        # Next to the kernels, and to compile(), which puts them off: what others in the dispatcher call goes
        # through it.
        modes = interpreters.STACK.modes
        at = next((i for i, m in enumerate(modes) if type(m) not in interpreters.MATCHERS), len(modes))
        modes.insert(at, casting)
        interpreters.MODES.append(casting)
    else:
        interpreters.pop(casting)
