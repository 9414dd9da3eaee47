"""DLPack capsules of types that NumPy does not know."""

import pytest

import rushlight as torch


@pytest.mark.parametrize("name", ["bfloat16", "float8_e5m2", "float8_e4m3fn"])
def test_capsules_of_narrow_floats_share_their_memory(name):
    dtype = getattr(torch, name)
    x = torch.tensor([[1.0, 2, 3], [4, 5, 6]]).to(dtype)
    seen = torch.from_dlpack(x.t())
    assert seen.dtype is dtype and seen.stride() == (1, 3)
    seen[0, 0] = 7
    assert x[0, 0].item() == 7
    assert torch.from_dlpack(torch.utils.dlpack.to_dlpack(x)).float().tolist() == x.float().tolist()


def test_streams_are_refused():
    x = torch.ones(2)
    for stream, error in ((object(), TypeError), ("a", TypeError), (3, AssertionError)):
        with pytest.raises(error, match="stream"):
            x.__dlpack__(stream=stream)
    assert x.__dlpack__(stream=-1) is not None
