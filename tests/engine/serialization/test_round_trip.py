"""What is saved comes back: sharing, layout, plain data, in every format and protocol."""

from __future__ import annotations

import collections
import copy
import io
import pickle
import subprocess
import sys
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import rushlight as torch
from rushlight._engine.core import dtype as dt

from .archives import saved, tensor

FORMATS: list[dict[str, Any]] = [
    {},
    *({"pickle_protocol": p} for p in range(1, 6)),
    {"_use_new_zipfile_serialization": False},
]


def same(a: Any, b: Any) -> None:
    assert a.dtype is b.dtype and a.shape == b.shape and a.stride() == b.stride()
    assert a.storage_offset() == b.storage_offset() and a.requires_grad == b.requires_grad
    assert a.untyped_storage().nbytes() == b.untyped_storage().nbytes()
    assert a.detach()._array.tobytes() == b.detach()._array.tobytes()


@pytest.mark.parametrize("how", FORMATS)
def test_views_share_and_keep_their_whole_storage(how: dict[str, Any]) -> None:
    base = tensor(4, 6)
    views = [base, base[1:], base[:, 2], base[3, 3:], base[:0]]
    loaded = torch.load(saved(views, **how))
    for view, again in zip(views, loaded, strict=True):
        same(view, again)
        assert again.untyped_storage() == loaded[0].untyped_storage()
    loaded[0][1, 0] = 99.0
    assert loaded[1][0, 0].item() == 99.0


@pytest.mark.parametrize("how", FORMATS)
@pytest.mark.parametrize("d", dt.ALL, ids=str)
def test_every_dtype(d: Any, how: dict[str, Any]) -> None:
    t = torch.from_numpy(np.arange(5).astype(d.np))
    same(t, torch.load(saved(t, **how)))


def test_the_same_object_stays_one_object() -> None:
    t = tensor(2)
    a, b, c = torch.load(saved([t, t, t[:]]))
    assert a is b and a is not c


def test_gradients_are_not_saved_but_the_need_of_them_is() -> None:
    t = tensor(3).requires_grad_()
    t.grad = tensor(3)
    again = torch.load(saved(t))
    assert again.requires_grad and again.is_leaf and again.grad is None


def test_attributes_of_a_tensor() -> None:
    t = tensor(2)
    t.note = {"a": [1]}
    assert torch.load(saved(t)).note == {"a": [1]}


class Mine(torch.Tensor):
    """A subclass."""


def test_subclass_needs_to_be_allowed() -> None:
    t = Mine([0.0, 1.0])
    with pytest.raises(pickle.UnpicklingError, match="Mine"):
        torch.load(saved(t))
    with torch.serialization.safe_globals([Mine]):
        assert type(torch.load(saved(t))) is Mine
    assert type(torch.load(saved(t), weights_only=False)) is Mine


def test_data_that_looks_like_a_global_is_left_alone() -> None:
    text = "crushlight._engine.core.dtype\nfloat16\n"
    loaded = torch.load(saved({"a": text, "b": text.encode("latin1"), "d": torch.float16}))
    assert loaded == {"a": text, "b": text.encode("latin1"), "d": torch.float16}


def test_files_name_pytorch_only() -> None:
    obj = [
        tensor(2),
        tensor(2, dtype=np.uint16),
        torch.float32,
        torch.Size([1]),
        torch.strided,
        torch.device("cpu"),
    ]
    data = zipfile.ZipFile(saved(obj)).read("archive/data.pkl")
    assert b"rushlight" not in data and b"torch._utils\n_rebuild_tensor_v2" in data


def test_protocol_0_has_no_room_for_storages() -> None:
    with pytest.raises(ValueError, match="use protocol 2"):
        torch.save(tensor(1), io.BytesIO(), pickle_protocol=0)


def test_two_types_for_one_storage_are_refused() -> None:
    t = tensor(4)
    with pytest.raises(RuntimeError, match="Cannot save multiple tensors or storages that view the same"):
        torch.save([t, t.view(torch.int32)], io.BytesIO())


scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary()
    | st.complex_numbers(allow_nan=False)
)
data = st.recursive(
    scalars | st.sets(st.integers()),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(st.text(), inner)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text(), inner).map(collections.OrderedDict)
    ),
    max_leaves=20,
)


