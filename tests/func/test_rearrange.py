"""torch.func.rearrange: patterns of einops, as PyTorch reads them (compared with PyTorch 2.13)."""

from __future__ import annotations

import pytest

import rushlight as torch

X = torch.arange(144).reshape(2, 4, 6, 3)


@pytest.mark.parametrize(
    ("pattern", "lengths", "shape", "weighed"),
    [
        ("b h w c -> b c h w", {}, (2, 3, 4, 6), 945792),
        ("b (h1 h) (w1 w) c -> (b h1 w1) h w c", {"h1": 2, "w1": 2}, (8, 2, 3, 3), 982068),
        ("... c -> c ...", {}, (3, 2, 4, 6), 823680),
        ("b ... -> (b ...)", {}, (144,), 984984),
        ("b ... -> ... b 1", {}, (4, 6, 3, 2, 1), 863148),
        ("b h w c -> (b h) w c 1", {}, (8, 6, 3, 1), 984984),
    ],
)
def test_patterns(pattern: str, lengths: dict[str, int], shape: tuple[int, ...], weighed: int) -> None:
    found = torch.func.rearrange(X, pattern, **lengths)
    assert found.shape == shape
    assert int((found.flatten() * torch.arange(found.numel())).sum()) == weighed


def test_views_lists_and_numbers() -> None:
    assert torch.func.rearrange(X, "b h w c -> b c h w").data_ptr() == X.data_ptr()
    assert torch.func.rearrange([X, X], "l b h w c -> (l b) h w c").shape == (4, 4, 6, 3)
    assert torch.func.rearrange(torch.zeros(2, 1, 3), "a 1 b -> b a").shape == (3, 2)
    assert torch.func.rearrange(torch.tensor(3.0), " -> ").item() == 3


@pytest.mark.parametrize(
    ("pattern", "lengths", "error", "message"),
    [
        ("b h w c->b h w", {}, ValueError, "only on one side"),
        ("b h w c", {}, ValueError, "single '->'"),
        ("b h w -> b w h", {}, ValueError, r"dimensions in pattern \(3\) must be equal"),
        ("b (h1 h) w c -> b h h1 w c", {}, ValueError, "cannot infer"),
        ("b (h1 h) w c -> b h h1 w c", {"h1": 3}, ValueError, "cannot be divided"),
        ("b h w c -> b h w c", {"q": 2}, ValueError, "not found"),
        ("b h w c -> b h w c", {"b": 2.0}, TypeError, "must be integers"),
        ("b h w c -> b h w c", {"b": 3}, ValueError, "its size is 2"),
        ("b h w 3 -> b h w 3", {}, ValueError, "unnamed axes of size 1"),
        ("b h w. c -> b", {}, ValueError, "only inside ellipsis"),
        ("(b h w c -> b h w c", {}, ValueError, "Imbalanced parentheses"),
        ("b h) w c -> b h w c", {}, ValueError, "not balanced"),
        ("b ((h)) w c -> b h w c", {}, ValueError, "one-level"),
        ("b h w _c -> b h w _c", {}, ValueError, "Invalid axis identifier"),
        ("b b w c -> b w c", {}, ValueError, "duplicate"),
        ("b ? w c -> b w c", {}, ValueError, "Unknown character"),
        ("b h w c -> ... b h w c", {}, ValueError, "not left side"),
        ("(b ...) -> b ...", {}, ValueError, "left side is not allowed"),
    ],
)
def test_what_is_no_pattern(
    pattern: str, lengths: dict[str, int], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        torch.func.rearrange(X, pattern, **lengths)


def test_gradient_and_vmap() -> None:
    x = torch.randn(2, 6, dtype=torch.float64, requires_grad=True)
    torch.autograd.gradcheck(lambda t: torch.func.rearrange(t, "a (b c) -> (a c) b", b=2), x)
    mapped = torch.vmap(lambda t: torch.func.rearrange(t, "(a b) -> b a", a=2))(x)
    assert mapped.shape == (2, 3, 2)
