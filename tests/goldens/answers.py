"""Behaviours as functions of the package: asked of PyTorch by recorders, of Rushlight by tests."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

Behaviour = Callable[[Any], Any]
# Relative error that an optimizer's or an op's result may have, by dtype.
_PRECISION = {
    "torch.float64": 1e-10,
    "torch.complex128": 1e-10,
    "torch.float32": 4e-6,
    "torch.complex64": 4e-6,
    "torch.float16": 4e-3,
    "torch.bfloat16": 3.2e-2,
}


class Table(dict[str, Behaviour]):
    """Behaviours by name; `@table` adds a function."""

    def __init__(self, file: str) -> None:
        super().__init__()
        self._path = Path(__file__).with_name(file)

    def __call__(self, function: Behaviour) -> Behaviour:
        if function.__name__ in self:
            raise KeyError(f"{function.__name__} is in the table twice")
        self[function.__name__] = function
        return function

    def answers(self, torch: Any) -> dict[str, Any]:
        """All behaviours' results."""
        return {name: self.answer(name, torch) for name in self}

    def answer(self, name: str, torch: Any) -> Any:
        """One behaviour's result, as it comes back from JSON."""
        torch.manual_seed(3)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return json.loads(json.dumps(plain(self[name](torch))))

    def record(self, torch: Any) -> None:
        """Write the package's answers, a line for each."""
        lines = [
            f"{json.dumps(name)}:{json.dumps(found, separators=(',', ':'))}"
            for name, found in self.answers(torch).items()
        ]
        self._path.write_text("{" + ",\n".join(lines) + "}\n")

    def recorded(self) -> dict[str, Any]:
        """PyTorch's answers."""
        found: dict[str, Any] = json.loads(self._path.read_text())
        return found

    def compared(self, torch: Any, *how: float) -> Callable[[str], None]:
        """A test for each name: the answer is the recorded one. how: what `same` takes."""
        import pytest  # recorders do without

        wanted = self.recorded()

        @pytest.mark.parametrize("name", self)
        def test(name: str) -> None:
            got = self.answer(name, torch)
            assert same(got, wanted[name], *how), difference(got, wanted[name])

        return test


def plain(value: Any) -> Any:
    """A result as JSON can hold it."""
    if hasattr(value, "detach"):
        return {
            "tensor": _numbers(value.detach().tolist()),
            "dtype": str(value.dtype),
            "shape": list(value.shape),
        }
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, dict):
        return {"dict": [[plain(k), plain(v)] for k, v in value.items()]}
    if isinstance(value, (int, float, str, bool, type(None))):
        return value
    text = repr(value).replace("rushlight", "torch")
    return type(value).__name__ if " at 0x" in text else text


def _numbers(value: Any) -> Any:
    if isinstance(value, list):
        return [_numbers(v) for v in value]
    return [value.real, value.imag] if isinstance(value, complex) else value


def attempt(function: Callable[[], Any]) -> Any:
    """A result, or the error's class and text; the package's name is PyTorch's."""
    try:
        return function()
    except Exception as error:  # noqa: BLE001 - whatever it is, it is the answer
        return f"{type(error).__name__}: {error}".replace("rushlight", "torch")


def attempts(texts: str, names: dict[str, Any]) -> dict[str, Any]:
    """Each expression's result or error."""
    return {
        text: attempt(lambda text=text: eval(text, names))  # noqa: S307 - our own texts
        for text in split(texts)
    }


def split(texts: str) -> list[str]:
    """One expression a line."""
    return [line.strip() for line in texts.splitlines() if line.strip()]


def same(got: Any, wanted: Any, precision: float = 1e-9) -> bool:
    """Equal, tensors up to their dtype's rounding; an error may say more than PyTorch's."""
    if isinstance(wanted, dict):
        precision = _PRECISION.get(wanted.get("dtype", ""), precision)
        return (
            isinstance(got, dict)
            and list(got) == list(wanted)
            and all(same(got[k], wanted[k], precision) for k in wanted)
        )
    if isinstance(wanted, list):
        return (
            isinstance(got, list)
            and len(got) == len(wanted)
            and all(same(g, w, precision) for g, w in zip(got, wanted))
        )
    if isinstance(wanted, float) and isinstance(got, (int, float)):
        return math.isclose(got, wanted, rel_tol=precision, abs_tol=precision / 2) or (
            math.isnan(got) and math.isnan(wanted)
        )
    if isinstance(wanted, str) and isinstance(got, str):
        return got == wanted or ("Error: " in wanted and got.startswith(_head(wanted)))
    return type(got) is type(wanted) and got == wanted


def _head(error: str) -> str:
    return error.split("\n")[0].split("\nException")[0].rstrip(". ")


def difference(got: Any, wanted: Any, path: str = "") -> str:
    """Where two answers part, for the failure's text."""
    if isinstance(wanted, dict) and isinstance(got, dict) and list(got) == list(wanted):
        if "tensor" not in wanted:
            for key in wanted:
                if not same(got[key], wanted[key]):
                    return difference(got[key], wanted[key], f"{path}.{key}")
    if isinstance(wanted, list) and isinstance(got, list) and len(got) == len(wanted):
        for i, (g, w) in enumerate(zip(got, wanted)):
            if not same(g, w):
                return difference(
                    g, w, f"{path}[{i}]" if not (i == 1 and isinstance(got[0], str)) else f"{path}<{got[0]}>"
                )
    return f"at {path}:\n got    {got}\n wanted {wanted}"
