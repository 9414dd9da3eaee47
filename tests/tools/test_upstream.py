"""tools/upstream.py reads a PyTorch without importing it."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import upstream  # noqa: E402


def _package(folder: Path, version: str, functions: str) -> Path:
    torch = folder / version / "torch"
    files = {
        "version.py": f"__version__: str = '{version}+cpu'\n",
        "functional.py": functions,
        "_C/__init__.pyi": "class TensorBase:\n    def relu(self): ...\n    def grown_up(self, by=1): ...\n",
        "_tensor.py": "class Tensor:\n    pass\n",
    }
    for package in upstream.FOLDERS:
        files[f"{package}/__init__.py"] = ""
    for name, text in files.items():
        (torch / name).parent.mkdir(parents=True, exist_ok=True)
        (torch / name).write_text(text)
    return torch


def test_what_is_new_and_what_changed_is_listed(tmp_path: Path, monkeypatch) -> None:
    old = _package(tmp_path, "9.1", "__all__ = ['norm', 'gone']\ndef norm(input): ...\ndef gone(): ...\n")
    new = _package(
        tmp_path,
        "9.2",
        "__all__ = ['norm', 'einsum', 'never']\n"
        "def norm(input, extra=3, p=2): ...\ndef einsum(*args): ...\n"
        "def never(a, *, b=1): ...\ndef hidden(): ...\n",
    )
    monkeypatch.setattr(upstream, "reasons", lambda: {"torch.nev*": "nobody asks"})
    text, untold = upstream.report(new, old)
    assert "PyTorch 9.2: 5 public names were read, 3 are there, 2 are left out." in text
    assert "- `torch.never(a, b=1)`: left out: nobody asks" in text
    assert "- `torch.einsum(*args)`: there" in text
    assert "- `torch.gone`" in text
    assert "- `torch.norm`: new: `extra=3`, `p=2`; gone: none. Not taken: extra." in text
    assert untold == ["torch.Tensor.grown_up"] and "hidden" not in text


def test_every_reason_is_told_once_and_in_words() -> None:
    lines = upstream.REASONS.read_text().splitlines()
    assert len({line.split("\t")[0] for line in lines}) == len(lines)
    assert all(len(line.split("\t")) == 2 and line.split("\t")[1].strip() for line in lines)
