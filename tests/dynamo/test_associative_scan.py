"""associative_scan: running results, gradients, refusals."""

import pytest

import rushlight as torch
from rushlight._higher_order_ops import associative_scan


def linear(first, second):
    """Two steps of x -> a x + b as one."""
    return first[0] * second[0], first[1] * second[0] + second[1]


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 8, 13])
@pytest.mark.parametrize("reverse", [False, True])
def test_running_results(count, reverse):
    torch.manual_seed(count)
    a, b = torch.rand(2, count, 3), torch.randn(2, count, 3)
    _, found = associative_scan(linear, (a, b), 1, reverse, "generic")
    state, wanted = torch.zeros(2, 3), [None] * count
    for i in reversed(range(count)) if reverse else range(count):
        wanted[i] = state = state * a[:, i] + b[:, i]
    torch.testing.assert_close(found, torch.stack(wanted, 1))


def test_products_that_do_not_commute():
    torch.manual_seed(0)
    matrices = torch.randn(7, 2, 2, dtype=torch.float64)
    found = associative_scan(lambda p, q: {"m": p["m"] @ q["m"]}, {"m": matrices}, 0, combine_mode="generic")[
        "m"
    ]
    wanted = [matrices[0]]
    for m in matrices[1:]:
        wanted.append(wanted[-1] @ m)
    torch.testing.assert_close(found, torch.stack(wanted))


def test_gradients_also_when_compiled():
    torch.manual_seed(0)
    a, b = torch.rand(6, dtype=torch.float64, requires_grad=True), torch.randn(6, dtype=torch.float64)

    def last(a, b):
        return associative_scan(linear, (a, b), 0, combine_mode="generic")[1][-1]

    assert torch.autograd.gradcheck(last, (a, b))
    (wanted,) = torch.autograd.grad(last(a, b), a)
    compiled = torch.compile(last)
    for _ in range(3):
        assert torch.autograd.grad(compiled(a, b), a)[0].equal(wanted)


@pytest.mark.parametrize(
    ("asked", "error", "words"),
    [
        (dict(combine_fn=3), ValueError, "must be a callable"),
        (dict(combine_mode="pointwise"), ValueError, "need to be on CUDA or XPU"),
        (dict(combine_mode="other"), ValueError, "must either 'pointwise' or 'generic'"),
        (dict(dim=5), IndexError, "Dimension out of range"),
        (dict(reverse=1), RuntimeError, "Reverse must be a bool"),
        (dict(xs=torch.ones(0)), ValueError, "scan dimension > 0"),
        (dict(xs=torch.eye(2).to_sparse()), ValueError, "to_dense"),
    ],
)
def test_what_is_refused(asked, error, words):
    given = dict(combine_fn=torch.add, xs=torch.ones(3), dim=0, combine_mode="generic")
    with pytest.raises(error, match=words):
        associative_scan(**{**given, **asked})
