"""Linear algebra beyond what the laws try: complex gradients, infos, errors, LAPACK's packed forms."""

from __future__ import annotations

import numpy as np
import pytest

import rushlight as torch
from rushlight.autograd import gradcheck, gradgradcheck

linalg = torch.linalg


def drawn(*shape, seed=0, shift=2.0):
    """A complex tensor that asks for a gradient; square ones are dominated by their diagonals."""
    rng = np.random.default_rng(seed)
    a = rng.normal(size=shape) + 1j * rng.normal(size=shape)
    if shape[-1] == shape[-2]:
        a = a + shift * np.diag(1 + np.arange(shape[-1]))
    return torch.from_numpy(a).requires_grad_()


def hermitian(a):
    """a + a^H, by which rows that read one triangle have gradients for all changes."""
    return a + a.mH


COMPLEX = {
    "eigh": lambda a: [v.abs() for v in linalg.eigh(hermitian(a))],
    "eigvalsh": lambda a: linalg.eigvalsh(hermitian(a)),
    "eig": lambda a: linalg.eig(a)[1].abs(),
    "eigvals": lambda a: linalg.eigvals(a),
    "svd": lambda a: [t.abs() for t in linalg.svd(a, full_matrices=False)],
    "svd_product": lambda a: (lambda u, s, v: u @ v)(*linalg.svd(a, full_matrices=False)),
    "cholesky": lambda a: linalg.cholesky(a @ a.mH),
    "cholesky_solve": lambda a: torch.cholesky_solve(a[..., :2], a.tril()),
    "cholesky_inverse": lambda a: torch.cholesky_inverse(a.triu(), upper=True),
    "lu": lambda a: linalg.lu(a)[1:],
    "det": linalg.det,
    "slogdet": linalg.slogdet,
    "inv": linalg.inv,
    "pinv": lambda a: linalg.pinv(a[..., :2]),
    "qr": lambda a: linalg.qr(a),
    "qr_wide": lambda a: linalg.qr(a[..., :2, :]),
    "solve": lambda a: linalg.solve(a, a[..., :1]),
    "solve_triangular": lambda a: linalg.solve_triangular(a, a[..., :2], upper=True),
    "lstsq": lambda a: linalg.lstsq(a[..., :2], a[..., 2:])[0],
    "nuclear": lambda a: linalg.matrix_norm(a, "nuc"),
    "cond": lambda a: linalg.cond(a, 2),
}


@pytest.mark.parametrize("name", COMPLEX)
def test_complex_gradients(name):
    """Of real and imaginary parts, which finite differences can tell apart."""

    def parts(real, imaginary):
        found = COMPLEX[name](torch.complex(real, imaginary))
        found = [found] if isinstance(found, torch.Tensor) else found
        return tuple(torch.view_as_real(t) if t.is_complex() else t for t in found)

    a = drawn(3, 3).detach()
    operands = a.real.clone().requires_grad_(), a.imag.clone().requires_grad_()
    assert gradcheck(parts, operands)
    assert gradgradcheck(parts, operands)


def test_eigh_has_second_gradients():
    a = torch.from_numpy(np.random.default_rng(3).normal(size=(2, 3, 3))).requires_grad_()
    assert gradgradcheck(lambda a: linalg.eigh(hermitian(a))[1] ** 2, a)


@pytest.mark.parametrize("shape", [(100, 100), (150, 70), (70, 150), (2, 3, 65, 65)])
def test_lu_of_several_panels(shape):
    a = torch.from_numpy(np.random.default_rng(1).normal(size=shape))
    p, lower, upper = linalg.lu(a)
    assert torch.allclose(p @ lower @ upper, a)
    assert lower.abs().max() == 1


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
@pytest.mark.parametrize("conjugate", [False, True])
def test_ldl_solves(dtype, conjugate):
    rng = np.random.default_rng(5)
    a = torch.from_numpy(rng.normal(size=(4, 7, 7)) + 1j * rng.normal(size=(4, 7, 7)))
    a = (a if dtype.is_complex else a.real).to(dtype)
    a = a + (a.mH if conjugate else a.mT)
    a[..., 0, 0] = a[..., 1, 1] = 0  # asks for blocks of two
    packed = linalg.ldl_factor(a, hermitian=conjugate)
    assert (packed.pivots < 0).any()
    b = torch.ones(7, 2, dtype=dtype)
    assert torch.allclose(a @ linalg.ldl_solve(*packed, b, hermitian=conjugate), b)


