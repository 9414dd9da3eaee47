"""torch.utils._device: contexts of a device, by the names that libraries ask for."""

from __future__ import annotations

import rushlight as torch
from rushlight.utils import _device


def test_a_context_of_a_device() -> None:
    with _device.DeviceContext("meta"):
        assert torch.ones(2).is_meta and torch.nn.Linear(2, 2).weight.is_meta
        with torch.device("cpu"):
            assert not torch.ones(2).is_meta
    assert not torch.ones(2).is_meta


def test_decorators_and_constructors() -> None:
    @_device.set_device("meta")
    def made() -> torch.Tensor:
        return torch.zeros(3)

    assert made().is_meta
    constructors = _device._device_constructors()
    assert {torch.ones, torch.tensor, torch.fft.fftfreq} < constructors
    assert torch.ones_like not in constructors
    found = _device.DeviceContext("meta").__torch_function__(torch.ones, (), (2,))
    assert found.is_meta
