"""The stubs are those that the code gives, and tell every public name."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

import rushlight as torch
from rushlight import aliases

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import stubs  # noqa: E402


@pytest.fixture(scope="module")
def made() -> dict[Path, str]:
    """The stubs, which are as the code gives them (see the first test)."""
    return {path: path.read_text(encoding="utf-8") for path in (ROOT / "rushlight").rglob("*.pyi")}


def _names(text: str) -> set[str]:
    return set(aliases._names(ast.parse(text), True))


def _methods(text: str, name: str) -> set[str]:
    cls = next(n for n in ast.parse(text).body if isinstance(n, ast.ClassDef) and n.name == name)
    return {
        n.name if isinstance(n, ast.FunctionDef) else n.target.id
        for n in cls.body
        if isinstance(n, (ast.FunctionDef, ast.AnnAssign))
    }


def test_stubs_are_as_the_code_is() -> None:
    # In a process of its own: what other tests did to classes is nothing that a stub should tell.
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "stubs.py"), "--check"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, f"run `{stubs.COMMAND}`: {done.stdout}{done.stderr}"


_MODULES = (
    "",
    "linalg",
    "special",
    "fft",
    "nn",
    "nn.functional",
    "optim",
    "utils.data",
    "distributions",
    "optim.lr_scheduler",
    "return_types",
)
_PUBLIC = """
import json, sys
from importlib import import_module
from types import ModuleType
from rushlight._engine import lazy
from rushlight._engine.names import completion
from rushlight._engine.names.placeholders import is_absent
found = {}
for name in sys.argv[1:]:
    module = import_module(f"rushlight.{name}".rstrip("."))
    listed = {*dir(module)} if name else {*completion.names("torch"), *lazy.homes("rushlight")}
    values = {n: getattr(module, n) for n in listed if not n.startswith("_")}
    found[name] = [n for n, v in values.items() if not isinstance(v, ModuleType) and not is_absent(v)]
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def listed() -> dict[str, list[str]]:
    """The public names of each module, by a process of its own: names that are there to be imported and nothing
    else show in dir() once somebody asked for them.
    """
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", _PUBLIC, *_MODULES],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    found: dict[str, list[str]] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("module", _MODULES)
def test_every_public_name_is_told(made: dict[Path, str], listed: dict[str, list[str]], module: str) -> None:
    path = ROOT.joinpath("rushlight", *module.split("."))
    file = path / "__init__.pyi" if path.is_dir() else path.with_suffix(".pyi")
    public = set(listed[module])
    brought = {
        "annotations",
        "Any",
        "TYPE_CHECKING",
        "import_module",
        "homes",
        "lazy_names",
        "public",
        "HOMES",
        "ModuleType",
        "ModuleSpec",
        "TYPES",
        "namespace",
        "warn",
    }
    assert public - brought - _names(made[file]) == set()


def test_every_method_of_a_tensor_is_told(made: dict[Path, str]) -> None:
    told = _methods(made[ROOT / "rushlight" / "__init__.pyi"], "Tensor")
    public = {n for n in dir(torch.randn(2)) if not n.startswith("_")}
    assert public - told == set()


def test_results_and_forms(made: dict[Path, str]) -> None:
    text = made[ROOT / "rushlight" / "__init__.pyi"]
    assert "def max(input: Tensor, dim: _int, keepdim: _bool = False, *," in text
    assert "-> _max_result:" in text
    assert "def zeros(*size: _int, dtype: _dtype | None = None" in text
    assert "def zeros(size: Sequence[_int], *, dtype: _dtype | None = None" in text
    assert "float32: _dtype" in text
    layers = made[ROOT / "rushlight" / "nn" / "modules" / "linear.pyi"]
    assert {"weight", "bias", "in_features", "forward", "__call__", "__init__"} <= _methods(layers, "Linear")


def test_stubs_are_python_and_give_docstrings(made: dict[Path, str]) -> None:
    for text in made.values():
        compile(text, "stub", "exec")
    text = made[ROOT / "rushlight" / "nn" / "modules" / "pooling.pyi"]
    assert "Maximum over windows of (N, C, H, W) or (C, H, W)" in text


def test_names_under_torch(tmp_path: Path) -> None:
    found = aliases.stubs(ROOT / "rushlight", "torch")
    assert "from rushlight import randn as randn\n" in found["torch/__init__.pyi"]
    assert "from rushlight.nn.functional import relu as relu\n" in found["torch/nn/functional.py"]
    assert "from rushlight.nn.init import kaiming_uniform_ as kaiming_uniform_\n" in found["torch/nn/init.py"]
    assert "from rushlight.optim.adam import AdamW as AdamW\n" in found["torch/optim/adamw.py"]
    assert not any(
        path.startswith(("torch/_engine", "torch/_torch_dispatch", "torch/tensor")) for path in found
    )


def test_stubs_import_what_is_there(made: dict[Path, str]) -> None:
    asked = {
        node.module
        for text in made.values()
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ImportFrom)
    }
    ours = sorted(name for name in asked if name and name.startswith("rushlight"))
    files = [ROOT.joinpath(*name.split(".")) for name in ours]
    missing = [n for n, f in zip(ours, files) if not f.is_dir() and not f.with_suffix(".py").exists()]
    assert missing == []
