"""Keywords by the names that PyTorch's other overloads and methods give them."""

from __future__ import annotations

import pickle

import pytest

import rushlight as torch

X = torch.arange(6.0)


def test_pieces_by_every_name():
    assert [len(p) for p in X.split(split_size=4)] == [4, 2]
    assert [len(p) for p in torch.split(tensor=X, split_size_or_sections=[1, 5])] == [1, 5]
    assert [len(p) for p in X.tensor_split(sections=4)] == [2, 2, 1, 1]
    assert [len(p) for p in torch.tensor_split(X, indices=[2])] == [2, 4]
    assert [len(p) for p in X.hsplit(sections=2)] == [3, 3]
    assert X.view(2, 3).swapaxes(axis0=0, axis1=1).shape == (3, 2)
    assert X.view(size=(2, 3)).shape == (2, 3)


def test_copy_calls_its_source_other():
    assert torch.zeros(6).copy_(other=X).tolist() == X.tolist()
    with pytest.raises(TypeError, match=r"copy_\(\) missing 1 required positional argument: 'other'"):
        X.copy_()


def test_randint_takes_size_by_keyword():
    torch.manual_seed(0)
    first = torch.randint(9, (3,))
    torch.manual_seed(0)
    assert torch.equal(torch.randint(9, size=(3,)), first)


def test_medians_are_written_where_asked():
    for find in (torch.median, torch.nanmedian):
        values, places = torch.empty(0), torch.empty(0, dtype=torch.int64)
        found = find(X.view(2, 3), 1, out=(values, places))
        assert found.values is values and values.tolist() == [1.0, 4.0] and places.tolist() == [1, 1]


def test_a_device_of_the_cpu_may_have_an_index():
    assert X.to("cpu:0") is X
    assert str(torch.zeros(1, device="cpu:0").device) == "cpu"


@pytest.mark.parametrize("of", [torch.bool, torch.float32, torch.bfloat16])
def test_dtypes_are_pickled_by_name(of):
    assert pickle.loads(pickle.dumps(of)) is of


def test_storages_on_a_device():
    assert torch.TypedStorage(2, dtype=torch.float32, device="cpu").size() == 2
    held = torch.TypedStorage([1, 2], dtype=torch.int32)
    assert held.tolist() == [1, 2] and held.dtype is torch.int32
    assert torch.UntypedStorage(3, device="meta").device.type == "meta"
    assert torch.UntypedStorage(3, device="meta").nbytes() == 3


def test_a_capsule_is_a_tensor():
    x = torch.ones(2)
    seen = torch.asarray(torch.utils.dlpack.to_dlpack(x), copy=False)
    seen[0] = 5.0
    assert x.tolist() == [5.0, 1.0]