def test_det_is_exact_for_integers_and_smooth_where_singular():
    assert linalg.det(torch.eye(3) * 2).item() == 8.0
    a = torch.tensor([[1.0, 2.0], [2.0, 4.0]], requires_grad=True)
    (grad,) = torch.autograd.grad(linalg.det(a), a)
    assert torch.allclose(grad, torch.tensor([[4.0, -2.0], [-2.0, 1.0]]), atol=1e-5)


def test_infos_and_errors():
    both = torch.stack([torch.eye(3), torch.diag(torch.tensor([1.0, 0.0, -1.0]))])
    assert linalg.inv_ex(both).info.tolist() == [0, 2]
    assert linalg.cholesky_ex(both).info.tolist() == [0, 2]
    assert linalg.lu_factor_ex(both).info.tolist() == [0, 2]
    found = linalg.solve_ex(both, torch.ones(3, 1))
    assert found.info.tolist() == [0, 2] and found.result[0].eq(1).all()
    for call, words in (
        (linalg.inv, r"linalg.inv: \(Batch element 1\): The diagonal element 2 is zero"),
        (linalg.cholesky, r"\(Batch element 1\).*leading minor of order 2 is not positive"),
        (lambda a: linalg.solve(a, a), r"\(Batch element 1\): The solver failed because"),
    ):
        with pytest.raises(linalg.LinAlgError, match=words):
            call(both)
    with pytest.raises(linalg.LinAlgError, match="non-finite"):
        linalg.svdvals(torch.full((2, 2), float("nan")))
    with pytest.raises(linalg.LinAlgError, match="not positive-definite"):
        linalg.cholesky(torch.full((2, 2), float("nan")))


def test_triangular_solve_divides_by_zero_quietly():
    a = torch.tensor([[1.0, 1.0], [0.0, 0.0]])
    assert linalg.solve_triangular(a, torch.ones(2, 1), upper=True)[1].isinf().all()


def test_triangular_solve_converts_the_right_side():
    a, b = torch.tensor([[2.0, 1.0], [0.0, 4.0]], dtype=torch.float64, requires_grad=True), torch.ones(2, 1)
    b.requires_grad_()
    x = linalg.solve_triangular(a, b, upper=True)
    assert x.dtype is torch.float64 and x.tolist() == [[0.375], [0.25]]
    x.sum().backward()
    assert a.grad.dtype is torch.float64 and b.grad.dtype is torch.float32
    assert linalg.solve_triangular(a.float(), b.double(), upper=True).dtype is torch.float32


def test_phase_of_complex_vectors_has_no_gradient():
    a = drawn(3, 3)
    with pytest.raises(RuntimeError, match="ill-defined"):
        linalg.eigh(hermitian(a))[1].real.sum().backward()


def test_lstsq_says_what_its_driver_knows():
    a, b = torch.eye(4, 2), torch.arange(8.0).reshape(4, 2)
    found = linalg.lstsq(a, b, driver="gelsd")
    assert found.residuals.tolist() == [16.0 + 36.0, 25.0 + 49.0]
    assert found.rank.item() == 2 and found.singular_values.tolist() == [1.0, 1.0]
    assert [t.numel() for t in linalg.lstsq(a, b)] == [4, 0, 1, 0]


