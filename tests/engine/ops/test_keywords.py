"""NumPy's spelling of required arguments, and what is said where one is missing."""

import pytest

import rushlight as torch

X = torch.tensor([[1.0, 2.0], [3.0, 4.0]])


@pytest.mark.parametrize(
    "call", [lambda: torch.cumsum(X, axis=1), lambda: torch.cumsum(x=X, dim=1), lambda: X.cumsum(axis=1)]
)
def test_numpys_keywords(call):
    assert torch.equal(call(), X.cumsum(1))


def test_of_a_softmax():
    assert torch.equal(X.softmax(axis=0), X.softmax(0)) and torch.equal(torch.add(x1=X, x2=X), X + X)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: torch.cumsum(X), 'cumsum() missing 1 required positional arguments: "dim"'),
        (lambda: torch.add(X), 'add() missing 1 required positional arguments: "other"'),
        (lambda: X.transpose(0), 'transpose() missing 1 required positional arguments: "dim1"'),
        (lambda: torch.nn.functional.gelu(), 'missing 1 required positional arguments: "input"'),
        (lambda: torch.nn.functional.max_pool2d(X), 'missing 1 required positional arguments: "kernel_size"'),
        (lambda: torch.cumsum(X, 0, axis=0), "unexpected keyword argument 'axis'"),
    ],
)
def test_what_is_missing_is_named(call, text):
    with pytest.raises(TypeError) as caught:
        call()
    assert text in str(caught.value)
