"""A class with `__torch_function__` takes ops over though it is a tuple, as a named tuple of parts is."""

from __future__ import annotations

from typing import Any, NamedTuple

import rushlight as torch


class _Parts(NamedTuple):
    value: torch.Tensor


class Scaled(_Parts):
    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        plain = [a.value if isinstance(a, Scaled) else a for a in args]
        return func(*plain, **{k: v.value if isinstance(v, Scaled) else v for k, v in (kwargs or {}).items()})


def test_a_named_tuple_takes_over() -> None:
    x, w = torch.ones(2, 4), Scaled(torch.ones(3, 4))
    assert torch.equal(torch.nn.functional.linear(x, w), torch.full((2, 3), 4.0))
    assert torch.equal(torch.add(Scaled(x), x), x + x) and torch.equal(torch.relu(Scaled(x)), x)
    assert torch.equal(torch.cat([x, x]), torch.ones(4, 4)) and torch.equal(
        torch.matmul(Scaled(x), x.t()), x @ x.t()
    )
