"""Tensors of two devices in one op are refused; numbers without dims of the CPU go with any device."""

from __future__ import annotations

import pytest

import rushlight as torch

CPU, META = torch.ones(2), torch.ones(2, device="meta")
EYE, SHAPE = torch.ones(2, 2), torch.ones(2, 2, device="meta")


@pytest.mark.parametrize(
    "call",
    [
        lambda: torch.add(CPU, META),
        lambda: torch.lerp(CPU, CPU, META),
        lambda: CPU.clamp(min=META),
        lambda: torch.where(CPU > 0, CPU, META),
        lambda: CPU + torch.tensor(1.0, device="meta"),
    ],
)
def test_pointwise_ops_name_the_expected_device(call):
    with pytest.raises(RuntimeError, match="Tensor on device meta is not on the expected device cpu!"):
        call()


def test_the_first_operand_says_what_is_expected():
    with pytest.raises(RuntimeError, match="Tensor on device cpu is not on the expected device meta!"):
        META + CPU
    with pytest.raises(RuntimeError, match="Tensor on device meta is not on the expected device cpu!"):
        CPU.clone().add_(META)


@pytest.mark.parametrize(
    "call",
    [
        lambda: EYE @ SHAPE,
        lambda: torch.cat([CPU, META]),
        lambda: torch.nn.functional.linear(META, EYE),
        lambda: torch.bmm(EYE[None], SHAPE[None]),
        lambda: torch.dot(CPU, META),
    ],
)
def test_other_ops_name_both(call):
    with pytest.raises(
        RuntimeError,
        match="Expected all tensors to be on the same device, but found at least "
        "two devices, (cpu and meta|meta and cpu)!",
    ):
        call()


def test_numbers_without_dims_go_with_any_device():
    assert (META + torch.tensor(1.0)).device.type == "meta"
    assert (torch.tensor(1.0) + META).device.type == "meta"


def test_nothing_is_copied_out_of_memory_that_is_not_there():
    x = torch.ones(2)
    with pytest.raises(NotImplementedError, match="Cannot copy out of meta tensor; no data!"):
        x.copy_(META)
    with pytest.raises(NotImplementedError, match="Cannot copy out of meta tensor; no data!"):
        x[0] = torch.tensor(3.0, device="meta")
    assert META.clone().copy_(x).device.type == "meta"


def test_copy_takes_a_number():
    assert torch.ones(2).copy_(3.0).tolist() == [3.0, 3.0]
    assert torch.ones(2, dtype=torch.int64).copy_(True).tolist() == [1, 1]
    with pytest.raises(TypeError, match="must be Tensor, not list"):
        torch.ones(2).copy_([1, 2])
