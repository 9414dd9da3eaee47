"""gradcheck's own arguments: what each of them finds, and the words."""

import re
import warnings

import pytest

import rushlight as torch
from rushlight.autograd import Function, GradcheckError, gradcheck, gradgradcheck

FAST = pytest.mark.parametrize("fast", [False, True], ids=["slow", "fast"])


def d(*sizes):
    return torch.randn(*sizes, dtype=torch.float64, requires_grad=True)


def doubled(backward):
    return type(
        "Doubled",
        (Function,),
        {"forward": staticmethod(lambda ctx, x: x * 2), "backward": staticmethod(backward)},
    ).apply


def product(a, b):
    return (a @ b).sin()


@FAST
def test_all_checks_pass(fast):
    torch.manual_seed(0)
    assert gradcheck(
        product,
        (d(3, 4), d(4, 2)),
        fast_mode=fast,
        check_batched_grad=True,
        check_forward_ad=True,
        check_batched_forward_grad=True,
        check_grad_dtypes=True,
    )
    assert gradgradcheck(product, (d(3, 4), d(4, 2)), fast_mode=fast, check_batched_grad=True)
    z = torch.randn(3, dtype=torch.complex128, requires_grad=True)
    assert gradcheck(lambda a: a * a, (z,), fast_mode=fast, check_forward_ad=True)
    assert gradcheck(
        lambda x: (x.exp(), x.sum()),
        (torch.tensor(0.5, dtype=torch.float64, requires_grad=True),),
        fast_mode=fast,
        check_forward_ad=True,
    )


CASES = [
    ("wrong", doubled(lambda ctx, g: g * 3), {}, "Jacobian mismatch for output 0 with respect to input 0"),
    (
        "unequal",
        doubled(lambda ctx, g: g * 2 * (1 + 1e-7 * torch.rand_like(g))),
        {},
        "Backward is not reentrant",
    ),
    (
        "batched",
        doubled(lambda ctx, g: torch.tensor(g.detach().numpy() * 2)),
        {"check_batched_grad": True},
        "While computing batched gradients, got: ",
    ),
    ("constant", doubled(lambda ctx, g: g * 0 + 2), {}, "backward not multiplied by grad_output"),
]


@FAST
@pytest.mark.parametrize(
    "func, options, words", [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_what_is_found(func, options, words, fast):
    torch.manual_seed(0)
    how = {"fast_mode": fast, **options}
    with pytest.raises(GradcheckError, match=re.escape(words)):
        gradcheck(func, (d(1),), **how)
    assert gradcheck(func, (d(1),), raise_exception=False, **how) is False


@FAST
def test_tolerance_of_differences_between_runs(fast):
    torch.manual_seed(0)
    func = doubled(lambda ctx, g: g * 2 * (1 + 1e-7 * torch.rand_like(g)))
    assert gradcheck(func, (d(3),), nondet_tol=1e-5, fast_mode=fast)


@pytest.mark.parametrize(
    "options, words",
    [
        ({"check_backward_ad": False}, "at least one of check_forward_ad or check_backward_ad"),
        (
            {"check_backward_ad": False, "check_forward_ad": True, "check_batched_grad": True},
            "check_batched_grad=True requires check_backward_ad",
        ),
        ({"check_batched_forward_grad": True}, "check_batched_forward_grad=True requires check_forward_ad"),
    ],
)
def test_choices(options, words):
    with pytest.raises(AssertionError, match=words):
        gradcheck(torch.sin, (d(3),), **options)


def test_inputs():
    with pytest.raises(RuntimeError, match="The 1th input has a dimension with stride 0"):
        gradcheck(torch.add, (d(3), torch.randn(1, dtype=torch.float64).expand(3).requires_grad_()))
    with pytest.raises(ValueError, match="none of them have requires_grad=True"):
        gradcheck(torch.sin, (torch.randn(3),))
    with pytest.raises(ValueError, match="Sparse output is not supported at gradcheck yet"):
        gradcheck(lambda a: a.to_sparse(), (d(3),))
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        assert gradcheck(torch.mul, (d(3), torch.randn(3, requires_grad=True)), eps=1e-2, atol=1e-2)
    assert [str(w.message)[:28] for w in seen] == ["Input #1 requires gradient a"]
    assert seen[0].filename == __file__