def test_low_rank():
    torch.manual_seed(0)
    a = torch.randn(20, 3) @ torch.randn(3, 8)
    u, s, v = torch.svd_lowrank(a, q=3)
    assert torch.allclose(u @ s.diag() @ v.mT, a, atol=1e-4)
    u, s, v = torch.pca_lowrank(a, q=3)
    assert torch.allclose(u @ s.diag() @ v.mT, a - a.mean(0), atol=1e-4)


def test_numpy_keywords_replace_defaults():
    a = torch.ones(2, 3)
    assert linalg.norm(a, ord=1, axis=1, keepdims=True).shape == (2, 1)
    assert a.sum(axis=1).tolist() == [3.0, 3.0]
    with pytest.raises(TypeError, match="axis"):
        a.sum(dim=0, axis=1)


@pytest.mark.parametrize(
    ("equation", "match"),
    [
        (". ..", "found '.' for operand 0 that is not part of any ellipsis"),
        ("... ...", "found '.' for operand 0 for which an ellipsis was already found"),
        ("a->... .", r"found '.' for output but an ellipsis \(...\) was already found"),
        ("a->..", r"found '.' for output that is not part of any ellipsis \(...\)"),
        ("a- >a", "invalid subscript given at index 1"),
        ("a->1", "invalid subscript given at index 3"),
        ("ai...", r"\(2\) is more than the number of dimensions \(1\) for operand 0"),
    ],
)
def test_einsum_says_what_is_wrong(equation, match):
    with pytest.raises(RuntimeError, match=rf"einsum\(\): .*{match}"):
        torch.einsum(equation, torch.ones(2))


def test_addr_promotes():
    vector = torch.ones(2)
    assert torch.addr(torch.ones(2, 2, dtype=torch.float64), vector, vector).dtype is torch.float64
    assert torch.addr(torch.tensor(1.0, dtype=torch.float64), vector, vector).dtype is torch.float32
    assert torch.addr(torch.ones(2, 2), vector.int(), vector.int()).dtype is torch.float32


def test_addmm_activation_is_gelu_itself():
    a, b = torch.randn(3, 4), torch.randn(4, 5)
    found = torch._addmm_activation(torch.zeros(5), a, b, use_gelu=True)
    torch.testing.assert_close(found, torch.nn.functional.gelu(a @ b))


def test_matrix_exp_of_other_than_matrices():
    for shape, match in (((3,), "at least 2 dimensions"), ((3, 2), "they are 3 by 2 matrices")):
        with pytest.raises(RuntimeError, match=match):
            torch.linalg.matrix_exp(torch.ones(shape))


def test_lstsq_by_gels_takes_the_rank_as_full():
    a, b = torch.tensor([[1.0, 0.0], [0.0, 0.5]]), torch.ones(2, 1)
    assert torch.linalg.lstsq(a, b, rcond=0.9, driver="gels").solution.flatten().tolist() == [1, 2]
    assert torch.linalg.lstsq(a, b, rcond=0.9, driver="gelsd").solution.flatten().tolist() == [1, 0]


def test_baddbmm_of_several_dtypes():
    batch = torch.ones(1, 2, 2)
    with pytest.raises(RuntimeError, match="Input dtypes must be the same"):
        torch.baddbmm(batch.double(), batch, batch)


@pytest.mark.parametrize("equation", ["ij,kl->ikjl", "ij,kj->ijk", "ij,ij->ij"])
def test_einsum_promotes_where_nothing_is_summed(equation: str) -> None:
    a, b = torch.tensor([[1, 2], [3, 4]]), torch.tensor([[0.5, 1.5], [2.5, 3.5]])
    assert torch.equal(torch.einsum(equation, a, b), torch.einsum(equation, a.float(), b))
    c = b + 1j
    assert torch.equal(torch.einsum(equation, b, c), torch.einsum(equation, b.to(c.dtype), c))


