"""Quantized tensors, observers, fake quantization and quantized models do what PyTorch was recorded to do."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import rushlight
import rushlight as torch

sys.path.insert(0, str(Path(__file__).parents[1] / "goldens"))
from quantization_behaviours import QUANTIZATION

test_behaviour = QUANTIZATION.compared(rushlight)


def test_what_is_not_written_says_so() -> None:
    q = torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.quint8)
    with pytest.raises(NotImplementedError, match=r"'aten::exp'.*'QuantizedCPU'.*dequantize"):
        torch.exp(q)
    with pytest.raises(RuntimeError, match=r"kPerChannelAffine"):
        q.q_per_channel_axis()
    with pytest.raises(RuntimeError, match=r"quantize_per_tensor"):
        torch.zeros(2, dtype=torch.quint8)
    with pytest.raises(NotImplementedError, match=r"QuantStub"):
        torch.ao.nn.quantized.Linear(2, 3)(torch.ones(1, 2))


def test_they_are_saved_and_loaded(tmp_path: Path) -> None:
    import copy
    import pickle

    q = torch.quantize_per_tensor(torch.arange(4.0), 0.1, 3, torch.quint8)
    for again in (copy.deepcopy(q), pickle.loads(pickle.dumps(q))):
        assert torch.equal(q, again)
    net = torch.ao.quantization.quantize_dynamic(torch.nn.Sequential(torch.nn.Linear(3, 2)))
    other = torch.ao.quantization.quantize_dynamic(torch.nn.Sequential(torch.nn.Linear(3, 2)))
    other.load_state_dict(net.state_dict())
    x = torch.randn(4, 3)
    assert torch.equal(net(x), other(x)) and torch.equal(net(x), copy.deepcopy(net)(x))


def test_older_names_are_the_same_modules() -> None:
    assert torch.quantization.quantize_dynamic is torch.ao.quantization.quantize_dynamic
    assert torch.nn.quantized.dynamic.Linear is torch.ao.nn.quantized.dynamic.Linear
    assert torch.nn.intrinsic.qat.ConvBnReLU2d is torch.ao.nn.intrinsic.qat.ConvBnReLU2d


def test_files_hold_them_in_the_form_of_pytorch(tmp_path: Path) -> None:
    import pickletools
    import zipfile

    x, path = torch.arange(6.0).reshape(2, 3), tmp_path / "q.pt"
    scales = torch.tensor([0.5, 0.25])
    q = torch.quantize_per_tensor(x, 0.5, 3, torch.quint8)
    given = [
        q,
        q[1],
        q.t(),
        torch.quantize_per_tensor(x, 0.5, 3, torch.qint32),
        torch.quantize_per_channel(x, scales, torch.tensor([1, 2]), 0, torch.qint8),
        torch.quantize_per_channel(x, scales, torch.tensor([1.5, 2]), 0, torch.quint8),
    ]
    for how in ({}, {"pickle_protocol": 4}, {"_use_new_zipfile_serialization": False}):
        torch.save(given, path, **how)
        loaded = torch.load(path)
        for t, again in zip(given, loaded, strict=True):
            assert again.dtype is t.dtype and again.qscheme() is t.qscheme() and again.stride() == t.stride()
            assert torch.equal(again.int_repr(), t.int_repr())
            assert torch.equal(again.dequantize(), t.dequantize())
        assert loaded[1].untyped_storage().data_ptr() == loaded[0].untyped_storage().data_ptr()
    torch.save(given, path)
    with zipfile.ZipFile(path) as file:
        data = next(file.read(name) for name in file.namelist() if name.endswith("data.pkl"))
    names = {argument for opcode, argument, _ in pickletools.genops(data) if opcode.name == "GLOBAL"}
    assert {"torch._utils _rebuild_qtensor", "torch QUInt8Storage", "torch per_channel_affine"} <= names


def test_pooling_stands_beside_the_quantized_layers() -> None:
    assert torch.ao.nn.quantized.MaxPool2d is torch.nn.MaxPool2d
