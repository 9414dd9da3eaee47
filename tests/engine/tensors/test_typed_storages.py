"""torch.FloatStorage and its relatives: converted, written to, and seen by tensors."""

from __future__ import annotations

import copy
import importlib
import sys
import warnings

import pytest

import rushlight as torch


def test_conversions_and_names():
    held = torch.FloatStorage([1, 2, 3])
    assert held.type() == "torch.FloatStorage" and held.int().tolist() == [1, 2, 3]
    assert held.bool().dtype is torch.bool and held.type(torch.float64).dtype is torch.float64
    assert held.type("torch.LongStorage").dtype is torch.int64 and held.type(torch.IntStorage).tolist() == [
        1,
        2,
        3,
    ]
    assert torch.storage._dtype_to_storage_type_map()[torch.bfloat16] == "BFloat16Storage"
    assert torch.storage._storage_type_to_dtype_map()["HalfStorage"] is torch.float16
    assert repr(held).endswith("[torch.storage.TypedStorage(dtype=torch.float32, device=cpu) of size 3]")


def test_tensors_see_them():
    held = torch.FloatStorage([1, 2, 3])
    seen = torch.ones(1).set_(held)
    held.fill_(2)
    assert seen.tolist() == [2.0, 2.0, 2.0] and torch.FloatTensor(held).tolist() == [2.0, 2.0, 2.0]
    assert torch.ones(2).set_(held, 1, (2,), (1,)).storage_offset() == 1
    assert held.clone().data_ptr() != held.data_ptr()
    with pytest.raises(
        RuntimeError,
        match="Expected a Storage of type Double or an UntypedStorage, but got type "
        "Float for argument 1 'storage'",
    ):
        torch.ones(2, dtype=torch.float64).set_(held)


def test_meta_has_no_elements():
    held = torch.ones(2, device="meta").storage()
    assert held.data_ptr() == 0 and held.size() == 2
    for read in (lambda: held[0], held.tolist):
        with pytest.raises(NotImplementedError, match="Not available for 'meta' device type"):
            read()
    with pytest.raises(RuntimeError, match="slices are only supported in UntypedStorage"):
        torch.FloatStorage(2)[:1]


def test_copies_of_storages_are_shared_as_they_were():
    a, b = torch.arange(4.0), torch.ones(2)
    copied = copy.deepcopy([a, [a.storage(), b.untyped_storage()], b, a[1:]])
    copied[0].add_(1)
    copied[2].add_(1)
    assert copied[1][0].tolist() == [1, 2, 3, 4] and copied[3].tolist() == [2, 3, 4]
    assert torch.tensor(copied[1][1], dtype=torch.float32).tolist() == [2, 2] and a.tolist() == [0, 1, 2, 3]


def test_storages_without_memory():
    meta = torch.TypedStorage([1, 2, 3, 4], device="meta", dtype=torch.int16)
    meta.resize_(10)
    assert len(meta) == 10 and meta.data_ptr() == 0
    for call, error in (
        (meta.cpu, NotImplementedError),
        (meta.share_memory_, RuntimeError),
        (lambda: torch.TypedStorage(10, dtype=torch.int16).copy_(meta), NotImplementedError),
        (lambda: meta.untyped()[0], NotImplementedError),
    ):
        with pytest.raises(error, match="meta|only available on CPU"):
            call()


def test_tensors_of_storages():
    a = torch.arange(3.0)
    assert torch.tensor(a.storage()).tolist() == [0, 1, 2]
    assert torch.tensor(a.untyped_storage(), dtype=torch.int32).dtype is torch.int32
    with pytest.raises(RuntimeError, match="Expected a Storage of type Float or an UntypedStorage"):
        torch.tensor(a.double().storage(), dtype=torch.float32)


def test_tensors_of_storages_share_their_bytes():
    bytes_of = torch.arange(4, dtype=torch.int32).untyped_storage()
    for make in (torch.asarray, torch.as_tensor, torch.tensor):
        assert make(bytes_of).tolist() == [4294967296, 12884901890]
        assert make(bytes_of, dtype=torch.int32).tolist() == [0, 1, 2, 3]
        assert make(bytes_of, dtype=torch.uint8).data_ptr() == bytes_of.data_ptr()
        with pytest.raises(
            RuntimeError, match="Expected a Storage of type Float or an UntypedStorage, but got"
        ):
            make(torch.arange(3).storage())
    assert torch.asarray(bytes_of[4:8], dtype=torch.uint8).tolist() == [1, 0, 0, 0]
    assert torch.asarray(bytes_of, dtype=torch.uint8, copy=True).data_ptr() != bytes_of.data_ptr()


def test_addresses_on_meta_begin_at_0():
    zeros = torch.zeros(2, 2, device="meta")
    assert (zeros.data_ptr(), zeros.untyped_storage().data_ptr(), zeros[1].data_ptr()) == (0, 0, 8)


def test_a_storage_is_one_object_as_long_as_somebody_holds_it_and_keeps_its_attributes():
    x = torch.randn(4)
    s = x.untyped_storage()
    s.note = note = [1]
    assert x[1:].untyped_storage() is s and x.detach().untyped_storage() is s
    del s
    assert x.untyped_storage().note is note
    made = torch.UntypedStorage(16)
    assert torch.empty(0).set_(made).untyped_storage() is made


def test_memory_that_an_array_sees_is_not_resizable():
    x = torch.randn(5)
    assert x.untyped_storage().resizable()
    x.numpy()
    assert not x.untyped_storage().resizable()
    with pytest.raises(RuntimeError, match="Trying to resize storage that is not resizable"):
        x.resize_(100)
    assert x.resize_(3).shape == (3,)


def test_storages_with_a_dtype_warn_once_or_each_time():
    storages = importlib.import_module("rushlight._engine.tensors.storages.typed")
    before = storages._get_always_warn_typed_storage_removal()
    storages._set_always_warn_typed_storage_removal(True)
    with pytest.warns(UserWarning, match="TypedStorage is deprecated"):
        torch.ones(2).storage()
    storages._set_always_warn_typed_storage_removal(False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        torch.ones(2).storage()
    storages._set_always_warn_typed_storage_removal(before)
    with pytest.raises(AssertionError, match="always_warn must be bool, got int"):
        storages._set_always_warn_typed_storage_removal(1)


def test_sizes_with_the_object_are_those_of_pytorch():
    assert sys.getsizeof(torch.zeros(3, 4).untyped_storage()) == 112
    assert sys.getsizeof(torch.UntypedStorage(5)) == 69
    assert sys.getsizeof(torch.empty(7, device="meta").untyped_storage()) == 92