@settings(max_examples=150, deadline=None)
@given(data, st.sampled_from(FORMATS))
def test_plain_data(obj: Any, how: dict[str, Any]) -> None:
    assert torch.load(saved(obj, **how)) == obj


# --- the archive ----------------------------------------------------------------------------------


def test_records(tmp_path: Path) -> None:
    path = tmp_path / "my.model.pt"
    torch.save([tensor(3), tensor(0)], path)
    with zipfile.ZipFile(path) as file:
        assert file.testzip() is None
        names = [info.filename for info in file.infolist()]
        assert names == [
            f"my.model/{name}"
            for name in (
                "data.pkl",
                ".format_version",
                ".storage_alignment",
                "byteorder",
                "data/0",
                "data/1",
                "version",
                ".data/serialization_id",
            )
        ]
        assert file.read("my.model/data/0") == np.arange(3, dtype=np.float32).tobytes()
        assert len(file.read("my.model/.data/serialization_id")) == 40
        raw = path.read_bytes()
        for info in file.infolist():
            name, extra = np.frombuffer(raw, "<u2", 2, info.header_offset + 26)
            assert (info.header_offset + 30 + int(name) + int(extra)) % 64 == 0
            assert info.compress_type == zipfile.ZIP_STORED


@pytest.mark.parametrize(
    ("name", "folder"), [("a", "a"), ("a.b.c", "a.b"), ("x y.pt", "x y"), ("\u00e9.pt", "archive")]
)
def test_archive_name(tmp_path: Path, name: str, folder: str) -> None:
    torch.save(1, tmp_path / name)
    assert zipfile.ZipFile(tmp_path / name).namelist()[0] == f"{folder}/data.pkl"


def test_options() -> None:
    torch.serialization.set_crc32_options(False)
    try:
        file = saved(tensor(3))
        assert {info.CRC for info in zipfile.ZipFile(file).infolist()} == {0}
    finally:
        torch.serialization.set_crc32_options(True)
    file.seek(0)
    same(torch.load(file), tensor(3))
    assert "archive/byteorder" not in zipfile.ZipFile(saved(1, _disable_byteorder_record=True)).namelist()
    with torch.serialization.skip_data():
        file = saved(tensor(3))
    assert torch.load(file).tolist() == [0, 0, 0]
    with torch.serialization.skip_data():
        assert torch.load(saved(tensor(3))).tolist() == [0, 0, 0]


def test_numbers_beyond_32_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    """The zip64 spelling, with a limit low enough to test."""
    from rushlight._engine.serialization import zip_format

    monkeypatch.setattr(zip_format, "_LIMIT", 1000)
    small, large = zip_format._zip64(10, 20, True), zip_format._zip64(2000, 3000, False)
    assert small == b"" and large[:4] == b"\x01\0\x18\0"
    assert zip_format._zip64(2000, 10, True)[4:] == (2000).to_bytes(8, "little") + bytes(8)


def test_checksums_are_of_the_data() -> None:
    for info in zipfile.ZipFile(saved(tensor(100))).infolist():
        if info.filename == "archive/data/0":
            assert zlib.crc32(np.arange(100, dtype=np.float32).tobytes()) == info.CRC


def test_other_byte_order() -> None:
    values = tensor(3)
    swapped = io.BytesIO()
    with zipfile.ZipFile(saved(values)) as file, zipfile.ZipFile(swapped, "w") as out:
        for name in file.namelist():
            content = file.read(name)
            if name.endswith("data/0"):
                content = np.frombuffer(content, ">f4").astype("<f4").tobytes()
            out.writestr(name, b"big" if name.endswith("byteorder") else content)
    swapped.seek(0)
    same(torch.load(swapped), values)


def test_order_of_old_files_is_set_by_hand() -> None:
    values = tensor(3)
    file = saved(values, _disable_byteorder_record=True)
    torch.serialization.set_default_load_endianness(torch.serialization.LoadEndianness.BIG)
    try:
        loaded = torch.load(file)
    finally:
        torch.serialization.set_default_load_endianness(None)
    assert loaded._array.tobytes() == values._array.byteswap().tobytes()


