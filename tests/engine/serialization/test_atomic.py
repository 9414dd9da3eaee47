"""Saving replaces a file as a whole or leaves it: full disks, errors, killed processes."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

import rushlight as torch
from rushlight._engine.serialization import atomic

from .archives import tensor

ROOT = str(Path(torch.__file__).parents[1])


def python(code: str, *args: str) -> subprocess.Popen[bytes]:
    head = f"import sys; sys.path.insert(0, {ROOT!r}); import numpy as np\nimport rushlight as torch\n"
    return subprocess.Popen(
        [sys.executable, "-c", head + code, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def only(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


def test_a_full_disk_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "a.pt"
    torch.save(tensor(10), path)
    found = python(
        """
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    torch.save(torch.from_numpy(np.zeros(100_000)), sys.argv[1])
except RuntimeError as error:
    print(error)
""",
        str(path),
    )
    said, errors = found.communicate(timeout=60)
    assert found.returncode == 0, errors
    assert b"PytorchStreamWriter failed writing file" in said and b"File too large" in said
    assert only(tmp_path) == ["a.pt"]
    assert torch.load(path).shape == (10,)


def test_large_tensors_can_be_saved_when_the_program_ends(tmp_path: Path) -> None:
    """They are written in stretches beside other work; no thread may start any more, in newer versions of Python."""
    path = tmp_path / "a.pt"
    torch.save(tensor(10), path)
    found = python(
        """
import atexit
data = torch.arange(10_000_000), torch.ones(2_000_000)
atexit.register(torch.save, data, sys.argv[1])
atexit.register(torch.save, data, "/dev/null")
""",
        str(path),
    )
    _, errors = found.communicate(timeout=60)
    assert found.returncode == 0 and not errors
    first, second = torch.load(path)
    assert (first == torch.arange(10_000_000)).all() and (second == 1).all() and only(tmp_path) == ["a.pt"]


def test_a_killed_save_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "a.pt"
    torch.save(tensor(10), path)
    size = path.stat().st_size
    saving = python(
        """
data = [torch.from_numpy(np.zeros(10_000_000)) for _ in range(4)]
print("ready", flush=True)
while True:
    torch.save(data, sys.argv[1])
    print("saved", flush=True)
""",
        str(path),
    )
    assert saving.stdout is not None and saving.stdout.readline() == b"ready\n"
    end = time.monotonic() + 30
    while len(only(tmp_path)) < 2 and time.monotonic() < end:
        time.sleep(0.001)
    os.kill(saving.pid, signal.SIGKILL)
    saving.communicate(timeout=60)
    if path.stat().st_size == size:
        assert torch.load(path).shape == (10,)
    else:
        assert torch.load(path, mmap=True)[3].shape == (10_000_000,)
    torch.save(tensor(10), path)  # which removes what the killed one left
    assert only(tmp_path) == ["a.pt"]


def test_only_what_nobody_writes_is_removed(tmp_path: Path) -> None:
    path, other = tmp_path / "a.pt", tmp_path / "b.pt.1-00000000.tmp"
    own = tmp_path / "a.pt.999999-0123abcd.tmp"
    like = [tmp_path / name for name in ("a.pt.tmp", "a.pt.12-xyz.tmp", "aXpt.1-00000000.tmp")]
    for each in (other, own, *like):
        each.write_bytes(b"1")
    with atomic.replacing(str(path)) as file:
        file.write(b"first")
        torch.save(tensor(3), path)  # another writer of the same file, meanwhile
    assert path.read_bytes() == b"first" and not own.exists()
    assert only(tmp_path) == sorted(["a.pt", other.name, *[each.name for each in like]])


def test_an_error_while_pickling_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "a.pt"
    torch.save(1, path)
    with pytest.raises(Exception, match="pickle"):
        torch.save(lambda: 1, path)
    with pytest.raises(RuntimeError, match="different types"):
        t = tensor(4)
        torch.save([t, t.view(torch.int32)], path, _use_new_zipfile_serialization=False)
    assert only(tmp_path) == ["a.pt"] and torch.load(path) == 1


def test_permissions_and_links_stay(tmp_path: Path) -> None:
    real, link = tmp_path / "real.pt", tmp_path / "link.pt"
    torch.save(1, real)
    assert stat.S_IMODE(real.stat().st_mode) == 0o666 & ~_umask()
    real.chmod(0o640)
    link.symlink_to(real)
    torch.save(2, link)
    assert link.is_symlink() and torch.load(real) == 2
    assert stat.S_IMODE(real.stat().st_mode) == 0o640


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_what_is_no_file_is_written_straight(tmp_path: Path) -> None:
    torch.save(tensor(3), "/dev/null")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_refused_paths(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="Parent directory .*nowhere does not exist"):
        torch.save(1, tmp_path / "nowhere" / "a.pt")
    with pytest.raises(RuntimeError, match="Is a directory"):
        torch.save(1, tmp_path)
    with pytest.raises(RuntimeError, match="invalid file name"):
        torch.save(1, tmp_path / ".pt")
    with pytest.raises(AttributeError, match="'write' attribute"):
        torch.save(1, 3)
    assert only(tmp_path) == []


def test_relative_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    torch.save(1, "a.pt")
    torch.save(2, Path("a.pt"))
    assert torch.load("a.pt") == 2 and only(tmp_path) == ["a.pt"]
