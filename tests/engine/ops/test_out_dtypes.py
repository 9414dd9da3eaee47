"""What PyTorch says of an out= of another dtype, and of functions that are given no sizes."""

import pytest

import rushlight as torch

X = torch.tensor([[1.0, 2.5, -3.0], [0.0, 4.0, 1.5]])
INDEX = torch.zeros(2, dtype=torch.int64)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: torch.nonzero(X, out=torch.empty(3)), "scalar type Long but got scalar typeFloat"),
        (lambda: torch.argmax(X, out=torch.empty(())), "to have dtype long int, but got float instead"),
        (
            lambda: torch.max(X, 1, out=(torch.empty(2).double(), INDEX)),
            "dtype float, but got double instead",
        ),
        (
            lambda: torch.mode(X, 1, out=(torch.empty(2), torch.empty(2))),
            "'Long' but got 'Float' for indices output",
        ),
        (
            lambda: torch.mode(X, 1, out=(torch.empty(2).double(), INDEX)),
            "'Float' but got 'Double' for values output",
        ),
        (
            lambda: torch.take(X, INDEX, out=torch.empty(2).double()),
            "self.dtype = Float and out.dtype = Double",
        ),
        (
            lambda: torch.amax(X, 1, out=torch.empty(2).long()),
            "Float for input's dtype and Long for out's dtype",
        ),
        (
            lambda: torch.any(X, 1, out=torch.empty(2).long()),
            "any only supports bool tensor for result, got: Long",
        ),
        (
            lambda: torch.dot(X[0], X[0], out=torch.empty(()).double()),
            "Double does not match input dtype Float",
        ),
    ],
)
def test_an_out_of_another_dtype_is_refused_in_pytorchs_words(call, words):
    with pytest.raises(RuntimeError, match=words):
        call()


@pytest.mark.parametrize(("name", "found"), [("sum", [1, 6, -2]), ("cumsum", None), ("prod", [0, 8, -3])])
def test_a_sum_takes_the_dtype_of_its_out(name, found):
    whole = X.trunc()
    out = getattr(torch, name)(whole, 0, out=torch.empty(0, dtype=torch.int64))
    expected = getattr(torch, name)(whole, 0, dtype=torch.int64)
    assert out.dtype is torch.int64 and torch.equal(out, expected)
    assert found is None or out.tolist() == found


@pytest.mark.parametrize("name", "flip permute repeat expand view reshape tile sum_to_size".split())
def test_sizes_and_dims_have_to_be_given(name):
    with pytest.raises(TypeError, match="missing 1 required positional arguments"):
        getattr(X, name)()
    with pytest.raises(TypeError, match="missing 1 required positional arguments"):
        torch.zeros()


@pytest.mark.parametrize("name", "solve eig symeig lstsq matrix_rank".split())
def test_removed_functions_say_so(name):
    with pytest.raises(RuntimeError, match="deprecated since version 1.9 and is now removed"):
        getattr(torch, name)(X)


@pytest.mark.parametrize(
    ("how", "initial", "grad"),
    [
        ("max", None, [1.0, 1, 0, 0, 1]),
        ("max", 0.0, [1.0, 1, 0, 0, 1]),
        ("min", -7.0, [0.0, 1, 0, 0, 0]),
        ("mean", 1.0, [1, 0.5, 0.5, 0.5, 0.5]),
        ("sum", None, [1.0] * 5),
    ],
)
def test_gradients_of_segments_with_nan(how, initial, grad):
    """Recorded: segments [1], [nan, 3], [], [4, 5]."""
    data = torch.tensor([1, float("nan"), 3, 4, 5], requires_grad=True)
    found = torch.segment_reduce(data, how, lengths=torch.tensor([1, 2, 0, 2]), initial=initial)
    assert torch.autograd.grad(found.sum(), data)[0].tolist() == grad


def test_gradients_of_products_of_segments_with_zeros():
    data = torch.tensor([0.0, 2, 3, 0, 0], dtype=torch.float64, requires_grad=True)
    found = torch.segment_reduce(data, "prod", lengths=torch.tensor([3, 2]), initial=1.0)
    assert torch.autograd.grad(found.sum(), data)[0].tolist() == [6, 0, 0, 0, 0]


def test_running_logarithms_of_infinite_complex_numbers():
    inf = float("inf")
    x = torch.tensor([complex(-inf, 4), 1.2 + 2.1j, complex(inf, 0), complex(inf, 1)])
    found = torch.logcumsumexp(x, 0)
    assert found[0].real == -inf and torch.allclose(found[1], x[1])
    assert found[2] == complex(inf, 0) and found[3].real == inf
    assert found[3].imag.item() == pytest.approx(0.7853982)
