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
    ("func", "options", "words"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
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
    ("options", "words"),
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


def shifted(x):
    y = x.clone()
    y.register_hook(lambda g: g + 1e-2)
    return y


def test_parts_of_complex_results_are_named():
    z = torch.ones(2, 2, dtype=torch.complex128, requires_grad=True)
    with pytest.raises(GradcheckError, match="While considering the imaginary part of complex outputs only"):
        gradcheck(shifted, (z,))
    with pytest.raises(GradcheckError, match="^Jacobian mismatch for output 0 with respect to input 0"):
        gradcheck(lambda a: shifted(a.real), (z,))


@FAST
def test_undefined_gradients(fast):
    class Two(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(False)
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, a, b):
            if b is None and not a.any():  # which no column of a Jacobian asks for
                raise RuntimeError("there is none")
            return (0 if a is None else a * 2) + (0 if b is None else b * 3)

    def func(x):
        a, b = Two.apply(x)
        return a, b

    with pytest.warns(UserWarning, match="New undefined gradient support checking"):
        with pytest.raises(
            GradcheckError, match="Expected backward function to handle undefined output grads"
        ):
            gradcheck(func, (d(1),), fast_mode=fast)
    assert gradcheck(func, (d(1),), fast_mode=fast, check_undefined_grad=False)


def test_results_that_depend_on_values():
    one = torch.ones(1, dtype=torch.float64, requires_grad=True)
    with pytest.raises(AssertionError, match="same shape when inputs are perturbed"):
        gradcheck(lambda x: torch.cat([x, x]) if bool((x >= 1).all()) else x, (one,))
    with pytest.raises(AssertionError, match="same dtype when inputs are perturbed"):
        gradcheck(lambda x: x.float() if bool((x >= 1).all()) else x, (one,))
    with pytest.raises(GradcheckError, match="Numerical gradient for function expected to be zero"):
        gradcheck(lambda x: torch.tensor([float(x)], dtype=torch.float64), (one,))


@FAST
def test_sparse_inputs(fast):
    dense = torch.tensor([[1.0, 0], [0, 2]], dtype=torch.float64)
    for sparse in (dense.to_sparse(), dense.to_sparse_csr(), dense.to_sparse_csc()):
        assert gradcheck(
            lambda x, y: x * y.to_dense(), (d(2, 2), sparse.requires_grad_()), masked=True, fast_mode=fast
        )


def test_jacobians_by_themselves():
    a, b = d(2), d(2)
    with pytest.warns(FutureWarning, match="`get_numerical_jacobian` was part of PyTorch's private API"):
        found = torch.autograd.gradchecking.get_numerical_jacobian(
            lambda given: 2 * given[0] + given[1], (a, b)
        )
    assert torch.allclose(found[0], 2 * torch.eye(2, dtype=torch.float64))
    with pytest.warns(FutureWarning):
        found, agree, sizes, dtypes = torch.autograd.gradchecking.get_analytical_jacobian((a, b), 2 * a + b)
    assert torch.equal(found[0], 2 * torch.eye(2, dtype=torch.float64)) and agree and sizes and dtypes
