"""torch.utils.checkpoint: memory for time. What a part of the program would keep for backward is computed
again there instead.

`checkpoint` has PyTorch's two ways: by saved-tensor hooks (use_reentrant=False, utils/recomputing.py), and by
a Function that runs a backward inside backward (use_reentrant=True, utils/reentrant.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from importlib import import_module
from typing import Any

import rushlight as torch
from rushlight._engine.core.callers import warn
from rushlight._engine.core.recording import TAPE, region
from rushlight._engine.names.alternatives import attribute
from rushlight.utils import recomputing
from rushlight.utils.ambient import get_device_states, set_device_states
from rushlight.utils.recomputing import CheckpointError, first_call as first_call, noop_context_fn
from rushlight.utils.reentrant import CheckpointFunction, check_backward_validity, detach_variable

__all__ = [
    "CheckpointError",
    "CheckpointFunction",
    "DefaultDeviceType",
    "check_backward_validity",
    "checkpoint",
    "checkpoint_sequential",
    "detach_variable",
    "get_device_states",
    "noop_context_fn",
    "set_checkpoint_debug_enabled",
    "set_checkpoint_early_stop",
    "set_device_states",
]
_SELECTIVE = (
    "CheckpointPolicy",
    "SelectiveCheckpointContext",
    "create_selective_checkpoint_contexts",
    "SAC_IGNORED_OPS",
)
__all__ += _SELECTIVE
ContextFn = Callable[[], tuple[AbstractContextManager[Any], AbstractContextManager[Any]]]


def __getattr__(name: str) -> Any:
    if name in _SELECTIVE:
        return getattr(import_module("rushlight.utils.selective"), name)
    return attribute("rushlight.utils.checkpoint", name)


class DefaultDeviceType:
    """The kind of device whose random state counts where no argument lies on one; the CPU's always does."""

    _default_device_type: str | None = None

    @staticmethod
    def set_device_type(device: str = "cuda") -> None:
        """Say which: "cuda", "cpu"."""
        DefaultDeviceType._default_device_type = device

    @staticmethod
    def get_device_type() -> str:
        """What was said; else that of the accelerator, or "cpu"."""
        if not DefaultDeviceType._default_device_type:
            found = torch.accelerator.current_accelerator(True)
            DefaultDeviceType._default_device_type = found.type if found is not None else "cpu"
        return DefaultDeviceType._default_device_type


def set_checkpoint_early_stop(enable: bool) -> AbstractContextManager[None]:
    """Inside, calls of checkpoint stop recomputing at the last saved tensor (True) or never (False)."""
    return _set("early_stop", enable)


def set_checkpoint_debug_enabled(enabled: bool | None) -> AbstractContextManager[None]:
    """Inside, what checkpoint's argument `debug` says is overruled; None: it is not."""
    return _set("debug", enabled)


@contextmanager
def _set(name: str, value: bool | None) -> Iterator[None]:
    settings = recomputing.SETTINGS
    before = getattr(settings, name)
    setattr(settings, name, value)
    try:
        yield
    finally:
        setattr(settings, name, before)


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: ContextFn = noop_context_fn,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    **kwargs: Any,
) -> Any:
    """function(*args, **kwargs), of which nothing but the arguments is kept: backward calls it again.

    use_reentrant: False for the way that PyTorch recommends; True (a with a warning the default) needs an
    argument that requires gradients, takes no keywords, and refuses autograd.grad. preserve_rng_state (True):
    draw the same random numbers again. context_fn: gives two context managers, for the call and for its
    repetition. determinism_check: "default" compares shapes, dtypes and devices of what is saved, "none"
    does not. debug: errors list the ops of both calls. early_stop: stop at the last tensor that is needed.
    """
    if TAPE and region() is not None:
        from rushlight._higher_order_ops.wrap import tag_activation_checkpoint  # few programs are recorded

        told = {} if use_reentrant is None else {"use_reentrant": use_reentrant}
        told |= {name: kwargs[name] for name in kwargs if name == "preserve_rng_state"}
        function = tag_activation_checkpoint.around(function, told)
    if use_reentrant is None:
        _warn(
            "torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly. Starting in "
            "PyTorch 2.9, calling checkpoint without use_reentrant will raise an exception."
        )
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if not use_reentrant:
        return recomputing.run(
            function, args, kwargs, preserve, context_fn, determinism_check, debug, early_stop
        )
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    if context_fn is not noop_context_fn or debug is not False:
        raise ValueError("Passing `context_fn` or `debug` is only supported when use_reentrant=False.")
    return CheckpointFunction.apply(function, preserve, *args)


def checkpoint_sequential(
    functions: Any, segments: int, input: Any, use_reentrant: bool | None = None, **kwargs: Any
) -> Any:
    """A Sequential (or list of functions) run in `segments` parts, all but the last under checkpoint.

    preserve_rng_state: as checkpoint's.
    """
    if use_reentrant is None:
        _warn(
            "torch.utils.checkpoint.checkpoint_sequential: the use_reentrant parameter should be passed "
            "explicitly. In version 2.9 we will raise an exception if use_reentrant is not passed."
        )
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    steps = list(functions.children()) if isinstance(functions, torch.nn.Sequential) else list(functions)
    size = len(steps) // segments
    for start in range(0, size * (segments - 1), size):
        input = checkpoint(
            _part(steps[start : start + size]),
            input,
            use_reentrant=use_reentrant,
            preserve_rng_state=preserve,
        )
    return _part(steps[size * (segments - 1) :])(input)


def _part(steps: list[Callable[[Any], Any]]) -> Callable[[Any], Any]:
    def run(input: Any) -> Any:
        for step in steps:
            input = step(input)
        return input

    return run


def _warn(text: str) -> None:
    warn(
        f"{text} use_reentrant=False is recommended, but if you need to preserve the current "
        "default behavior, you can pass use_reentrant=True. Refer to docs for more details on the "
        "differences between the two variants."
    )
