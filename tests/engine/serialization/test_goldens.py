"""Files that PyTorch wrote: everything in them comes back."""

from __future__ import annotations

import json
from collections import Counter, OrderedDict
from pathlib import Path
from typing import Any

import pytest

import rushlight as torch
from tests.goldens import midway

FILES = Path(__file__).parents[2] / "goldens" / "serialize"
WANTED = json.loads((FILES / "mixed.json").read_text())


def described(t: Any) -> dict[str, Any]:
    data = None if t.is_meta else t.detach()._array.tobytes().hex()
    return {
        "dtype": str(t.dtype),
        "shape": list(t.shape),
        "stride": list(t.stride()),
        "offset": t.storage_offset(),
        "requires_grad": t.requires_grad,
        "kind": type(t).__name__,
        "device": str(t.device),
        "bytes": data,
    }


@pytest.mark.parametrize("how", [{}, {"mmap": True}, {"weights_only": False}, {"map_location": "cpu"}])
def test_all_tensors(how: dict[str, Any]) -> None:
    loaded = torch.load(FILES / "mixed.pt", **how)
    assert {k: described(v) for k, v in loaded.items() if k != "meta"} == {
        k: v for k, v in WANTED.items() if k != "meta"
    }
    assert loaded["meta"].is_meta and loaded["meta"].shape == (2, 3)
    assert loaded["row"].data_ptr() == loaded["base"].data_ptr() + 12 * 4
    assert loaded["turned"].untyped_storage() == loaded["base"].untyped_storage()


def test_legacy_format() -> None:
    loaded = torch.load(FILES / "mixed_legacy.pt")
    assert {k: described(v) for k, v in loaded.items() if k != "meta"} == {
        k: v for k, v in WANTED.items() if k != "meta" and k in loaded
    }
    assert loaded["row"].data_ptr() == loaded["base"].data_ptr() + 12 * 4


def test_plain_data() -> None:
    loaded = torch.load(FILES / "plain.pt")
    assert loaded["numbers"] == [
        0,
        -1,
        255,
        256,
        65536,
        -(2**31),
        2**40,
        -(2**80),
        1.5,
        float("inf"),
        True,
        None,
        1 + 2j,
    ]
    assert loaded["text"] == ["", "abc", "\u00e9\u4e2d\U0001f600", b"\x00\xff", bytearray(b"12")]
    assert loaded["containers"] == [(), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4), {1, 2}, {}, {"a": {"b": []}}]
    assert loaded["ordered"] == OrderedDict(b=1, a=2) and type(loaded["ordered"]) is OrderedDict
    assert loaded["counter"] == Counter("aab") and type(loaded["size"]) is torch.Size
    assert (loaded["dtype"], loaded["layout"]) == (torch.bfloat16, torch.strided)
    assert loaded["device"] == torch.device("cpu")


def test_training_state() -> None:
    loaded = torch.load(FILES / "training.pt")
    assert list(loaded["model"]) == [
        "0.weight",
        "0.bias",
        "1.weight",
        "1.bias",
        "1.running_mean",
        "1.running_var",
        "1.num_batches_tracked",
    ]
    assert loaded["model"]._metadata["1"] == {"version": 2}
    assert loaded["optimizer"]["param_groups"][0]["lr"] == 0.1
    assert loaded["optimizer"]["state"][0]["step"].shape == ()


def test_whole_module_needs_trust() -> None:
    import pickle

    with pytest.raises(pickle.UnpicklingError, match="Weights only load failed"):
        torch.load(FILES / "module.pt")
    assert torch.serialization.get_unsafe_globals_in_checkpoint(FILES / "module.pt") == [
        "torch.nn.modules.linear.Linear"
    ]


def test_a_run_that_pytorch_began_goes_on_to_its_losses() -> None:
    expected = json.loads((FILES / "midway.json").read_text())
    assert midway.resume(torch, FILES / "midway.pt", "adamw") == pytest.approx(expected, abs=5e-5)
