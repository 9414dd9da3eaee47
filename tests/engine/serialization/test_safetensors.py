"""The safetensors format: round trips, shared memory, damaged files, the package itself."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rushlight as torch
from rushlight._engine.core import dtype as dt

from .archives import tensor

safetensors = pytest.importorskip("safetensors")

from rushlight._engine.serialization import safetensors as st  # noqa: E402 - it is optional

SUPPORTED = [d for d in dt.ALL if d is not dt.complex128]


def every() -> dict[str, Any]:
    made = {d.name: torch.from_numpy(np.arange(6).astype(d.np).reshape(2, 3)) for d in SUPPORTED}
    return made | {"scalar": tensor(1).reshape(()), "empty": tensor(0, 3)}


def same(a: dict[str, Any], b: dict[str, Any]) -> None:
    assert a.keys() == b.keys()
    for name, t in a.items():
        other = b[name]
        assert (t.dtype, t.shape, t._array.tobytes()) == (other.dtype, other.shape, other._array.tobytes())


def test_round_trip(tmp_path: Path) -> None:
    st.save_file(every(), tmp_path / "a.safetensors", {"by": "me"})
    loaded = st.load_file(tmp_path / "a.safetensors")
    same(every(), loaded)
    same(every(), st.load(st.save(every())))
    with safetensors.safe_open(tmp_path / "a.safetensors", "np") as file:
        assert file.metadata() == {"by": "me"}
    loaded["float32"][0, 0] = 9.0
    assert st.load_file(tmp_path / "a.safetensors")["float32"][0, 0].item() == 0.0
    assert loaded["float32"].untyped_storage().nbytes() == 24
    assert os.listdir(tmp_path) == ["a.safetensors"]


def test_what_cannot_be_saved(tmp_path: Path) -> None:
    base, path = tensor(4, 3), tmp_path / "a.safetensors"
    st.save_file({"a": base[:2], "b": base[2:]}, path)
    before = path.read_bytes()
    with pytest.raises(RuntimeError, match="Some tensors share memory"):
        st.save_file({"a": base, "b": base[1:]}, path)
    with pytest.raises(ValueError, match="non contiguous tensor: `a`"):
        st.save_file({"a": base.t()}, path)
    with pytest.raises(ValueError, match="Expected a dict"):
        st.save_file([base], path)
    with pytest.raises(ValueError, match="Key `a` is invalid"):
        st.save_file({"a": 1}, path)
    with pytest.raises(ValueError, match="no dtype for torch.complex128"):
        st.save_file({"a": tensor(1, dtype=np.complex128)}, path)
    assert path.read_bytes() == before and os.listdir(tmp_path) == ["a.safetensors"]


def test_damaged_files(tmp_path: Path) -> None:
    raw, path = st.save(every()), tmp_path / "a.safetensors"
    with pytest.raises(FileNotFoundError):
        st.load_file(path)
    for length in (0, 5, 100, len(raw) - 1):
        path.write_bytes(raw[:length])
        with pytest.raises(safetensors.SafetensorError):
            st.load_file(path)
        with pytest.raises(safetensors.SafetensorError):
            st.load(raw[:length])


def test_models_with_tied_weights(tmp_path: Path) -> None:
    def model() -> Any:
        nn = torch.nn
        made = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3), nn.BatchNorm1d(3))
        made[1].weight = made[0].weight
        return made

    torch.manual_seed(0)
    first, path = model(), tmp_path / "m.safetensors"
    with pytest.raises(RuntimeError, match="Some tensors share memory"):
        st.save_file(first.state_dict(), path)
    st.save_model(first, path)
    second = model()
    assert st.load_model(second, path) == (set(), [])
    for a, b in zip(first.state_dict().values(), second.state_dict().values(), strict=True):
        assert a.tolist() == b.tolist()
    with pytest.raises(RuntimeError, match='Missing key\\(s\\) in state_dict: "0.bias", "0.weight"'):
        st.save_file({"other": tensor(1)}, path)
        st.load_model(torch.nn.Sequential(torch.nn.Linear(3, 3)), path)


def test_the_package_itself_under_the_launcher(tmp_path: Path) -> None:
    code = """
import sys, torch
from safetensors import safe_open
from safetensors.torch import load, load_file, load_model, save, save_file, save_model
d = {n: torch.arange(6).reshape(2, 3).to(getattr(torch, n))
     for n in "float32 bfloat16 float8_e4m3fn int64 bool complex64 uint16".split()}
save_file(d, sys.argv[1])
for again in (load_file(sys.argv[1]), load(save(d))):
    assert again.keys() == d.keys()
    for n, t in d.items():
        assert again[n].dtype is t.dtype and again[n].tolist() == t.tolist(), n
with safe_open(sys.argv[1], "pt") as f:
    assert f.get_slice("int64")[1:, :2].tolist() == [[3, 4]]
m = torch.nn.Linear(2, 2)
save_model(m, sys.argv[1])
load_model(m, sys.argv[1])
print("good")
"""
    root = str(Path(torch.__file__).parents[1])
    found = subprocess.run(
        [sys.executable, "-m", "rushlight", "-c", code, str(tmp_path / "a.safetensors")],
        cwd=root,
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert found.stdout == "good\n", found.stderr
