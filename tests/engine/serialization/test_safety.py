"""Damaged and hostile files: a clear error, and nothing of theirs is executed."""

from __future__ import annotations

import builtins
import collections
import datetime
import enum
import io
import os
import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import rushlight as torch
from rushlight._engine.serialization.unpickler import WeightsUnpickler

from .archives import archive, saved, tensor

REFUSED = pickle.UnpicklingError


class Calls:
    """Pickles as a call."""

    def __init__(self, function: Any, *args: Any) -> None:
        self._call = function, args

    def __reduce__(self) -> Any:
        return self._call


class Plain:
    """A class of the program's own."""

    def __init__(self) -> None:
        self.a = 1


# --- what is not allowed --------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", [1, 2, 4])
@pytest.mark.parametrize(
    "hostile",
    [
        Calls(os.system, "touch {path}"),
        Calls(eval, "1"),
        Calls(getattr, torch, "load"),
        Calls(builtins.exec, "open('{path}', 'w')"),
        Calls(open, "{path}", "w"),
        Calls(os.mkdir, "{path}"),
        Calls(__import__, "os"),
        Calls(torch.load, "x"),
        Calls(torch.save, 1, "{path}"),
    ],
    ids=lambda hostile: hostile._call[0].__name__,
)
def test_no_call_is_made(tmp_path: Path, hostile: Calls, protocol: int) -> None:
    path = tmp_path / "made"
    function, args = hostile._call
    filled = Calls(function, *(a.format(path=path) if isinstance(a, str) else a for a in args))
    with pytest.raises(REFUSED, match="Weights only load failed"):
        torch.load(
            archive(pickle.dumps(filled, protocol))
            if function is not getattr
            else archive(b"\x80\x02cbuiltins\ngetattr\n.")
        )
    assert not path.exists()


def test_message_names_the_global_and_the_remedies() -> None:
    with pytest.raises(REFUSED) as caught:
        torch.load(archive(pickle.dumps(datetime.timedelta(1), 2)))
    for words in (
        "Weights only load failed",
        "GLOBAL datetime.timedelta was not an allowed global",
        "torch.serialization.add_safe_globals([datetime.timedelta])",
        "weights_only",
        "torch.serialization.safe_globals([datetime.timedelta])",
    ):
        assert words in str(caught.value)
    with pytest.raises(REFUSED, match="GLOBAL posix.system whose module posix is blocked"):
        torch.load(archive(pickle.dumps(Calls(os.system, "x"), 2)))


def test_allowing_a_class() -> None:
    def file() -> Any:
        return saved({"a": Plain()})

    with pytest.raises(REFUSED, match="Plain"):
        torch.load(file())
    before = torch.serialization.get_safe_globals()  # packages that were imported have some of their own
    with torch.serialization.safe_globals([Plain]):
        assert torch.serialization.get_safe_globals() == [*before, Plain]
        assert torch.load(file())["a"].a == 1
    assert torch.serialization.get_safe_globals() == before
    torch.serialization.add_safe_globals([(Plain, f"{Plain.__module__}.Plain")])
    assert torch.load(file())["a"].a == 1
    torch.serialization.clear_safe_globals()
    torch.serialization.add_safe_globals(before)
    with pytest.raises(REFUSED):
        torch.load(file())
    assert torch.load(file(), weights_only=False)["a"].a == 1
    assert torch.serialization.get_unsafe_globals_in_checkpoint(file()) == [f"{__name__}.Plain"]


def test_names_of_entries_are_pytorchs() -> None:
    """Names have their module, builtins, too; what is blocked is so under Python 2's names, and in halves."""
    before = torch.serialization.get_safe_globals()

    def read(name: str, text: bytes) -> Any:
        with torch.serialization.safe_globals([(len, name)]):
            return torch.load(archive(b"\x80\x02c" + text + b"\n."))

    assert read("builtins.len", b"__builtin__\nlen") is read("builtins.len", b"builtins\nlen") is len
    for name, text, words in (
        ("len", b"builtins\nlen", "GLOBAL len was not an allowed global"),
        ("sys.intern", b"__builtin__\nintern", "GLOBAL sys.intern whose module sys is blocked"),
        ("os.system", b"builtins\nos.system", "GLOBAL os.system was not an allowed global"),
    ):
        with pytest.raises(REFUSED, match=words):
            read(name, text)
    told = torch.serialization.get_unsafe_globals_in_checkpoint(archive(b"\x80\x02c__builtin__\nlen\n."))
    assert told == ["builtins.len"] and torch.serialization.get_safe_globals() == before


