"""torch.cuda where there is a device: seeds and states of its generators."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rushlight._engine.devices.cuda.api import backend, index_of, platform
from rushlight._engine.tensors.generator import Generator, around
from rushlight._engine.tensors.tensor import Tensor, wrap


def manual_seed(seed: int) -> None:
    """Restart the current device's generator from a seed."""
    backend().philox.manual_seed(int(seed))


def manual_seed_all(seed: int) -> None:
    """Restart the generators of all devices from a seed."""
    platform().manual_seed(int(seed))


def seed() -> None:
    """Restart the current device's generator from a seed of the operating system."""
    backend().philox.seed()


def seed_all() -> None:
    """Restart the generators of all devices from one seed of the operating system."""
    manual_seed_all(backend().philox.seed())


def initial_seed() -> int:
    """The seed that the current device's numbers started from."""
    return backend().philox.initial_seed


def get_rng_state(device: Any = "cuda") -> Tensor:
    """The state of a device's generator: 16 bytes, on the CPU."""
    return wrap(backend(device).philox.get_state())


def get_rng_state_all() -> list[Tensor]:
    """The states of all devices' generators."""
    return [get_rng_state(index) for index in range(platform().count)]


def set_rng_state(new_state: Tensor, device: Any = "cuda") -> None:
    """Let a device's generator resume from a state."""
    default_generator(index_of(device)).set_state(new_state)


def set_rng_state_all(new_states: Iterable[Tensor]) -> None:
    """Let all devices' generators resume from states."""
    for index, state in enumerate(new_states):
        set_rng_state(state, index)


class _Generators:
    """The devices' generators, by their numbers."""

    def __getitem__(self, index: int) -> Generator:
        if not -len(self) <= index < len(self):
            raise IndexError("tuple index out of range")
        return default_generator(index % len(self))

    def __len__(self) -> int:
        return platform().count


default_generators = _Generators()


def default_generator(index: int) -> Generator:
    """The generator that a device draws from where none is named."""
    engine = platform().device(index).philox
    found = _defaults.get(index)
    if found is None or found.engine is not engine:
        found = _defaults[index] = around(engine)
    return found


_defaults: dict[int, Generator] = {}
