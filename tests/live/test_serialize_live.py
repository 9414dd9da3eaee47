"""Files against PyTorch itself: each reads what the other writes, and the bytes agree."""

from __future__ import annotations

import io
import zipfile
from collections import Counter, OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rushlight
from rushlight._engine.core import dtype as dt

torch = pytest.importorskip("torch")

BOTH = (rushlight, torch)
FORMATS: list[dict[str, Any]] = [{}, {"_use_new_zipfile_serialization": False}]


def array(d: Any, n: int = 6) -> Any:
    return np.arange(n).astype(d.np)


def make(lib: Any, d: Any, n: int = 6) -> Any:
    """0, 1, 2, ... in a dtype, in either library."""
    data = np.frombuffer(array(d, n).tobytes(), np.uint8).copy()
    return lib.from_numpy(data).view(getattr(lib, d.name))


def facts(t: Any) -> Any:
    raw = (
        t.detach()._array.tobytes()
        if isinstance(t, rushlight.Tensor)
        else bytes(t.detach().contiguous().view(torch.uint8).flatten().tolist())
        if t.ndim
        else None
    )
    return (
        str(t.dtype),
        tuple(t.shape),
        tuple(t.stride()),
        t.storage_offset(),
        t.requires_grad,
        t.untyped_storage().nbytes(),
        type(t).__name__,
        raw,
    )


def exchanged(obj: Any, lib: Any, how: dict[str, Any]) -> Any:
    """Saved by one library, loaded by the other."""
    buffer = io.BytesIO()
    lib.save(obj, buffer, **how)
    buffer.seek(0)
    return (torch if lib is rushlight else rushlight).load(buffer)


@pytest.mark.parametrize("how", FORMATS)
@pytest.mark.parametrize("lib", BOTH, ids=["rushlight", "torch"])
@pytest.mark.parametrize("d", dt.ALL, ids=str)
def test_every_dtype(d: Any, lib: Any, how: dict[str, Any]) -> None:
    t = make(lib, d)
    if how and d.name.startswith(("uint16", "uint32", "uint64", "float8")) and lib is rushlight:
        for writer in BOTH:  # PyTorch cannot read these dtypes in the old format, even its own
            with pytest.raises(AttributeError, match="has no attribute 'dtype'"):
                buffer = io.BytesIO()
                writer.save(make(writer, d), buffer, **how)
                buffer.seek(0)
                torch.load(buffer)
        return
    assert facts(t) == facts(exchanged(t, lib, how))


@pytest.mark.parametrize("how", FORMATS)
@pytest.mark.parametrize("lib", BOTH, ids=["rushlight", "torch"])
def test_views(lib: Any, how: dict[str, Any]) -> None:
    base = make(lib, dt.float32, 24).view(4, 6)
    views = [base, base[1], base[:, 2:4], base.t(), base[3:, 5:], base[0:0]]
    loaded = exchanged(views, lib, how)
    assert [facts(t) for t in views] == [facts(t) for t in loaded]
    assert len({t.untyped_storage().data_ptr() for t in loaded}) == 1


def objects(lib: Any) -> dict[str, Any]:
    """The same object in either library."""
    base = make(lib, dt.float32, 24)
    noted = make(lib, dt.float32)
    noted.note = "x"
    return {
        "ordered": OrderedDict(a=base, b=base[3:], c=make(lib, dt.bfloat16)),
        "untyped": make(lib, dt.uint16),
        "parameter": lib.nn.Parameter(make(lib, dt.float32)),
        "frozen": lib.nn.Parameter(make(lib, dt.float32), requires_grad=False),
        "tracked": make(lib, dt.float32).requires_grad_(),
        "noted": noted,
        "plain": [1, 2.5, "text", b"bytes", None, True, (1, 2), {3}, 1 + 2j, 2**70],
        "size": lib.Size([1, 2]),
        "dtype": lib.float16,
        "device": lib.device("cpu"),
        "cuda": lib.device("cuda", 1),
        "layout": lib.strided,
        "counter": Counter("aab"),
        "again": base,
        "empty": lib.empty(0),
        "meta": lib.empty(2, 3, device="meta"),
    }


