"""A device answers all that the engine asks of one (core/backend.py), and what only real ones have says so."""

from __future__ import annotations

import pytest

import rushlight as torch
from rushlight._engine.core import accelerator, backend
from rushlight._engine.devices.cuda.device import Device
from rushlight._engine.devices.cuda.rows import Rows
from rushlight._engine.tensors.kind import backend_of


def _asked(protocol: type) -> set[str]:
    return {n for n in (*vars(protocol), *protocol.__annotations__) if not n.startswith("_")}


def test_platform_and_device_answer_what_is_asked() -> None:
    platform = accelerator.platform()
    assert platform is not None
    device = backend_of(torch.device("cuda", 0))
    for owner, protocol in ((platform, backend.Platform), (device, backend.Backend)):
        assert not {n for n in _asked(protocol) if not hasattr(owner, n)}
    assert platform.backend(device.where) is device and platform.current == 0 < platform.count


@pytest.mark.parametrize("cls", [Device, Rows])
def test_a_device_that_does_not_say_how_work_is_done_is_none(cls: type) -> None:
    with pytest.raises(TypeError, match="abstract"):
        cls(accelerator.platform(), 0, None)


def test_a_simulated_device_names_what_it_has_not() -> None:
    with pytest.raises(RuntimeError, match="a simulated device has no streams of other libraries"):
        torch.cuda.ExternalStream(1)
    with pytest.raises(RuntimeError, match="it has no cuBLAS"):
        backend_of(torch.device("cuda", 0)).blas  # type: ignore[attr-defined]


def test_without_a_device_a_kind_says_what_to_use() -> None:
    with pytest.raises(AssertionError, match="use device='cpu'"):
        backend_of(torch.device("xpu"))
