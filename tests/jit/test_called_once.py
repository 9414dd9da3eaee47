"""What a script calls runs once, and what numbers are in scripts."""

from __future__ import annotations

import rushlight as torch


def drawn(n: int) -> int:
    return int(torch.randint(0, n, (1,)).item())


def item(x: torch.Tensor) -> float:
    return float(x[drawn(5)].item())


def names(x: dict[str, int]) -> list[str]:
    return list(noted(x).keys())


def noted(x: dict[str, int]) -> dict[str, int]:
    x["n"] += 1
    return x


def as_number(x: int | float) -> float:
    return float(x)


def same(x: torch.Tensor, n: float) -> tuple[bool, bool, bool]:
    host = torch.device("cpu")
    return x.device is host, x.dtype is not torch.float32, n is n * 1.0


def test_numbers_dtypes_and_devices_are_the_same_where_they_are_equal() -> None:
    assert torch.jit.script(same)(torch.ones(1), 2.5) == (True, False, True)


def test_what_a_method_is_called_on_runs_once() -> None:
    scripted = torch.jit.script(item)
    assert scripted.code.count("drawn") == 1
    assert torch.jit.script(names).code.count("noted") == 1


def test_a_union_of_numbers_is_a_number() -> None:
    scripted = torch.jit.script(as_number)
    assert scripted(3) == 3.0 and scripted(2.5) == 2.5


def test_a_scripted_function_names_its_class() -> None:
    scripted = torch.jit.script(item)
    assert (scripted.name, scripted.__name__) == ("item", "ScriptFunction")