@pytest.mark.parametrize("equation", ["ij,jk->ik", "ij,ij->i", "ij,ij,ij->i"])
def test_einsum_sums_products_of_one_dtype(equation: str) -> None:
    operands = [torch.ones(2, 2), torch.ones(2, 2).double(), torch.ones(2, 2)]
    with pytest.raises(
        RuntimeError, match="expected scalar type (Float but found Double|Double but found Float)"
    ):
        torch.einsum(equation, *operands[: equation.count(",") + 1])


@pytest.mark.parametrize("shape", [(5, 5), (7, 4), (3, 6, 4), (4, 7)])
def test_least_squares_without_singular_values_are_those_with_them(shape):
    torch.manual_seed(0)
    a, b = torch.randn(*shape, dtype=torch.float64), torch.randn(*shape[:-1], 2, dtype=torch.float64)
    for matrix in (a, torch.cat([a[..., 1:], a[..., 1:2]], -1)):  # of full rank, and not
        found, wanted = (torch.linalg.lstsq(matrix, b, driver=driver) for driver in ("gelsy", "gelsd"))
        torch.testing.assert_close(found.solution, wanted.solution)
        assert torch.equal(found.rank, wanted.rank)
        assert found.solution.stride() == wanted.solution.stride()


@pytest.mark.parametrize(
    ("x", "weight", "bias", "words"),
    [
        ("float32", "float64", None, "expected m1 and m2 to have the same dtype, but got: float != double"),
        ("float32", "float64", "float64", "mat1 and mat2 must have the same dtype, but got Float and Double"),
        ("float32", "float64", "float16", "self and mat2 must have the same dtype, but got Half and Double"),
        ("float32", "float32", "float64", "self and mat2 must have the same dtype, but got Double and Float"),
    ],
)
def test_linear_says_which_dtypes_differ(x: str, weight: str, bias: str | None, words: str) -> None:
    given = torch.ones(2, 3, dtype=getattr(torch, x)), torch.ones(4, 3, dtype=getattr(torch, weight))
    added = None if bias is None else torch.ones(4, dtype=getattr(torch, bias))
    with pytest.raises(RuntimeError) as told:
        torch.nn.functional.linear(*given, added)
    assert str(told.value) == words


@pytest.mark.parametrize("norm", [linalg.vector_norm, linalg.norm, linalg.matrix_norm])
@pytest.mark.parametrize(
    ("of", "to", "words"),
    [
        ("float64", "float32", r"input \(Double\) should be convertible without narrowing .* \(Float\)"),
        ("float16", "bfloat16", r"input \(Half\) should be convertible without narrowing .* \(BFloat16\)"),
        ("complex64", "float32", "dtype should be complex for complex inputs, but got Float"),
        ("float32", "int64", "dtype should be floating point or complex, but got Long"),
    ],
)
def test_norms_are_not_computed_in_narrower_dtypes(norm, of, to, words):
    with pytest.raises(RuntimeError, match=words):
        norm(torch.ones(2, 2, dtype=getattr(torch, of)), dtype=getattr(torch, to))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda x: torch.cdist(x, x.double(), 1.0), "expected scalar type Float but found Double"),
        (lambda x: torch.cdist(x.long(), x), "cdist only supports floating-point dtypes, X1 got: Long"),
        (lambda x: torch.cdist(x, x.half()), "expected scalar type Float but found Half"),
        (lambda x: torch.pdist(x.long()), "pdist only supports floating-point dtypes$"),
        (lambda x: torch.nn.functional.bilinear(x, x[:1], x[None]), "do not match at dim 0: got 2 and 1"),
        (lambda x: torch.nn.functional.bilinear(x, x, x[None], x.double()[0]), "weight: float, bias: double"),
        (lambda x: torch.adjoint(x[0]), r"tensor\.adjoint\(\) is only supported on matrices"),
        (lambda x: linalg.vander(x, N=1), r"N must be greater than 1\.$"),
    ],
)
def test_words_of_refusals(call, words):
    with pytest.raises(RuntimeError, match=words):
        call(torch.ones(2, 2))
