"""What errors of the compiler underline, as PyTorch does."""

from __future__ import annotations

from typing import Any

import pytest

import rushlight as torch


def counted(x: int) -> int:
    return x + 1


def promised(x: int) -> torch.jit.Future[float]:
    return torch.jit._fork(counted, (x))


def assigned(x: int) -> Any:
    found = promised(x)
    return found.wait()


def listed(x: int) -> Any:
    return [promised(x), promised(x)]


def underlined(error: BaseException) -> list[str]:
    """The texts above the lines of waves."""
    lines = str(error).splitlines()
    return [
        lines[i - 1][line.index("~") : line.rindex("~") + 1]
        for i, line in enumerate(lines)
        if "~ <---" in line
    ]


def test_calls_on_the_way_to_an_error_are_shown_whole() -> None:
    with pytest.raises(RuntimeError, match="being compiled since it was called from 'assigned'") as told:
        torch.jit.script(assigned)
    assert underlined(told.value) == ["return torch.jit._fork(counted, (x", "found = promised(x"]
    with pytest.raises(RuntimeError, match="annotated as having type") as told:
        torch.jit.script(listed)
    assert underlined(told.value)[1] == "promised(x"


def test_forks_are_shown_whole() -> None:
    def forked(x):  # a tensor
        return torch.jit._fork(x)

    with pytest.raises(RuntimeError, match="cannot call a value of type 'Tensor'") as told:
        torch.jit.script(forked)
    assert underlined(told.value) == ["torch.jit._fork(x"]


def test_a_scripted_graph_has_the_name_of_the_module_that_it_was_made_of() -> None:
    class Doubled(torch.nn.Module):
        def forward(self, x):
            return x * 2

    assert torch.jit.script(torch.fx.symbolic_trace(Doubled())).original_name == "Doubled"
