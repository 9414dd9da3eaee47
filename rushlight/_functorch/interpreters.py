"""torch._C._functorch: the transforms that run, and what their tensors hold.

grad, vjp and jvp of a function have no wrapped tensors here: only vmap and forward mode are told.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum
from typing import Any
from weakref import WeakValueDictionary

from rushlight._engine.dispatch import interpreters
from rushlight._engine.tensors.tensor import Tensor
from rushlight._engine.transforms.batching import FALLBACK, Batched, Batching
from rushlight._engine.transforms.levels import Level, Wrapped, active, wrapper

TransformType = IntEnum("TransformType", "Torch Vmap Grad Jvp Functionalize", start=0)
RandomnessType = IntEnum("RandomnessType", "Error Same Different", start=0)
_single_level = [False]
# The levels that rules were told of: in lower() they do not stand in the dispatcher.
_LEVELS: WeakValueDictionary[int, Level] = WeakValueDictionary()


class CInterpreter:
    """A running transform, as an op with rules for transforms (HigherOrderOperator) is told of it."""

    def __init__(self, running: Level) -> None:
        self.running = running
        _LEVELS[running.number] = running

    def key(self) -> TransformType:
        """What kind of transform it is."""
        return TransformType.Vmap if isinstance(self.running, Batching) else TransformType.Jvp

    def level(self) -> int:
        """Its number: 1 for the outermost."""
        return self.running.number

    def batch_size(self) -> int:
        """How many examples a vmap maps over."""
        return self._mapping().size

    def randomness(self) -> str:
        """A vmap's: "error", "same" or "different"."""
        return self._mapping().randomness

    def _mapping(self) -> Batching:
        if not isinstance(self.running, Batching):
            raise TypeError(f"expected a running vmap, got {type(self.running).__name__}")
        return self.running

    @contextmanager
    def lower(self) -> Iterator[None]:
        """A context in which the transform does not run."""
        modes = interpreters.STACK.modes
        place = modes.index(self.running)
        inner, modes[place:] = modes[place:], []
        try:
            yield
        finally:
            modes.extend(inner)


def get_interpreter_stack() -> list[CInterpreter] | None:
    """The running transforms, the outermost first; None where none runs."""
    return [CInterpreter(level) for level in reversed(active())] or None


def peek_interpreter_stack() -> CInterpreter | None:
    """The innermost running transform."""
    return next(map(CInterpreter, active()), None)


def get_dynamic_layer_stack_depth() -> int:
    """How many transforms run."""
    return len(active())


def maybe_current_level() -> int | None:
    """The number of the innermost transform; None where none runs."""
    return next((level.number for level in active()), None)


def current_level() -> int:
    """The same; RuntimeError where none runs."""
    found = maybe_current_level()
    if found is None:
        raise RuntimeError("no transform of torch.func runs")
    return found


def is_batchedtensor(tensor: Tensor) -> bool:
    """Whether a tensor stands for the examples of a vmap."""
    return isinstance(tensor, Batched)


def is_functorch_wrapped_tensor(tensor: Tensor) -> bool:
    """Whether a tensor belongs to a vmap or to a forward-mode derivative."""
    return isinstance(tensor, Wrapped)


is_gradtrackingtensor = is_functorch_wrapped_tensor


def is_legacy_batchedtensor(tensor: Tensor) -> bool:
    """False: there is one vmap."""
    return False


is_functionaltensor = is_legacy_batchedtensor


def get_unwrapped(tensor: Tensor) -> Tensor:
    """What a tensor of a transform holds: of a vmap, the whole batch."""
    if not isinstance(tensor, Wrapped):
        raise RuntimeError("No wrappers present!")
    return tensor.value


def maybe_get_bdim(tensor: Tensor) -> int:
    """Where the batch lies in what a tensor holds: 0; -1 for tensors that are no batches."""
    return 0 if isinstance(tensor, Batched) else -1


def maybe_get_level(tensor: Tensor) -> int:
    """The number of the transform that a tensor belongs to; -1 where there is none, or where it is over."""
    return tensor.level.number if isinstance(tensor, Wrapped) and tensor.level.alive else -1


def dlevel(tensor: Tensor) -> int:
    """The same, with 0 for ordinary tensors."""
    return maybe_get_level(tensor) if isinstance(tensor, Wrapped) else 0


def _of(number: int) -> Level:
    found = {level.number: level for level in active()}.get(number) or _LEVELS.get(number)
    if found is None or not found.alive:
        raise RuntimeError(f"no transform of level {number} runs")
    return found


def _add_batch_dim(tensor: Tensor, dim: int, level: int) -> Tensor:
    """A tensor whose dim `dim` is the batch, as the examples of the vmap of that level."""
    return wrapper(Batched, tensor.movedim(dim, 0), _of(level))


def _remove_batch_dim(tensor: Any, level: int, batch_size: int, dim: int) -> Tensor:
    """The batch of a vmap's tensor, in dim `dim`; what has no batch is repeated `batch_size` times."""
    whole: Tensor = tensor.value if _of(level).holds(tensor) else tensor.expand(batch_size, *tensor.shape)
    return whole.movedim(0, dim)


def _vmap_increment_nesting(batch_size: int, randomness: str) -> int:
    """Begin a vmap; the number of its level."""
    return Batching(batch_size, randomness).__enter__().number


def _vmap_decrement_nesting() -> int:
    """End the innermost transform; the number of its level."""
    level = active()[0]
    level.__exit__(None, None, None)
    return level.number


def reshape_dim_into(source: int, destination: int, tensor: Tensor) -> Tensor:
    """A tensor of one dim less: `source` is joined to `destination` (counted without it), in front of it."""
    source %= tensor.ndim
    destination %= tensor.ndim - 1
    sizes = [n for i, n in enumerate(tensor.shape) if i != source]
    sizes[destination] *= tensor.shape[source]
    return tensor.movedim(source, destination).reshape(sizes)


def reshape_dim_outof(source: int, size: int, tensor: Tensor) -> Tensor:
    """A tensor of one dim more: dim `source` becomes one of `size` and one of the rest."""
    source %= tensor.ndim
    if size and tensor.shape[source] % size:
        raise RuntimeError(f"a dim of size {tensor.shape[source]} cannot be split by {size}")
    rest = tensor.shape[source] // size if size else 0
    return tensor.reshape(*tensor.shape[:source], size, rest, *tensor.shape[source + 1 :])


def get_single_level_autograd_function_allowed() -> bool:
    """What set_single_level_autograd_function_allowed was told."""
    return _single_level[0]


def set_single_level_autograd_function_allowed(allowed: bool) -> None:
    """Kept only: a Function has one level here."""
    _single_level[0] = allowed


def _is_vmap_fallback_enabled() -> bool:
    """Whether vmap runs ops that have no rule example by example."""
    return FALLBACK["enabled"]


def _set_vmap_fallback_enabled(enabled: bool) -> None:
    """Let vmap run ops that have no rule example by example, or raise there."""
    FALLBACK["enabled"] = bool(enabled)
