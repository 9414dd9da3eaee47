"""Python's own modules, which programs reach through PyTorch's."""

import math
import os
import warnings

import pytest

import rushlight as torch


def test_modules_that_pytorch_imports():
    assert torch.math is torch.nn.functional.math is torch.nn.init.math is math
    assert torch.os is torch.cuda.os is os and torch.warnings is warnings
    with pytest.raises(AttributeError, match="no attribute 'json'"):
        torch.json  # of torch.hub alone


def test_future_needs_no_import_of_its_own():
    assert torch.__future__.get_overwrite_module_params_on_conversion() is False
