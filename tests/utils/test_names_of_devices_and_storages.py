"""Small names: the checkpoint's kind of device, kinds of storages in files, attention of libraries."""

import logging

import pytest

import rushlight as torch
from rushlight import serialization
from rushlight.nn import attention
from rushlight.utils.checkpoint import DefaultDeviceType


def test_the_kind_of_device_of_checkpoints(monkeypatch):
    monkeypatch.setattr(DefaultDeviceType, "_default_device_type", None)
    assert DefaultDeviceType.get_device_type() == ("cuda" if torch.cuda.is_available() else "cpu")
    DefaultDeviceType.set_device_type("cuda")
    assert DefaultDeviceType.get_device_type() == "cuda"


def test_kinds_of_storages():
    kind = serialization.StorageType("HalfStorage")
    assert kind.dtype is torch.float16 and str(kind) == "StorageType(dtype=torch.float16)"
    with pytest.raises(KeyError, match="not recognized"):
        serialization.StorageType("NoStorage")
    assert serialization.normalize_storage_type(torch.FloatStorage) is torch.FloatStorage
    assert serialization.storage_to_tensor_type(torch.FloatStorage(2)) is torch.FloatTensor
    with pytest.raises(RuntimeError, match="HPU device"):
        serialization.validate_hpu_device("hpu:0")


def test_attention_of_libraries(caplog):
    undone = []

    class Handle:
        def remove(self):
            undone.append(True)

    attention.register_flash_attention_impl("tests", register_fn=Handle)
    try:
        assert "tests" in attention.list_flash_attention_impls()
        attention.activate_flash_attention_impl("tests")
        assert attention.current_flash_attention_impl() == "tests"
        attention.restore_flash_attention_impl()
        assert undone == [True] and attention.current_flash_attention_impl() is None
        with caplog.at_level(logging.WARNING):
            attention.restore_flash_attention_impl()
        assert "no custom impl was activated" in caplog.text
        with pytest.raises(ValueError, match="Unknown flash attention impl 'none'"):
            attention.activate_flash_attention_impl("none")
    finally:
        attention._IMPLS.pop("tests")