def without_identity(path: Path) -> bytes:
    """A file's bytes without the 20 digits that stand for the record names, and their checksums."""
    raw = path.read_bytes()
    with zipfile.ZipFile(path) as file:
        info = file.infolist()[-1]
        digits = file.read(info)
    assert info.filename.endswith("serialization_id")
    checksum = info.CRC.to_bytes(4, "little")
    return raw.replace(digits, b"").replace(checksum, b""), digits[20:]


@pytest.mark.parametrize("key", [*objects(torch)])
def test_bytes_agree(key: str, tmp_path: Path) -> None:
    found = []
    for lib in BOTH:
        lib.save(objects(lib)[key], tmp_path / "same.pt")
        found.append(without_identity(tmp_path / "same.pt"))
    assert found[0] == found[1]


def test_bytes_of_the_old_format_agree(tmp_path: Path) -> None:
    obj = objects(torch)["plain"]
    files = [io.BytesIO(), io.BytesIO()]
    for lib, file in zip(BOTH, files, strict=True):
        lib.save(obj, file, _use_new_zipfile_serialization=False)
    assert files[0].getvalue() == files[1].getvalue()


@pytest.mark.parametrize("lib", BOTH, ids=["rushlight", "torch"])
def test_whole_modules(lib: Any, tmp_path: Path) -> None:
    other = torch if lib is rushlight else rushlight
    lib.manual_seed(0)
    model = lib.nn.Sequential(lib.nn.Linear(3, 4), lib.nn.ReLU(), lib.nn.Linear(4, 2)).double()
    lib.save(model, tmp_path / "m.pt")
    again = other.load(tmp_path / "m.pt", weights_only=False)
    assert type(again) is other.nn.Sequential
    x = [[1.0, 2.0, 3.0]]
    np.testing.assert_allclose(
        again(other.tensor(x).double()).detach().numpy(),
        model(lib.tensor(x).double()).detach().numpy(),
        rtol=1e-12,
    )


@pytest.mark.parametrize("lib", BOTH, ids=["rushlight", "torch"])
def test_training_goes_on_in_the_other_library(lib: Any, tmp_path: Path) -> None:
    other = torch if lib is rushlight else rushlight

    def parts(of: Any) -> Any:
        model = of.nn.Sequential(of.nn.Linear(3, 4, bias=False), of.nn.BatchNorm1d(4), of.nn.Linear(4, 1))
        return model, of.optim.AdamW(model.parameters(), lr=0.05)

    def train(of: Any, model: Any, optimizer: Any) -> None:
        x = of.tensor(np.linspace(-1, 1, 24).reshape(8, 3).tolist())
        for _ in range(3):
            optimizer.zero_grad()
            (model(x) - x.sum(1, keepdim=True)).square().mean().backward()
            optimizer.step()

    lib.manual_seed(0)
    first = parts(lib)
    train(lib, *first)
    state = {"model": first[0].state_dict(), "optimizer": first[1].state_dict()}
    lib.save(state, tmp_path / "c.pt")
    second = parts(other)
    loaded = other.load(tmp_path / "c.pt")
    second[0].load_state_dict(loaded["model"])
    second[1].load_state_dict(loaded["optimizer"])
    train(lib, *first)
    train(other, *second)
    states = (first[0].state_dict(), second[0].state_dict())
    for ours, theirs in zip(states[0].values(), states[1].values(), strict=True):
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-3, atol=2e-5)


def test_what_the_reader_accepts_is_what_pytorch_accepts() -> None:
    """Each global that PyTorch's restricted reader takes is taken here, save for listed ones."""
    from torch._weights_only_unpickler import _get_allowed_globals

    from rushlight._engine.serialization.safe_globals import allowed

    lacking = []
    for full in _get_allowed_globals():
        module, _, name = full.rpartition(".")
        try:
            found = allowed(module or "builtins", name)
        except AttributeError:
            found = None
        if found is None:
            lacking.append(full)
    # Kinds of tensors that Rushlight lacks, and the tensor types of before PyTorch 0.4.
    odd = (
        "bits",
        "qint",
        "qu",
        "int1",
        "int2",
        "int3",
        "int4",
        "int5",
        "int6",
        "int7",
        "uint",
        "float4",
        "float8_e8m0fnu",
        "complex32",
        "per_",
        "Q",
        "_rebuild_nested",
        "_rebuild_qtensor",
        "_rebuild_wrapper",
    )
    assert [
        full
        for full in lacking
        if not full.endswith("Tensor") and not full.rpartition(".")[2].startswith(odd)
    ] == []
