"""What PyTorch does not count as a view: of a copy that reshape made, of a product that matmul folded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import rushlight as torch
from rushlight.utils._python_dispatch import TorchDispatchMode


class _Noted(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.names.append(str(func).removeprefix("aten."))
        return func(*args, **(kwargs or {}))


_COPY = ["clone.default", "_unsafe_view.default"]
_A, _B = torch.ones(2, 3, 4), torch.ones(2, 4, 5)


@pytest.mark.parametrize(
    ("run", "wanted"),
    [
        (lambda: _A.reshape(-1), ["view.default"]),
        (lambda: _A.transpose(0, 2).reshape(-1), ["transpose.int", *_COPY]),
        (lambda: _A.transpose(0, 2).flatten(), ["transpose.int", *_COPY]),
        (lambda: _A @ torch.zeros_like(_B[0]), ["view.default", "mm.default", "_unsafe_view.default"]),
        (
            lambda: _A @ _B,
            ["expand.default", "view.default"] * 2 + ["bmm.default", "_unsafe_view.default"],
        ),
        (lambda: torch.nn.functional.linear(_A, torch.zeros(5, 4)), ["mm.default", "_unsafe_view.default"]),
    ],
)
def test_a_mode_is_told_unsafe_views(run: Callable[[], Any], wanted: list[str]) -> None:
    with _Noted() as mode:
        run()
    assert mode.names[-len(wanted) :] == wanted


def test_sizes_that_do_not_fit_are_refused_as_ever() -> None:
    with _Noted(), pytest.raises(RuntimeError, match=r"shape '\[5\]' is invalid for input of size 6"):
        torch.ones(2, 3).t().reshape(5)
