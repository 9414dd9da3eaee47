"""NamedMemberAccessor: reading, setting and swapping tensors and submodules by dotted names."""

import pytest

import rushlight as torch
from rushlight import nn
from rushlight.nn.utils._named_member_accessor import NamedMemberAccessor, set_tensor, swap_submodule


@pytest.fixture
def accessor():
    return NamedMemberAccessor(nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.BatchNorm1d(2))))


def test_tensors_by_name(accessor):
    mod = accessor.module
    assert accessor.get_tensor("0.weight") is mod[0].weight
    assert accessor.get_submodule("") is mod and accessor.get_submodule("1.0") is mod[1][0]
    plain = torch.zeros(2, 2)
    before = accessor.swap_tensor("0.weight", plain)
    assert isinstance(before, nn.Parameter) and mod[0].weight is plain
    accessor.set_tensors(["0.weight", "1.0.running_mean"], [before, torch.ones(2)])
    assert mod[0].weight is before and mod[1][0].running_mean.tolist() == [1, 1]
    accessor.del_tensor("0.bias")
    assert not hasattr(mod[0], "bias")
    with pytest.raises(AttributeError, match="Linear has no attribute `0.bias`"):
        accessor.get_tensor("0.bias")
    with pytest.raises(TypeError, match="not an instance of torch.nn.Module"):
        accessor.get_submodule("0.weight")
    with pytest.raises(AssertionError, match="same length"):
        accessor.set_tensors(["0.weight"], [])


def test_swaps_are_undone_where_a_key_is_missing(accessor):
    weight = accessor.get_tensor("0.weight")
    given = {"0.weight": torch.zeros(2, 2), "0.more": torch.ones(1)}
    with pytest.raises(RuntimeError, match=r"Missing key\(s\): '0.more'"):
        accessor.swap_tensors_dict(given)
    assert accessor.get_tensor("0.weight") is weight and not hasattr(accessor.module[0], "more")
    before, missing = accessor.swap_tensors_dict(given, allow_missing=True)
    assert missing == ["0.more"] and accessor.get_tensor("0.more") is given["0.more"]
    accessor.swap_tensors_dict(before, allow_missing=True)
    assert accessor.get_tensor("0.weight") is weight and not hasattr(accessor.module[0], "more")


def test_keys_and_submodules(accessor):
    missing, unexpected = accessor.check_keys(["0.weight", "nothing"])
    assert unexpected == ["nothing"] and "1.0.running_var" in missing and "0.weight" not in missing
    assert [name for name, _ in accessor.named_tensors()][:2] == ["0.weight", "0.bias"]
    other = nn.Linear(2, 2)
    assert isinstance(accessor.swap_submodule("1.0", other), nn.BatchNorm1d)
    assert accessor.module[1][0] is other
    with pytest.raises(KeyError, match="does not exist"):
        swap_submodule(accessor.module, "7", other)
    with pytest.raises(KeyError, match="t contain"):
        set_tensor(accessor.module, "0.weight", torch.ones(1))
