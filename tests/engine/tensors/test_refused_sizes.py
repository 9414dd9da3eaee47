"""Sizes, devices, storages and types that are none are refused, as by PyTorch."""

from __future__ import annotations

import copy
import io

import numpy as np
import pytest

import rushlight as torch


def test_sizes_are_integers():
    for wrong in (torch.ones(2), [1.5], ["a"]):
        with pytest.raises(TypeError, match=r"torch.Size\(\) takes an iterable of 'int' \(item 0 is"):
            torch.Size(wrong)
    made = torch.Size([torch.tensor(3), np.int64(2), True])
    assert made == (3, 2, 1) and {type(n) for n in made} == {int}


def test_devices_have_numbers_from_zero():
    for wrong in (lambda: torch.device(-1), lambda: torch.device("cpu", -1)):
        with pytest.raises(RuntimeError, match="Device index must not be negative"):
            wrong()
    with pytest.raises(RuntimeError, match="Invalid device string: 'cuda:01'"):
        torch.device("cuda:01")
    with pytest.raises(TypeError, match="must be int, not str"):
        torch.device("cuda", "1")


def test_memory_of_another_dtype_is_not_taken_over():
    x = torch.zeros(2)
    with pytest.raises(RuntimeError, match="Could not set tensor of type double to a tensor of type float"):
        x.set_(torch.ones(2).double())
    assert x.set_(torch.ones(3)).tolist() == [1, 1, 1]


def test_new_takes_a_size_by_name():
    assert torch.zeros(2).new(size=(3, 4)).shape == (3, 4)


def test_storages_are_copied_and_weighed():
    x = torch.arange(4.0)
    copied = copy.copy(x.untyped_storage())
    x[0] = 7
    assert copied.tolist()[:4] == [0, 0, 0, 0]
    sizes = [torch.zeros(n).untyped_storage().__sizeof__() for n in (0, 10, 100)]
    assert sizes[1] - sizes[0] == 40 and sizes[2] - sizes[0] == 400


def test_convolutions_name_the_types():
    x, w = torch.zeros(1, 1, 1, 6), torch.zeros(1, 1, 1, 3)
    for name, words in (
        ("float64", "expected scalar type Double but found Float"),
        ("complex64", r"Input type \(CPUComplexFloatType\) and weight type \(torch.FloatTensor\)"),
        ("bfloat16", "or input should be a MKLDNN tensor and weight is a dense tensor"),
    ):
        with pytest.raises(RuntimeError, match=words):
            torch.conv2d(x.to(getattr(torch, name)), w)
    with pytest.raises(
        RuntimeError, match=r"Input type \(float\) and bias type \(double\) should be the same"
    ):
        torch.conv2d(x, w, torch.zeros(1).double())


def test_unwritten_memory_is_filled_where_a_switch_says_so():
    try:
        torch.use_deterministic_algorithms(True)
        assert torch.empty(3, out=torch.zeros(1)).isnan().all()
    finally:
        torch.use_deterministic_algorithms(False)
    assert torch.empty(1).cauchy_(float("inf"), 0.5).item() == float("inf")


def test_warn_only_is_what_was_set():
    try:
        torch.use_deterministic_algorithms(False, warn_only=True)
        assert torch.is_deterministic_algorithms_warn_only_enabled()
        assert not torch.are_deterministic_algorithms_enabled()
    finally:
        torch.use_deterministic_algorithms(False)
    assert not torch.is_deterministic_algorithms_warn_only_enabled()


def test_sparse_leaves_take_gradients():
    leaf = torch.tensor([[1.0, 0], [0, 2]]).to_sparse().requires_grad_()
    leaf.grad = torch.tensor([[3.0, 5], [0, 4]]).to_sparse()
    assert leaf.grad.to_dense().tolist() == [[3, 5], [0, 4]]
    assert copy.deepcopy(leaf).is_leaf
    leaf.grad = None
    assert leaf.grad is None
    with pytest.raises(RuntimeError, match="a tensor that has data of a different type"):
        leaf.grad = torch.ones(2, 2)


def test_storages_have_a_class_and_are_written():
    assert torch.zeros(2).storage_type() is torch.FloatStorage
    file = io.BytesIO()
    torch.arange(3).untyped_storage()._write_file(file, False, True, 8)
    assert file.getvalue() == b"".join(n.to_bytes(8, "little") for n in (3, 0, 1, 2))
    x = torch.zeros(2)
    assert not torch.tensor([]).is_set_to(torch.tensor([]))
    assert torch.empty(0).set_(x).is_set_to(x) and not x[1:].is_set_to(x[:1])
