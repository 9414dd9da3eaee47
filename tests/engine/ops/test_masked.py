"""torch.masked: what a mask leaves out counts as nothing."""

import math

import pytest

import rushlight as torch
from rushlight import masked

X = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
MASK = torch.tensor([[True, False, True], [False, False, False]])
INF = math.inf


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("sum", [4.0, 0.0]),
        ("prod", [3.0, 1.0]),
        ("amax", [3.0, -INF]),
        ("amin", [1.0, INF]),
        ("argmax", [2.0, 0.0]),
        ("argmin", [0.0, 0.0]),
        ("norm", [math.sqrt(10), 0.0]),
        ("logsumexp", [math.log(math.e + math.e**3), -INF]),
    ],
)
def test_reductions(name, expected):
    found = getattr(masked, name)(X, dim=1, mask=MASK)
    assert found.tolist() == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("name", ["mean", "median", "var", "std"])
def test_nothing_has_no_mean(name):
    first, second = getattr(masked, name)(X, dim=1, mask=MASK).tolist()
    assert math.isnan(second)
    assert first == pytest.approx({"mean": 2, "median": 1, "var": 2, "std": math.sqrt(2)}[name])


def test_without_a_mask_every_element_counts():
    assert masked.mean(X).item() == 3.5 and masked.sum(X, (0, 1)).item() == 21
    assert torch.allclose(masked.var(X, 0, unbiased=False), X.var(0, correction=0))


def test_rows():
    assert masked.softmax(X, 1, mask=MASK)[0].tolist() == pytest.approx([0.1192, 0, 0.8808], abs=1e-4)
    assert masked.cumsum(X, 1, mask=MASK)[0].tolist() == [1, 1, 4]
    assert masked.normalize(X, 2.0, 1, mask=MASK)[1].tolist() == [0, 0, 0]
    assert torch.allclose(masked.logaddexp(X, X, input_mask=MASK, other_mask=~MASK), X)


def test_gradients_reach_what_was_chosen():
    x = X.clone().requires_grad_()
    masked.mean(x, mask=MASK).backward()
    assert x.grad.tolist() == [[0.5, 0, 0.5], [0, 0, 0]]


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (
            lambda: masked.sum(X, mask=torch.ones(1, 2, 3, dtype=torch.bool)),
            IndexError,
            "higher than of the input",
        ),
        (lambda: masked.amax(X > 2, mask=MASK), NotImplementedError, "identity of amax on torch.bool"),
        (lambda: masked.mean(X.long()), ValueError, "Could not infer output dtype"),
        (lambda: masked.median(X.long(), 1, mask=MASK), ValueError, "no fully masked out rows"),
    ],
)
def test_errors(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_rows_that_are_masked_out_whole_have_gradients():
    """Of a mask of numbers, too: attention to nothing is 0, and so is its gradient."""
    q, k, v = (torch.rand(1, 2, 3, requires_grad=True) for _ in range(3))
    mask = torch.tensor([[0.0, 0.0], [-torch.inf, -torch.inf]])
    found = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    found.sum().backward()
    assert found[0, 1].tolist() == [0.0] * 3 and q.grad[0, 1].tolist() == [0.0] * 3
    assert all(t.grad.isfinite().all() for t in (q, k, v))
