"""What Python may give where a script expects a tuple or a list of numbers."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Tuple  # as programs write them

import pytest

import rushlight as torch


def scaled(a: Tuple[torch.Tensor, int]) -> torch.Tensor:
    return a[0] * a[1]


def maybe(a: Optional[Tuple[int, int]]) -> Optional[Tuple[int, int]]:
    return a


def several(a: List[Tuple[int, int]]) -> List[Tuple[int, int]]:
    return a


def named(a: Dict[str, Tuple[int, int]]) -> Dict[str, Tuple[int, int]]:
    return a


def longer(a: List[int]) -> int:
    return a[-1] + len(a)


def first(a: List[List[int]]) -> int:
    return a[0][-1]


@pytest.mark.parametrize("given", [lambda x: [x, 3], lambda x: iter([x, 3]), lambda x: {x: 0, 3: 0}])
def test_what_can_be_gone_through_is_a_tuple(given: Any) -> None:
    x = torch.ones(2)
    assert torch.jit.script(scaled)(given(x)).tolist() == [3.0, 3.0]


def test_within_other_types() -> None:
    assert torch.jit.script(maybe)([1, 2]) == (1, 2) and torch.jit.script(maybe)(None) is None
    assert torch.jit.script(several)(([1, 2],)) == [(1, 2)]
    assert torch.jit.script(named)({"a": [1, 2]}) == {"a": (1, 2)}
    assert torch.jit.script(longer)(range(3)) == 5
    assert torch.jit.script(first)([range(3)]) == 2
    assert torch.jit.script(scaled)((torch.ones(2), True)).tolist() == [1.0, 1.0]


@pytest.mark.parametrize("given", [[torch.ones(1)], [torch.ones(1), "s"], [torch.ones(1), 2.5], 5, range(2)])
def test_what_does_not_fit_is_said_of_what_was_given(given: Any) -> None:
    with pytest.raises(RuntimeError, match=f"but instead found type '{type(given).__name__}'"):
        torch.jit.script(scaled)(given)
