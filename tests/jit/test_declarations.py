"""What compilation refuses, and what a saved module keeps: details that programs rely on."""

from __future__ import annotations

import importlib
import io
import pickletools
import zipfile
from pathlib import Path
from typing import Any

import pytest

import rushlight as torch


def test_overloads_need_an_implementation() -> None:
    with pytest.raises(RuntimeError, match="Only `pass` statement"):

        @torch.jit._overload
        def told(x: int) -> int:
            return x

    @torch.jit._overload
    def missing(x: int) -> int: ...

    def caller() -> int:
        return missing(0)

    with pytest.raises(RuntimeError, match="Implementation for the function .* is missing"):
        torch.jit.script(caller)


def test_a_type_is_said_once() -> None:
    def f() -> None:
        x = 5
        if x == 1:
            x: int = 7  # type: ignore[no-redef]

    with pytest.raises(RuntimeError, match="declare and annotate"):
        torch.jit.script(f)


def test_setstate_needs_getstate() -> None:
    class Half(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return x

        @torch.jit.export
        def __setstate__(self, state: Any) -> None:
            self.training = state[0]

    with pytest.raises(RuntimeError, match="but not `__getstate__`"):
        torch.jit.script(Half())


def test_numbers_and_generators_are_types() -> None:
    @torch.jit.script
    def plus(x):  # type: ignore[no-untyped-def]
        # type: (number) -> number
        return x + 1

    assert plus(2) == 3

    @torch.jit.script
    def draw() -> torch.Tensor:
        source = torch.Generator()
        source.manual_seed(2023)
        return torch.empty(3).normal_(0.0, 2.0, generator=source)

    wanted = torch.empty(3).normal_(0.0, 2.0, generator=torch.Generator().manual_seed(2023))
    assert draw().equal(wanted)


def test_alpha_is_a_variable() -> None:
    @torch.jit.script
    def f(x: torch.Tensor, n: int) -> torch.Tensor:
        return torch.add(x, 2, alpha=n)

    assert f(torch.zeros(1), 3).item() == 6


class Words(torch.nn.Module):
    """Has the same text twice, and a tensor without data."""

    words: list[str]

    def __init__(self) -> None:
        super().__init__()
        self.words = ["a long string", "a long string"]
        self.register_buffer("ghost", torch.empty(2, device="meta"))

    def forward(self) -> list[str]:
        return self.words


def test_text_is_saved_once_and_meta_tensors_are_saved() -> None:
    buffer = io.BytesIO()
    torch.jit.save(torch.jit.script(Words()), buffer)
    data = zipfile.ZipFile(buffer).read("archive/data.pkl")
    assert [arg for _, arg, _ in pickletools.genops(data)].count("a long string") == 1
    buffer.seek(0)
    loaded = torch.jit.load(buffer)
    assert loaded.words == ["a long string"] * 2
    assert loaded.ghost.is_meta
    with pytest.raises(RuntimeError):  # the file's end
        torch.jit.load(buffer)


def test_constant_lists_are_saved_with_their_types() -> None:
    @torch.jit.script
    def f() -> list[str]:
        found: list[str] = []
        return found

    torch._C._jit_pass_constant_propagation(f.graph)
    buffer = io.BytesIO()
    f.save(buffer)
    buffer.seek(0)
    assert torch.jit.load(buffer)() == []


def test_a_module_for_the_lite_interpreter() -> None:
    from rushlight.jit.mobile import _load_for_lite_interpreter

    made = torch.jit.script(torch.nn.Linear(2, 3))
    lite = _load_for_lite_interpreter(io.BytesIO(made._save_to_buffer_for_lite_interpreter()))
    x = torch.randn(1, 2)
    assert lite(x).equal(made(x))
    assert lite.find_method("forward") and not lite.find_method("other")


class Guarded(torch.nn.Module):
    """Has a part without gradients, and one that the profiler is told of."""

    def forward(self, x: torch.Tensor, on: bool) -> torch.Tensor:
        with torch.autograd.profiler.record_function("part"):
            y = x + 1
        with torch.no_grad():
            z = y * 2
        with torch.set_grad_enabled(on):
            y = y * y
        return z + y


def test_with_is_saved() -> None:
    made = torch.jit.script(Guarded())
    buffer = io.BytesIO()
    torch.jit.save(made, buffer)
    assert "  with _0:\n    y = torch.add(x, 1)" in made.code
    assert "archive/code/__torch__/torch/autograd/grad_mode.py" in zipfile.ZipFile(buffer).namelist()
    buffer.seek(0)
    loaded = torch.jit.load(buffer)
    x = torch.ones(2, requires_grad=True)
    assert loaded(x, True).equal(made(x, True))
    assert loaded(x, True).requires_grad
    assert not loaded(x, False).requires_grad


def test_dtypes_of_casts_are_saved() -> None:
    class Cast(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.ceil(x).long()

    buffer = io.BytesIO()
    torch.jit.save(torch.jit.script(Cast()), buffer)
    buffer.seek(0)
    assert torch.jit.load(buffer)(torch.ones(1)).dtype is torch.int64


def test_devices_by_name_and_type_as() -> None:
    @torch.jit.script
    def f(x: torch.device) -> torch.device:
        return x

    assert f("cpu") == torch.device("cpu")
    with pytest.raises(RuntimeError, match="Expected one of"):
        f("invalid_device")
    traced = torch.jit.trace(lambda x, y: x.type_as(y), (torch.ones(1), torch.zeros(2)))
    assert "aten::type_as" in str(traced.graph)
    torch._C._jit_pass_peephole(traced.graph)
    assert "aten::type_as" not in str(traced.graph)


def test_what_stands_further_left_than_the_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [
        "class Box:",
        "    def f() -> str:",
        '        text = """',
        'left"""',
        "  # a comment",
        "        return text",
    ]
    (tmp_path / "further_left.py").write_text("\n".join(lines) + "\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert torch.jit.script(importlib.import_module("further_left").Box.f)() == "\nleft"
