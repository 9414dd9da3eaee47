"""torch._utils finds the module of a sort of devices."""

import pytest

import rushlight as torch
from rushlight import _utils


def test_the_module_of_a_sort():
    assert _utils._get_device_module("cpu") is torch.cpu
    assert _utils._get_device_module("cuda") is torch.cuda
    with pytest.raises(RuntimeError, match="Device 'no_device' does not have a corresponding module"):
        _utils._get_device_module("no_device")