def test_dtypes_of_every_name_are_read() -> None:
    dtypes = [d for d in map(vars(torch).get, dir(torch)) if isinstance(d, torch.dtype)]
    names = ("uint1", "int4", "bits8", "qint8", "quint4x2", "complex32", "float8_e8m0fnu", "float4_e2m1fn_x2")
    dtypes += [getattr(torch, name) for name in names]
    assert all(torch.load(saved([d]))[0] is d for d in dtypes)
    assert torch.load(archive(b"\x80\x02ctorch\nFloatTensor\n.")) is torch.FloatTensor


def test_entries_that_allow_nothing_are_told_when_a_file_is_read() -> None:
    """Any object may be added, under a name: packages add dtypes."""
    before = torch.serialization.get_safe_globals()
    for entry, kind, words in (
        ((Plain,), ValueError, "Expected tuple of length 2 .* got tuple of length: 1"),
        ((Plain, 3), TypeError, "Expected second item in tuple to be str of callable full path"),
        (3, AttributeError, "__module__"),
    ):
        with torch.serialization.safe_globals([entry]), pytest.raises(kind, match=words):
            torch.load(saved({"a": Plain()}))
        with torch.serialization.safe_globals([entry]):  # a file that asks for nothing of it is read
            assert torch.load(saved(torch.nn.Linear(1, 1).state_dict()))["weight"].shape == (1, 1)
    with pytest.raises(TypeError, match="unhashable type: 'list'"):
        torch.serialization.add_safe_globals([[Plain]])
    with torch.serialization.safe_globals([(torch.uint1, "torch.uint1"), (torch.float32, "torch.float32")]):
        assert len(torch.serialization.get_safe_globals()) == len(before) + 2
        assert torch.load(saved([torch.uint1]))[0] is torch.uint1


class Color(enum.Enum):
    """An enum of the program's own."""

    RED = 1


