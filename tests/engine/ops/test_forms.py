"""Messages that list arguments say which go together."""

from __future__ import annotations

import pytest

import rushlight as torch

X = torch.tensor([1.0, 2.0])
MAX = "it is called as max(input) or as max(input, other) or as max(input, dim, keepdim=False)"
CASES = {
    "a keyword that is none": (
        lambda: torch.max(X, dim=0, foo=1),
        f"unexpected keyword argument 'foo'; {MAX}",
    ),
    "alternatives": (lambda: torch.max(X, dim=0, other=X), f"invalid combination of arguments; {MAX}"),
    "neither of them": (lambda: torch.min(X, "a"), "or as min(input, dim, keepdim=False)"),
    "half of a form": (
        lambda: torch.where(X > 1, 1),
        "it is called as where(condition) or as where(condition, input, other)",
    ),
    "other beginnings": (lambda: torch.arange(3, foo=1), "as arange(end, *, dtype=None"),
    "a correction": (
        lambda: torch.std(X, dim=0, unbiased=True, correction=1),
        "or as var(input, dim=None, *, correction=None, keepdim=False)",
    ),
    "one form": (
        lambda: torch.add(X, 1, beta=2),
        "unexpected keyword argument 'beta'; the signature is add(input, other, *, alpha=1)",
    ),
    "what must be given": (lambda: torch.full((2,)), "the signature is full(size, fill_value, *, dtype=None"),
    "nothing": (lambda: torch.repeat_interleave(), "or as repeat_interleave(input, repeats, dim=None"),
    "a dim": (lambda: X.std("a"), "cannot be interpreted as an integer"),
}


@pytest.mark.parametrize("case", CASES)
def test_a_message_tells_the_forms(case: str) -> None:
    call, words = CASES[case]
    with pytest.raises(TypeError) as caught:
        call()
    assert words in str(caught.value)


def test_repeat_interleave_takes_repeats_alone() -> None:
    counts = torch.tensor([1, 2])
    for found in (torch.repeat_interleave(repeats=counts), torch.repeat_interleave(counts)):
        assert found.tolist() == [0, 1, 1]
