"""checkpoint(use_reentrant=False): a call's saved tensors are dropped, and computed again for backward.

Each tensor that the call saves leaves a `_Place` in its node. The first place that backward opens runs the
call again under other hooks, which put what is saved this time in the places' order. Values belong to one
run of backward; another run (retain_graph) computes them again.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from types import SimpleNamespace
from typing import Any

import numpy as np

import rushlight as torch
from rushlight._engine.autograd.hooks import current_run
from rushlight._engine.autograd.saved_tensor_hooks import only_repeats
from rushlight._engine.tensors.tensor import wrap
from rushlight._engine.transforms.levels import Wrapped
from rushlight.utils.ambient import Ambient
from rushlight.utils.oplog import OpLog, report

_TIP = (
    "\n\nTip: To see a more detailed error message, either pass `debug=True` to "
    "`torch.utils.checkpoint.checkpoint(...)` or wrap the code block with `with "
    "torch.utils.checkpoint.set_checkpoint_debug_enabled(True):`."
)


class CheckpointError(RuntimeError):
    """The repeated call did not save what the first one did."""


class _Stop(Exception):
    """Everything that is needed has been computed again."""


SETTINGS: Any = SimpleNamespace(early_stop=None, debug=None)


def noop_context_fn() -> tuple[Any, Any]:
    """Contexts that do nothing."""
    return nullcontext(), nullcontext()


def _metadata(t: Any) -> dict[str, Any]:
    return {"shape": t.shape, "dtype": t.dtype, "device": t.device}


_CHECKS: dict[str, Callable[[Any], Any]] = {"default": _metadata, "none": lambda t: None}


class _Place:
    """What a node holds in the stead of a saved tensor; its values by the run of backward."""

    __slots__ = ("values", "metadata", "__weakref__")

    def __init__(self, metadata: Any) -> None:
        self.metadata = metadata
        # None where the value has been handed out.
        self.values: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()


class _Arguments(torch.autograd.Function):
    """Keeps the call's tensors as a node's saved tensors, so that hooks around the checkpoint see them."""

    @staticmethod
    def forward(ctx: Any, dummy: Any, *tensors: Any) -> Any:
        """An empty tensor whose node holds `tensors`."""
        ctx.save_for_backward(*tensors)
        return _nothing()

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        """Nobody flows through here."""
        raise RuntimeError("a checkpoint's arguments have no gradient here")


def _nothing() -> Any:
    """A tensor of no elements, which no graph holds."""
    return wrap(np.empty(0, np.float32))


class _Frame:
    """One call under checkpoint."""

    def __init__(self, function: Callable[..., Any], args: Any, kwargs: Any) -> None:
        values = [*args, *kwargs.values()]
        # What a level of vmap or of forward mode wraps is kept as it is: only that level could open it.
        self.tensor_at = [isinstance(v, torch.Tensor) and not isinstance(v, Wrapped) for v in values]
        tensors = [v for v, is_tensor in zip(values, self.tensor_at, strict=True) if is_tensor]
        self.function, self.names, self.count = function, tuple(kwargs), len(args)
        self.others = [v for v, is_tensor in zip(values, self.tensor_at, strict=True) if not is_tensor]
        with torch.enable_grad():
            self.kept = _Arguments.apply(_nothing().requires_grad_(), *tensors).grad_fn
        self.places: list[weakref.ref[_Place]] = []
        self.done: weakref.WeakSet[Any] = weakref.WeakSet()
        # Whether the first call has ended, and whether a backward within it had the call repeated: what that
        # saves beyond what the first call had saved so far is no mistake.
        self.complete, self.within = False, False

    def arguments(self) -> tuple[list[Any], dict[str, Any]]:
        """The call's arguments, with the tensors' own places in the graph."""
        tensors, others = iter(self.kept.saved_tensors), iter(self.others)
        values = [next(tensors) if is_tensor else next(others) for is_tensor in self.tensor_at]
        return values[: self.count], dict(zip(self.names, values[self.count :], strict=True))


class _Checkpoint:
    """A frame and how it is to be repeated."""

    def __init__(self, frame: _Frame, ambient: Ambient, context: Any, check: Any, early_stop: bool) -> None:
        self.frame, self.ambient, self.context = frame, ambient, context
        self.check, self.early_stop = check, early_stop
        # The debug logs of both calls; the second is also the context of the repetition.
        self.logs: tuple[OpLog, OpLog] | None = None

    def hooks(self) -> Any:
        """The hooks of the first call."""

        @only_repeats
        def pack(t: Any) -> _Place:
            place = _Place(self.check(t))
            self.frame.places.append(weakref.ref(place))
            return place

        return torch.autograd.graph.saved_tensors_hooks(pack, self._value)

    @only_repeats
    def _value(self, place: _Place) -> Any:
        run = current_run() or _NoRun()
        if run not in self.frame.done:
            try:
                self._repeat(run)
                self._compare(run)
            except CheckpointError as error:
                if self.logs is None:
                    raise
                raise CheckpointError(report(*self.logs) + str(error)) from None
        value = place.values.get(run)
        if value is None:
            raise CheckpointError(
                "torch.utils.checkpoint: Unpack is being triggered for a tensor that was already unpacked "
                "once. If you are calling ctx.saved_tensor in backward, make sure to do so only once."
            )
        place.values[run] = None
        return value

    def _repeat(self, run: Any) -> None:
        frame, recomputed = self.frame, 0
        args, kwargs = frame.arguments()

        @only_repeats
        def pack(t: Any) -> Any:
            nonlocal recomputed
            number, recomputed = recomputed, recomputed + 1
            if number >= len(frame.places):
                if self.early_stop:
                    raise _Stop
                if not frame.complete:
                    frame.within = True
                    return t.detach()
                raise CheckpointError(
                    "torch.utils.checkpoint: trying to save more tensors during "
                    f"recomputation than during the original forward pass.{_TIP}"
                )
            place = frame.places[number]()
            if place is not None:
                place.values[run] = t.detach()
            if self.early_stop and recomputed == len(frame.places):
                raise _Stop
            return t.detach()

        try:
            with (
                self.ambient.again(),
                self.context,
                torch.enable_grad(),
                torch.autograd.graph.saved_tensors_hooks(pack, only_repeats(lambda t: t)),
            ):
                frame.function(*args, **kwargs)
        except _Stop:
            pass
        frame.done.add(run)
        if recomputed != len(frame.places) and not frame.within:
            raise CheckpointError(
                "torch.utils.checkpoint: A different number of tensors was saved during the original forward "
                f"and recomputation.\nNumber of tensors saved during forward: {len(frame.places)}\n"
                f"Number of tensors saved during recomputation: {recomputed}.{_TIP}"
            )

    def _compare(self, run: Any) -> None:
        found = []
        for number, reference in enumerate(self.frame.places):
            place = reference()
            if place is None:
                continue
            value = place.values.get(run)
            if value is not None and self.check(value) != place.metadata:
                found.append(
                    f"tensor at position {number}:\nsaved metadata: {place.metadata}\n"
                    f"recomputed metadata: {self.check(value)}\n"
                )
        if found:
            raise CheckpointError(
                "torch.utils.checkpoint: Recomputed values for the following tensors have "
                f"different metadata than during the forward pass.\n{''.join(found)}{_TIP}"
            )


class _NoRun:
    """Stands for a run where a saved tensor is asked for outside of backward."""


@contextmanager
def first_call(
    function: Callable[..., Any],
    args: Any,
    kwargs: dict[str, Any],
    preserve: bool,
    context_fn: Any,
    determinism_check: str,
    debug: bool,
    early_stop: bool,
) -> Iterator[None]:
    """What the block saves for backward is dropped; backward calls `function` for it, as the block does."""
    if determinism_check not in _CHECKS:
        raise ValueError(f"determinism_check should be one of {list(_CHECKS)}, but got {determinism_check}")
    debug = debug if SETTINGS.debug is None else SETTINGS.debug
    if debug and context_fn is not noop_context_fn:
        raise ValueError("debug=True is incompatible with non-default context_fn")
    logs = (OpLog(), OpLog()) if debug else None
    first, again = logs or context_fn()
    if not torch.is_grad_enabled():
        yield
        return
    checkpoint = _Checkpoint(
        _Frame(function, args, kwargs),
        Ambient(preserve),
        again,
        _CHECKS[determinism_check],
        early_stop if SETTINGS.early_stop is None else SETTINGS.early_stop,
    )
    checkpoint.logs = logs
    with checkpoint.hooks(), first:
        yield
    checkpoint.frame.complete = True


def run(function: Callable[..., Any], args: Any, kwargs: dict[str, Any], *how: Any) -> Any:
    """Call `function` under hooks that drop what it saves; how: first_call's further arguments."""
    with first_call(function, args, kwargs, *how):
        return function(*args, **kwargs)
