"""Every test in here runs with simulated CUDA devices: two of 1 GiB, or as its mark `devices("...")` says."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator
from typing import Any

import pytest

import rushlight as torch
from rushlight._engine.core.accelerator import Interface, NoArray
from rushlight._engine.core.settings import settings
from rushlight._engine.tensors import kind

_MODULES = (
    "rushlight.cuda",
    "rushlight.cuda.memory",
    "rushlight.accelerator",
    "rushlight.backends.cudnn",
    "rushlight.backends.cuda",
)


def _reload() -> None:
    for name in _MODULES:
        importlib.reload(importlib.import_module(name))


def use(setting: str) -> None:
    """Let the process have the devices of a setting; those that there were are forgotten."""
    settings.cuda = setting
    Interface.platform, Interface.array, Interface.looked = None, NoArray, False
    for key in [k for k in kind._kinds if k[1].startswith("cuda")]:
        del kind._kinds[key]
    _reload()


@pytest.fixture(autouse=True)
def devices(request: Any) -> Iterator[None]:
    """The devices, and none again afterwards."""
    mark = request.node.get_closest_marker("devices")
    use(mark.args[0] if mark else os.environ.get("TEST_CUDA", "simulated:2x1GB"))
    torch.manual_seed(0)
    yield
    torch.set_default_device("cpu")
    use("")