# --- plain pickle and copies ----------------------------------------------------------------------


@pytest.mark.parametrize("protocol", range(6))
def test_pickle(protocol: int) -> None:
    base = tensor(3, 4).requires_grad_()
    base.note = 1
    a, b, c = pickle.loads(pickle.dumps([base, base.detach()[1:], torch.float16], protocol))
    same(a, base)
    assert a.note == 1 and c is torch.float16
    assert a.untyped_storage() == b.untyped_storage()
    b[0, 0] = 50.0
    assert a[1, 0].item() == 50.0


def test_pickle_in_another_process() -> None:
    code = "import sys, pickle; t = pickle.load(sys.stdin.buffer); print(t.tolist(), t.requires_grad)"
    found = subprocess.run(
        [sys.executable, "-c", code],
        input=pickle.dumps(tensor(2).requires_grad_()),
        capture_output=True,
        timeout=60,
        check=True,
    )
    assert found.stdout.split() == b"[0.0, 1.0] True".split()


def test_deepcopy() -> None:
    base = tensor(4)
    base.note = [1]
    leaf = tensor(2).requires_grad_()
    leaf.grad = tensor(2)
    a, b, c = copy.deepcopy([base, base[2:], leaf])
    assert a.untyped_storage() == b.untyped_storage() != base.untyped_storage()
    assert a.note == [1] and a.note is not base.note
    assert c.requires_grad and c.grad.tolist() == [0, 1] and c.grad is not leaf.grad
    a[2] = 9.0
    assert b[0].item() == 9.0 and base[2].item() == 2.0
    with pytest.raises(RuntimeError, match="Only Tensors created explicitly by the user"):
        copy.deepcopy(leaf * 2)


def test_copy_shares_memory() -> None:
    t = tensor(3)
    assert copy.copy(t).data_ptr() == t.data_ptr()


@pytest.mark.parametrize("how", FORMATS)
def test_a_parameter_of_a_tensor_shares_its_storage(how: dict[str, Any]) -> None:
    base = torch.arange(10.0)
    given = [base, torch.nn.Parameter(base), base[2:5], base.data, torch.nn.Parameter(base[3:])]
    loaded = torch.load(saved(given, **how))
    for t, again in zip(given, loaded, strict=True):
        same(t, again)
        assert again.untyped_storage().data_ptr() == loaded[0].untyped_storage().data_ptr()
    empty = torch.load(saved([torch.zeros(0), torch.zeros(0), base[:0]], **how))
    assert [t.untyped_storage().nbytes() for t in empty] == [0, 0, 40]


def test_each_tensor_of_an_array_is_a_storage_of_its_own() -> None:
    array = np.arange(6.0)
    t, again, part = torch.from_numpy(array), torch.from_numpy(array), torch.from_numpy(array[1:])
    loaded = torch.load(saved([t, t.data, torch.nn.Parameter(t), again, part, part.data]))
    found = [x.untyped_storage().data_ptr() for x in loaded]
    assert found[0] == found[1] == found[2] and found[4] == found[5] and len(set(found)) == 3
    assert [x.untyped_storage().nbytes() for x in loaded] == [48, 48, 48, 48, 40, 40]


def test_a_file_or_a_path_is_opened(tmp_path):
    path = tmp_path / "weights.pt"
    torch.save({"x": torch.ones(2)}, path)
    for place in (path, path.open("rb")):
        with (
            torch.serialization._open_file_like(place, "rb") as file,
            torch.serialization._open_zipfile_reader(file) as archive,
        ):
            assert archive.get_record_offset("data/0") > 0
    with pytest.raises(RuntimeError, match="Expected 'r' or 'w' in mode but got a"):
        torch.serialization._open_file_like(io.BytesIO(), "a")


def test_a_record_may_be_a_text(tmp_path):
    with torch.serialization._open_zipfile_writer(tmp_path / "records.pt") as archive:
        archive.write_record("byteorder", "little", len("little"))
    with torch.serialization._open_zipfile_reader(tmp_path / "records.pt") as archive:
        assert archive.get_record("byteorder") == b"little"