@pytest.mark.parametrize(
    ("obj", "needed"),
    [
        (np.arange(3.0), [np._core.multiarray._reconstruct, np.ndarray, np.dtype, np.dtypes.Float64DType]),
        (np.float64(3.0), [np._core.multiarray.scalar, np.dtype, np.dtypes.Float64DType]),
        (Color.RED, [Color]),
        (datetime.timedelta(3), [datetime.timedelta]),
        (range(3), [range]),
        (frozenset([1]), [frozenset]),
        (collections.defaultdict(list, a=[1]), [collections.defaultdict, list]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_kinds_that_programs_allow(obj: Any, needed: list[Any]) -> None:
    with pytest.raises(REFUSED):
        torch.load(saved(obj))
    with torch.serialization.safe_globals(needed):
        assert np.array_equal(torch.load(saved(obj)), obj)


def test_environment_and_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    def file() -> Any:
        return saved(Plain())

    monkeypatch.setenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "1")
    assert torch.load(file()).a == 1
    monkeypatch.setenv("TORCH_FORCE_WEIGHTS_ONLY_LOAD", "1")
    with pytest.raises(REFUSED):
        torch.load(file(), weights_only=False)
    with pytest.raises(RuntimeError, match="explicit pickle_module"):
        torch.load(file(), pickle_module=pickle)


def build(setup: bytes, state: Any) -> bytes:
    """A pickle that sets `state` on what `setup` leaves on the stack."""
    return b"\x80\x02" + setup + pickle.dumps(state, 2)[2:-1] + b"b."


@pytest.mark.parametrize(
    "pickled",
    [
        build(b"ctorch\nfloat32\n", (None, {"itemsize": 1})),  # state on a shared object
        build(b"ctorch\nTensor\n", (None, {"numpy": 1})),  # state on a class
        build(b"ctorch._utils\n_rebuild_tensor_v2\n", {"__wrapped__": 1}),
        build(b"]", {"a": 1}),
        b"\x80\x02ctorch\nTensor\n)\x81.",  # NEWOBJ of an unlisted class
        b"\x80\x02N)R.",
        b"\x80\x02K\x01)R.",
        b"\x80\x02ctorch\nfloat32\n)R.",
        b"\x80\x02]q\x00h\x00K\x01K\x02s.",  # items of a list
        b"\x80\x02}K\x01a.",
        b"\x80\x02X\x01\x00\x00\x00aQ.",
        b"\x80\x02(X\x01\x00\x00\x00aX\x01\x00\x00\x00btQ.",
        b"\x80\x02(i__main__\nx\n.",
        b"\x80\x04\x82\x01.",  # INST, EXT1
        b"\x80\x02c__builtin__\nbytearray\nJ\xff\xff\xff\x7f\x85R.",  # a length alone
        b"\x80\x02c_codecs\nencode\nX\x01\x00\x00\x00aX\x05\x00\x00\x00rot13\x86R.",
        b"\x80\x02R.",
        b"\x80\x02h\x05.",
        b"\x80\x02\x85.",
        b"\x80\x02e.",
        b"\x80\x02X\x01\x00\x00\x00\xff.",
        b"\x80\x63N.",
        b"hello world this is text",
    ],
    ids=range(23),
)
def test_odd_pickles_are_refused(pickled: bytes) -> None:
    with pytest.raises(REFUSED, match="Weights only load failed"):
        torch.load(archive(pickled))
    assert torch.float32.itemsize == 4


@pytest.mark.parametrize(
    "pickled",
    [
        b"",
        b"\x80",
        b"\x80\x02",
        b"\x80\x02X\xff\x00\x00",
        b"\x80\x02ctorch",
        b"\x80\x02]q\x00(K\x01K",
        b"\x80\x02\x8a\x0a\x01",
    ],
)
def test_pickles_that_end_early(pickled: bytes) -> None:
    with pytest.raises(EOFError):
        torch.load(archive(pickled))


def storage_pickle(size: int, stride: int, offset: int, count: int = 4) -> bytes:
    """A float tensor with a layout of our choice over `count` elements of record 0."""
    from rushlight._engine.serialization.rebuild import _rebuild_tensor_v2
    from rushlight._engine.tensors.storages.typed import FloatStorage

    class Named(Calls):
        pass

    buffer = io.BytesIO()
    pickler = pickle.Pickler(buffer, 2)
    place = object()
    pickler.persistent_id = lambda obj: (  # type: ignore[method-assign]
        ("storage", FloatStorage, "0", "cpu", count) if obj is place else None
    )
    pickler.dump(Named(_rebuild_tensor_v2, place, offset, (size,), (stride,), False, None))
    return (
        buffer.getvalue()
        .replace(b"crushlight._engine.serialization.rebuild\n", b"ctorch._utils\n")
        .replace(b"crushlight._engine.tensors.storages.typed\n", b"ctorch\n")
    )


@pytest.mark.parametrize(
    "layout",
    [
        (5, 1, 0),
        (4, 2, 0),
        (4, 1, 1),
        (1, 1, 4),
        (4, -1, 3),
        (1, 1, -1),
        (-1, 1, 0),
        (10**12, 1, 0),
        (2, 10**12, 0),
    ],
)
def test_layouts_outside_the_storage(layout: tuple[int, int, int]) -> None:
    file = archive(storage_pickle(*layout), {"data/0": bytes(16)})
    with pytest.raises(RuntimeError, match="setStorage"):
        torch.load(file)


def test_a_layout_inside_the_storage_loads() -> None:
    file = archive(storage_pickle(2, 2, 1), {"data/0": np.arange(4, dtype=np.float32).tobytes()})
    assert torch.load(file).tolist() == [1.0, 3.0]


def test_storages_that_are_missing_or_too_short() -> None:
    with pytest.raises(RuntimeError, match="PytorchStreamReader failed locating file data/0"):
        torch.load(archive(storage_pickle(4, 1, 0)))
    with pytest.raises(RuntimeError, match="expected 16 bytes, got 15"):
        torch.load(archive(storage_pickle(4, 1, 0), {"data/0": bytes(15)}))
    with pytest.raises(RuntimeError, match="expected .* bytes, got 16"):
        torch.load(archive(storage_pickle(4, 1, 0, count=10**15), {"data/0": bytes(16)}))


# --- damaged files --------------------------------------------------------------------------------


def test_every_truncation_is_an_error(tmp_path: Path) -> None:
    raw = saved({"a": tensor(20), "b": [1, "x"]}).getvalue()
    for length in range(0, len(raw), 7):
        with pytest.raises((RuntimeError, EOFError, pickle.UnpicklingError)) as caught:
            torch.load(io.BytesIO(raw[:length]))
        assert length < 4 or "PytorchStreamReader failed reading zip archive" in str(caught.value)


def test_every_truncation_of_the_old_format_is_an_error() -> None:
    raw = saved({"a": tensor(20), "b": [1, "x"]}, _use_new_zipfile_serialization=False).getvalue()
    for length in range(len(raw)):
        with pytest.raises((RuntimeError, EOFError, pickle.UnpicklingError)):
            torch.load(io.BytesIO(raw[:length]))


ALLOWED_TO_FAIL = (RuntimeError, EOFError, pickle.UnpicklingError, ValueError)
RAW = {
    legacy: saved(
        {"a": tensor(20), "b": [1, "x", None], "c": tensor(3, dtype=np.int64)},
        _use_new_zipfile_serialization=not legacy,
    ).getvalue()
    for legacy in (False, True)
}


@settings(max_examples=400, deadline=None)
@given(st.booleans(), st.integers(0, 10**6), st.integers(1, 255))
def test_a_changed_byte_is_an_error_or_harmless(legacy: bool, place: int, change: int) -> None:
    raw = bytearray(RAW[legacy])
    raw[place % len(raw)] ^= change
    try:
        torch.load(io.BytesIO(bytes(raw)))
    except ALLOWED_TO_FAIL as error:
        assert str(error)


@settings(max_examples=400, deadline=None)
@given(st.integers(0, 10**6), st.binary(max_size=12))
def test_pickles_with_spliced_bytes(place: int, splice: bytes) -> None:
    pickled = zipfile.ZipFile(io.BytesIO(RAW[False])).read("archive/data.pkl")
    at = place % len(pickled)
    try:
        torch.load(
            archive(
                pickled[:at] + splice + pickled[at + len(splice) :],
                {"data/0": bytes(80), "data/1": bytes(24)},
            )
        )
    except ALLOWED_TO_FAIL as error:
        assert str(error)


def test_changed_data_is_noticed(tmp_path: Path) -> None:
    raw = bytearray(saved(tensor(1000)).getvalue())
    raw[raw.index(b"data/0") + 2000] ^= 1
    with pytest.raises(RuntimeError, match="file data/0 does not match its checksum"):
        torch.load(io.BytesIO(bytes(raw)))


def test_files_that_are_something_else(tmp_path: Path) -> None:
    with pytest.raises(EOFError):
        torch.load(io.BytesIO(b""))
    with pytest.raises(RuntimeError, match="Invalid magic number; corrupt file?"):
        torch.load(io.BytesIO(pickle.dumps({"a": 1}, 2)))
    with pytest.raises(FileNotFoundError):
        torch.load(tmp_path / "nothing.pt")
    with pytest.raises(IsADirectoryError):
        torch.load(tmp_path)
    with pytest.raises(RuntimeError, match='Expected hasRecord\\("version"\\)'):
        zipped(tmp_path, {"x/other": b""})
    with pytest.raises(RuntimeError, match="not in a subdirectory"):
        zipped(tmp_path, {"data.pkl": b""})
    with pytest.raises(RuntimeError, match="version 99, but the maximum supported version"):
        torch.load(archive(b"\x80\x02N.", version=b"99\n"))
    with pytest.raises(RuntimeError, match="TorchScript"):
        torch.load(archive(b"\x80\x02N.", {"constants.pkl": b""}))
    with pytest.raises(RuntimeError, match="before 2017"):
        torch.load(io.BytesIO(bytes(257) + b"ustar" + bytes(300)))


def zipped(folder: Path, records: dict[str, bytes]) -> Any:
    with zipfile.ZipFile(folder / "z.pt", "w") as file:
        for name, data in records.items():
            file.writestr(name, data)
    return torch.load(folder / "z.pt")


def test_compressed_archives_load_but_cannot_be_mapped(tmp_path: Path) -> None:
    values = np.arange(4, dtype=np.float32)
    file = archive(storage_pickle(4, 1, 0), {"data/0": values.tobytes()}, compression=zipfile.ZIP_DEFLATED)
    assert torch.load(file).tolist() == [0, 1, 2, 3]
    (tmp_path / "c.pt").write_bytes(file.getvalue())
    with pytest.raises(RuntimeError, match="mmap=True needs records stored as they are"):
        torch.load(tmp_path / "c.pt", mmap=True)


def test_deep_nesting_needs_no_recursion() -> None:
    pickled = b"\x80\x02" + b"]" * 5000 + b"a" * 4999 + b"."
    depth, found = 0, WeightsUnpickler(pickled, lambda key: None).load()
    while found:
        found, depth = found[0], depth + 1
    assert depth == 4999


def test_counter_and_ordered_dict_keep_their_types() -> None:
    obj = [collections.Counter("aab"), collections.OrderedDict(a=1)]
    loaded = torch.load(saved(obj))
    assert loaded == obj and [type(x) for x in loaded] == [type(x) for x in obj]
