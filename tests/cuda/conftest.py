"""Every test in here runs with CUDA devices: two simulated ones of 1 GiB, or as its mark `devices("...")` says.

`devices("driver", n)`: n real ones over an imitation of the driver, which the fixture `fake` gives.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator
from typing import Any

import pytest

import rushlight as torch
from rushlight._engine.core.accelerator import Interface, NoArray
from rushlight._engine.core.settings import settings
from rushlight._engine.devices.cuda.driver.library import Library
from rushlight._engine.devices.cuda.memory import Memory
from rushlight._engine.tensors import kind

_MODULES = (
    "rushlight.cuda",
    "rushlight.cuda.memory",
    "rushlight.cuda._primitives",
    "rushlight.accelerator",
    "rushlight.backends.cudnn",
    "rushlight.backends.cuda",
)


def _reload() -> None:
    for name in _MODULES:
        importlib.reload(importlib.import_module(name))


def use(setting: str) -> None:
    """Let the process have the devices of a setting; those that there were are forgotten, and their memory is
    gone: what ops know of the devices' arrays goes on to hold them.
    """
    for device in Interface.platform.devices() if Interface.platform is not None else ():
        if isinstance(device.memory, Memory):
            device.memory.drop()
    settings.cuda = setting
    Interface.platform, Interface.array, Interface.looked = None, NoArray, False
    for key in [k for k in kind._kinds if k[1].startswith("cuda")]:
        del kind._kinds[key]
    _reload()


@pytest.fixture(autouse=True)
def devices(request: Any) -> Iterator[None]:
    """The devices, by the mark or, where tests are parametrized by this, its argument; none afterwards."""
    mark = request.node.get_closest_marker("devices")
    given = mark.args if mark else (os.environ.get("TEST_CUDA", "simulated:2x1GB"),)
    setting, *count = getattr(request, "param", given)
    if setting == "driver":
        from tests.cuda.fake_driver import FakeDriver, install  # they need llvmlite

        install(FakeDriver(*count))
    use(setting)
    torch.manual_seed(0)
    yield
    torch.set_default_device("cpu")
    if setting == "driver":
        for memory in Library.stand_in.memories:
            memory.drop()
        install(None)
    use("")


@pytest.fixture
def fake(devices: None) -> Any:
    """The imitation of the driver; None under simulated devices."""
    return Library.stand_in
