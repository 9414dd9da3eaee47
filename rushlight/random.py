"""torch.random: the seed and the state of the generator that is used where none is named."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any, SupportsInt

from rushlight._engine.core import accelerator
from rushlight._engine.core.device import device as torch_device
from rushlight._engine.tensors.generator import Generator, around, default_generator as default_generator
from rushlight._engine.tensors.tensor import Tensor

__all__ = [
    "fork_rng",
    "get_rng_state",
    "initial_seed",
    "manual_seed",
    "seed",
    "set_rng_state",
    "thread_safe_generator",
]


def manual_seed(seed: SupportsInt) -> Generator:
    """Restart the default generator from `seed`; returns it.

    seed: anything that int() takes, in [-2^63, 2^64); ValueError beyond.
    """
    _seed_devices(int(seed))
    return default_generator.manual_seed(int(seed))


def _seed_devices(seed: int) -> None:
    """The generators of CUDA devices restart, too."""
    platform = accelerator.platform()
    if platform is not None:
        platform.manual_seed(seed)


def seed() -> int:
    """Restart the default generator from a seed of the operating system; returns it."""
    found = default_generator.seed()
    _seed_devices(found)
    return found


def initial_seed() -> int:
    """The seed that the default generator's numbers started from."""
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """The default generator's state: a uint8 tensor of 5056 bytes."""
    return default_generator.get_state()


def set_rng_state(new_state: Tensor) -> None:
    """Put the default generator into a state that get_rng_state gave."""
    default_generator.set_state(new_state)


def thread_safe_generator() -> Generator | None:
    """The generator of a DataLoader's worker thread, or None outside of one."""
    # it loads the workers of loaders
    from rushlight.utils.data.worker import get_worker_info

    info = get_worker_info()
    return None if info is None or info.rng is None else info.rng.torch_generator


@contextlib.contextmanager
def fork_rng(
    devices: Iterable[Any] | None = None,
    enabled: bool = True,
    _caller: str = "fork_rng",
    _devices_kw: str = "devices",
    device_type: str | None = None,
) -> Iterator[None]:
    """Within it random numbers are drawn as usual; after it the state is what it was before.

    devices: the CUDA devices whose states are kept too, all if None. device_type: "cuda".
    """
    if not enabled:
        yield
        return
    states = _states(devices, True)
    try:
        yield
    finally:
        _restore(states)


def _states(devices: Iterable[Any] | None = None, every: bool = False) -> tuple[Tensor, dict[int, Tensor]]:
    """The states of the default generators: the CPU's, and by numbers devices'; None: of those in use,
    or of all.
    """
    platform = accelerator.platform()
    if platform is None:
        return get_rng_state(), {}
    if devices is None and not every:
        used = platform.devices()
    else:
        devices = range(platform.count) if devices is None else devices
        indices = [d if isinstance(d, int) else torch_device(d).index for d in devices]
        used = [platform.device(platform.current if index is None else index) for index in indices]
    return get_rng_state(), {home.index: around(home.philox).get_state() for home in used}


def _restore(states: tuple[Tensor, dict[int, Tensor]]) -> None:
    """Put generators into the states that `_states` gave."""
    set_rng_state(states[0])
    platform = accelerator.platform()
    if platform is not None:
        for index, state in states[1].items():
            around(platform.device(index).philox).set_state(state)
