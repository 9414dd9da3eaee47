"""`with` in scripted functions: torch's managers, and objects of scripted classes."""

from __future__ import annotations

import io
from typing import Any

import pytest

import rushlight as torch
from rushlight.jit.frontend import UnsupportedNodeError

X = torch.ones(2, requires_grad=True)


class Noted:
    """Notes when it is entered and left."""

    def __init__(self, n: int) -> None:
        self.n = n
        self.log = torch.jit.annotate(list[int], [])

    def __enter__(self) -> int:
        self.log.append(self.n)
        return self.n

    def __exit__(self, kind: Any, value: Any, tb: Any) -> None:
        self.log.append(-self.n)


def quiet(x: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        y = x * 2
    return y


def early(x: torch.Tensor, flag: bool) -> torch.Tensor:
    with torch.no_grad():
        if flag:
            return x * 2
    return x * 3


def leaving_loops(x: torch.Tensor, n: int) -> torch.Tensor:
    out = x
    for i in range(n):
        with torch.no_grad(), torch.autograd.profiler.record_function("round"):
            out = out + i
            if i == 2:
                break
    return out


def entered(x: torch.Tensor, n: int) -> tuple[torch.Tensor, list[int]]:
    noted = Noted(n)
    with noted as k:
        y = x * k
        assert y.size(0) == 2, "two"
    return y, noted.log


def test_gradients_are_off_inside() -> None:
    scripted = torch.jit.script(quiet)
    assert not scripted(X).requires_grad and torch.is_grad_enabled()
    assert "grad_mode.no_grad.__new__(" in scripted.code


def test_returns_and_breaks_leave() -> None:
    scripted = torch.jit.script(early)
    assert [scripted(X, flag).requires_grad for flag in (True, False)] == [False, True]
    found = torch.jit.script(leaving_loops)(X, 5)
    assert found.tolist() == [4, 4] and not found.requires_grad and torch.is_grad_enabled()


def test_objects_are_entered_and_left() -> None:
    found, log = torch.jit.script(entered)(X, 3)
    assert found.tolist() == [3, 3] and log == [3, -3]


def test_errors_leave_too() -> None:
    def fails(x: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            assert x.size(0) == 3, "three"
        return x

    with pytest.raises(Exception, match="three"):
        torch.jit.script(fails)(X)
    assert torch.is_grad_enabled()


def test_what_is_refused() -> None:
    def no_manager(x: torch.Tensor) -> torch.Tensor:
        with x:
            return x

    with pytest.raises(RuntimeError, match="must return an object with a method __enter__"):
        torch.jit.script(no_manager)

    def named(x: torch.Tensor) -> torch.Tensor:
        with torch.inference_mode(mode=True):
            return x

    with pytest.raises(UnsupportedNodeError):
        torch.jit.script(named)


class Counted(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        quiet = torch.no_grad()
        with quiet:
            y = x * 2
        z = y + x
        with quiet as nothing, Noted(3) as count:
            w = x * count
        assert nothing is None
        return y, z, w


def test_managers_are_entered_more_than_once_and_objects_are_saved() -> None:
    scripted = torch.jit.script(Counted())
    file = io.BytesIO()
    torch.jit.save(scripted, file)
    file.seek(0)
    for module in (scripted, torch.jit.load(file)):
        found = module(X)
        assert [one.requires_grad for one in found] == [False, True, False]
        assert found[2].tolist() == [3, 3]
    assert str(scripted.graph).count("prim::Enter(") == 3
    assert "as count:" in scripted.code


def test_deleted_variables() -> None:
    def forgets(x: torch.Tensor, n: int) -> torch.Tensor:
        for i in range(n):
            y = x + i
            x = y * 2
            del y
        return x

    assert torch.jit.script(forgets)(torch.zeros(1), 3).tolist() == forgets(torch.zeros(1), 3).tolist()

    def reads(x: torch.Tensor) -> torch.Tensor:
        y = x + 1
        if bool(x):
            del y
        return y

    with pytest.raises(RuntimeError, match="undefined value y"):
        torch.jit.script(reads)


def test_a_memory_format_by_name_alone() -> None:
    def last(x: torch.Tensor) -> torch.Tensor:
        return x.to(memory_format=torch.channels_last)

    assert torch.jit.script(last)(torch.ones(1, 2, 3, 4)).stride() == (24, 1, 8, 2)
