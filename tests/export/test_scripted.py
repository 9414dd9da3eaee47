"""TS2EPConverter: scripted programs whose branches and attributes tensors decide."""

from __future__ import annotations

from typing import Any

import pytest

import rushlight as torch
from rushlight._export.converter import TS2EPConverter
from rushlight.export import ExportedProgram


class Branches(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.tensor(3.0))

    def both(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        if x.sum() > 5:
            return x * self.weight, x
        return x, x - self.weight

    def forward(self, flag: torch.Tensor, x: torch.Tensor, plain: bool) -> torch.Tensor:
        if flag:
            a, b = self.both(x)
        elif plain:
            a, b = x, x + 1
        else:
            a, b = x + 2, x
        return a + 2 * b


def _converted(model: Any, *args: Any) -> ExportedProgram:
    return TS2EPConverter(torch.jit.script(model), args).convert()


def test_branches_of_scripted_programs() -> None:
    model, x = Branches(), torch.ones(3)
    program = _converted(model, torch.tensor(1), x, True)
    assert sum(str(n.target) == "higher_order.cond" for n in program.graph.nodes) == 1
    for flag, given in ((1, x), (1, x * 2), (0, x)):
        found = program.module()(torch.tensor(flag), given, True)
        assert found.equal(model(torch.tensor(flag), given, True)), (flag, given)


def test_branches_of_scripted_and_traced_functions() -> None:
    def signed(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        if x.sum() > 0:
            return x + y
        return x - y

    one = torch.ones(2)
    program = _converted(signed, one, one)
    assert program.module()(-one, one).tolist() == [-2, -2] and program.module()(one, one).tolist() == [2, 2]
    traced = torch.jit.trace(signed, (one, one))
    assert TS2EPConverter(traced, (one, one)).convert().module()(-one, one).tolist() == [0, 0]


def test_attributes_that_scripted_programs_assign() -> None:
    class Counts(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.sum, self.calls = torch.zeros(2), 0
            self.register_buffer("last", torch.zeros(2))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.sum = self.sum + x
            self.last = x * 2
            self.calls += 1
            return self.sum + self.calls

    scripted = torch.jit.script(Counts())
    program = TS2EPConverter(scripted, (torch.ones(2),)).convert()
    assert scripted.calls == 0 and scripted.sum.tolist() == [0, 0] == scripted.last.tolist()
    module = program.module()
    assert [module(torch.ones(2))[0].item() for _ in range(3)] == [2, 3, 4]
    assert module.last.tolist() == [2, 2] and "sum" in program.state_dict


def test_what_scripted_programs_raise() -> None:
    @torch.jit.script
    def raises(x: int) -> int:
        if x == 0:
            raise RuntimeError("zero")
        if x == 1:
            raise ValueError("one", x)
        if x == 2:
            raise ValueError
        assert x > 3, "three"
        return x

    for x, told in enumerate(
        [
            "builtins.RuntimeError: zero",
            "builtins.ValueError: (one, 1)",
            "RuntimeError: ",
            "RuntimeError: Assert",
        ]
    ):
        with pytest.raises(torch.jit.Error) as caught:
            raises(x)
        assert str(caught.value).splitlines()[-1].startswith(told)
