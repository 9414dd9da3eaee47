"""What optimizers of others are made of, and storages made of buffers."""

from __future__ import annotations

import struct
import sys

import pytest

import rushlight as torch
from rushlight.optim import optimizer
from rushlight.utils._foreach_utils import _group_tensors_by_device_and_dtype as grouped


def test_tensors_are_grouped() -> None:
    a, b, c = torch.ones(1), torch.ones(1).double(), torch.ones(2)
    found = grouped([[a, b, c], [None, b, c], []], with_indices=True)
    single = found[torch.device("cpu"), torch.float32]
    assert single[0][0][1] is c and single[0][1][0] is None and single[0][2] == [] and single[1] == [0, 2]
    assert torch.optim.Optimizer._group_tensors_by_device_and_dtype([[a, b]]).keys() == found.keys()
    with pytest.raises(RuntimeError):
        grouped([[None]])


def test_parts() -> None:
    assert optimizer._dispatch_sqrt(4.0) == 2.0 and optimizer._get_value(torch.tensor(3.0)) == 3.0
    assert optimizer._default_to_fused_or_foreach([torch.ones(1)], False, True) == (True, False)
    params, state = [torch.ones(1, dtype=torch.complex64)], [torch.zeros(1, dtype=torch.complex64)]
    optimizer._view_as_real(params, state)
    assert params[0].shape == state[0].shape == (1, 2)
    with pytest.raises(AttributeError):
        optimizer._nothing_of_that_name


def test_storages_of_buffers() -> None:
    packed = bytearray(struct.pack("<4f", 1, 2, 3, 4))
    assert torch.FloatStorage.from_buffer(packed, "little").tolist() == [1, 2, 3, 4]
    assert torch.FloatStorage.from_buffer(bytearray(struct.pack(">2f", 1, 2)), "big").tolist() == [1, 2]
    assert torch.FloatStorage.from_buffer(packed, sys.byteorder, 2, 4).tolist() == [2, 3]
    assert torch.ByteStorage.from_buffer(packed).tolist() == list(packed)
    assert torch.UntypedStorage.from_buffer(packed, dtype=torch.uint8).tolist() == list(packed)
    with pytest.raises(RuntimeError, match="byte_order"):
        torch.FloatStorage.from_buffer(packed)
    with pytest.raises(ValueError, match="multiple of element size"):
        torch.FloatStorage.from_buffer(packed[:6], "native")
    with pytest.raises(OSError, match="custom_op"):
        torch.ops.load_library("nothing.so")


def test_datasets_and_groups() -> None:
    assert torch.utils.data.ConcatDataset.cumsum([[1], [2, 3]]) == [1, 3]
    assert torch.distributed.GroupMember.WORLD is None


def test_the_line_search_of_lbfgs_by_its_names() -> None:
    from rushlight.optim.lbfgs import _cubic_interpolate, _strong_wolfe

    one, two = torch.tensor(-2.0), torch.tensor(2.0)
    assert float(_cubic_interpolate(0, 1.0, one, 2, 1.0, two)) == 1
    x, d = torch.tensor([3.0, -1.0]), torch.tensor([-6.0, 2.0])

    def at(x: torch.Tensor, t: float, d: torch.Tensor) -> tuple[float, torch.Tensor]:
        point = x + t * d
        return float(point.square().sum()), 2 * point

    loss, grad = at(x, 0, d)
    found, slope, t, evaluations = _strong_wolfe(at, x, 1.0, d, loss, grad, grad.dot(d))
    assert (found, float(t), evaluations) == (0.0, 0.5, 2) and slope.abs().max() == 0
