"""torch.Generator: a stream of random numbers with a seed and a state that can be saved."""

from __future__ import annotations

from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from rushlight._engine.core import accelerator
from rushlight._engine.core.device import device as Device
from rushlight._engine.core.recording import TAPE, settle, settle_draws
from rushlight._engine.lazy import package
from rushlight._engine.numerics.rng import Engine, default_engine
from rushlight._engine.tensors.kind import unavailable
from rushlight._engine.tensors.tensor import Tensor, wrap


class Generator:
    """Generator(device="cpu"): random numbers of its own, equal to PyTorch's for equal seeds.

    None is the CPU.
    Raises AssertionError or RuntimeError for devices other than the CPU.
    """

    __module__ = f"{package()}._C"

    __slots__ = ("_own", "__weakref__")

    def __init__(self, device: Any = "cpu") -> None:
        if device is not None and not isinstance(device, (str, int, Device)):
            kind = type(device).__name__
            raise TypeError(f"Generator(): argument 'device' (position 1) must be torch.device, not {kind}")
        where = Device("cpu" if device is None else device)
        if where.type == "meta":
            raise RuntimeError("META device type not an accelerator.")
        platform = accelerator.platform() if where.type == "cuda" else None
        if where.type != "cpu" and platform is None:
            raise unavailable(where, RuntimeError, "Cannot get CUDA generator without ATen_cuda library")
        self._own: Any = Engine() if platform is None else platform.backend(where).new_generator()
        _MADE[id(self)] = self

    @property
    def engine(self) -> Any:
        """The array-level engine behind this generator."""
        return default_engine() if self._own is None else self._own

    @property
    def device(self) -> Device:
        """Where its numbers are drawn."""
        return getattr(self._own, "where", None) or Device("cpu")

    def manual_seed(self, seed: int) -> Generator:
        """Restart from `seed`, an int in [-2^63, 2^64); returns this generator."""
        if isinstance(seed, np.integer):
            raise TypeError(
                "an integer is required: manual_seed takes a Python int, not "
                f"{type(seed).__name__}; write int(seed)"
            )
        if type(seed) is not int:
            raise RuntimeError(f"manual_seed expected a long, but got {type(seed).__name__}")
        settle()
        self.engine.manual_seed(seed)
        return self

    def seed(self) -> int:
        """Restart from a seed of the operating system; returns it."""
        settle()
        return int(self.engine.seed())

    def initial_seed(self) -> int:
        """The seed that the numbers started from."""
        return int(self.engine.initial_seed)

    def get_state(self) -> Tensor:
        """The state as a uint8 tensor of 5056 bytes, in PyTorch's layout."""
        settle_draws()
        engine = self.engine
        found = wrap(engine.get_state())
        if TAPE:
            TAPE[-1].run(engine.get_state, (), found, ())
        return found

    def set_state(self, new_state: Tensor) -> Generator:
        """Resume from what `get_state` gave, here or in PyTorch; returns this generator."""
        if not isinstance(new_state, Tensor):
            raise TypeError(f"expected a torch.ByteTensor, but got {type(new_state).__name__}")
        if new_state.dtype.name != "uint8":
            raise TypeError(f"RNG state must be a torch.ByteTensor, got a tensor of {new_state.dtype}")
        settle()
        engine = self.engine
        engine.set_state(new_state._array)
        if TAPE:
            TAPE[-1].write(engine.set_state, (new_state._array,), (new_state,))
        return self

    def clone_state(self) -> Generator:
        """A new generator that will give the same numbers as this one."""
        other = Generator(self.device)
        other.set_state(self.get_state())
        return other

    def graphsafe_get_state(self) -> Generator:
        """A CUDA device's state itself, no copy: what is drawn from here on moves it on. The CPU's refuse."""
        if self.device.type == "cuda":
            return around(self._own)
        raise NotImplementedError("graphsafe_get_state is not supported in this Generator; use get_state()")

    def graphsafe_set_state(self, state: Generator) -> Generator:
        """Draw from a state itself, which graphs may be drawing from, too; of CUDA devices alone."""
        if self.device.type != "cuda":
            raise NotImplementedError(
                "graphsafe_set_state is not supported in this Generator; use set_state()"
            )
        if state.device != self.device:
            raise RuntimeError(f"a state of {state.device} is none for a generator of {self.device}")
        there, given = self._own.backend, state._own
        if there.philox is self._own:  # whoever names no generator draws from it
            there.philox = given
        self._own = given
        return self

    def get_offset(self) -> int:
        """How many numbers each thread has drawn, of a CUDA device's; refused by the CPU's."""
        if self.device.type == "cuda":
            return int(self._own.offset)
        raise RuntimeError("CPU Generator does not use offset; save get_state() instead")

    def set_offset(self, offset: int) -> Generator:
        """Let a CUDA device's go on after so many numbers, a multiple of 4; refused by the CPU's."""
        if self.device.type == "cuda":
            if offset % 4:
                raise RuntimeError("offset must be a multiple of 4")
            self._own.offset = offset
            return self
        raise RuntimeError("CPU Generator does not use offset; use set_state() instead")

    def __reduce__(self) -> tuple[Any, ...]:
        return Generator, (self.device,), (self.initial_seed(), None, self.get_state())

    def __setstate__(self, state: tuple[int, None, Tensor]) -> None:
        self.manual_seed(state[0])
        self.set_state(state[2])


# Those that programs have made.
_MADE: WeakValueDictionary[int, Generator] = WeakValueDictionary()


def all_made() -> list[Generator]:
    """The generators that programs have made, and that are still there."""
    return [g for g in [reference() for reference in _MADE.valuerefs()] if g is not None]


def around(engine: Any = None) -> Generator:
    """The generator of an engine; of the one that is used where none is named if None."""
    made: Generator = object.__new__(Generator)
    made._own = engine
    return made


# Names the engine that is used where none is given, without making it: that would load NumPy's
# random module at start-up.
default_generator = around()
