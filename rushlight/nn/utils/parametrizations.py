"""Ready-made parametrizations: weight_norm, spectral_norm, orthogonal."""

from __future__ import annotations

from typing import Any

import rushlight as torch
from rushlight.nn import functional as F
from rushlight.nn.modules.module import Module
from rushlight.nn.utils import parametrize
from rushlight.nn.utils.spectral_norm import as_matrix, check_iterations, dim_of_outputs, start_vectors
from rushlight.nn.utils.weight_norm import norm_except_dim, scaled


class _WeightNorm(Module):
    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Any, weight_v: Any) -> Any:
        return scaled(weight_v, weight_g, self.dim)

    def right_inverse(self, weight: Any) -> tuple[Any, Any]:
        return norm_except_dim(weight, self.dim), weight


def weight_norm(module: Any, name: str = "weight", dim: int | None = 0) -> Any:
    """g * v / ||v|| for a parameter: original0 is g (one for each index of `dim`), original1 v."""
    parametrize.register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def rename(state_dict: Any, prefix: str, *ignored: Any) -> None:
        # State dicts of the hook's form: weight_g and weight_v.
        g_key, v_key = f"{prefix}{name}_g", f"{prefix}{name}_v"
        if g_key in state_dict and v_key in state_dict:
            chain = f"{prefix}parametrizations.{name}."
            state_dict[chain + "original0"] = state_dict.pop(g_key)
            state_dict[chain + "original1"] = state_dict.pop(v_key)

    module._register_load_state_dict_pre_hook(rename)
    return module


class _SpectralNorm(Module):
    def __init__(self, weight: Any, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        super().__init__()
        ndim = weight.ndim
        if dim >= ndim or dim < -ndim:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [-{ndim}, {ndim - 1}] but got {dim})"
            )
        check_iterations(n_power_iterations)
        self.dim = dim if dim >= 0 else dim + ndim
        self.eps = eps
        if ndim > 1:
            self.n_power_iterations = n_power_iterations
            matrix = as_matrix(weight, self.dim)
            for name, start in zip(("_u", "_v"), start_vectors(matrix, eps), strict=True):
                self.register_buffer(name, start)
            # Starting near the singular vectors keeps the first steps from being off.
            self._power_method(matrix, 15)

    def _power_method(self, matrix: Any, steps: int) -> None:
        with torch.no_grad():
            for _ in range(steps):
                self._u.copy_(F.normalize(torch.mv(matrix, self._v), dim=0, eps=self.eps))
                self._v.copy_(F.normalize(torch.mv(matrix.H, self._u), dim=0, eps=self.eps))

    def forward(self, weight: Any) -> Any:
        if weight.ndim == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        matrix = as_matrix(weight, self.dim)
        if self.training:
            self._power_method(matrix, self.n_power_iterations)
        # Copies: backward needs the values of this call, a later one moves the buffers.
        u, v = self._u.clone(), self._v.clone()
        return weight / torch.vdot(u, torch.mv(matrix, v))

    def right_inverse(self, value: Any) -> Any:
        return value


def spectral_norm(
    module: Any, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Any:
    """A parameter over its largest singular value, found by power iteration.

    `dim`: the dim of outputs; by default 0, and 1 for transposed convolutions.
    """
    weight = _tensor(module, name)
    dim = dim_of_outputs(module) if dim is None else dim
    with torch.no_grad():
        norm = _SpectralNorm(weight, n_power_iterations, dim, eps)
    parametrize.register_parametrization(module, name, norm)
    return module


def _tensor(module: Any, name: str) -> Any:
    found = getattr(module, name, None)
    if not isinstance(found, torch.Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    return found


class _Orthogonal(Module):
    """A map from all matrices onto orthogonal ones; `base` moves its origin to the first value."""

    def __init__(self, weight: Any, orthogonal_map: str, *, use_trivialization: bool = True) -> None:
        super().__init__()
        if weight.is_complex() and orthogonal_map == "householder":
            raise ValueError("The householder parametrization does not support complex tensors.")
        self.shape = weight.shape
        self.orthogonal_map = orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, X: Any) -> Any:
        n, k = X.size(-2), X.size(-1)
        if transposed := n < k:
            X, n, k = X.mT, k, n
        Q = self._by_exponent(X, n, k) if self.orthogonal_map != "householder" else _reflected(X)
        if hasattr(self, "base"):
            Q = self.base @ Q
        return Q.mT if transposed else Q

    def _by_exponent(self, X: Any, n: int, k: int) -> Any:
        A = X.tril()
        if n != k:
            A = torch.cat([A, A.new_zeros(n, n - k).expand(*A.shape[:-2], -1, -1)], dim=-1)
        A = A - A.mH
        if self.orthogonal_map == "matrix_exp":
            Q = torch.matrix_exp(A)
        else:
            Id = torch.eye(n, dtype=A.dtype, device=A.device)
            Q = torch.linalg.solve(torch.add(Id, A, alpha=-0.5), torch.add(Id, A, alpha=0.5))
        return Q[..., :k] if n != k else Q

    @torch.no_grad()
    def right_inverse(self, Q: Any) -> Any:
        if Q.shape != self.shape:
            raise ValueError(
                f"Expected a matrix or batch of matrices of shape {self.shape}. Got a "
                f"tensor of shape {Q.shape}."
            )
        n, k = Q.size(-2), Q.size(-1)
        transposed = n < k
        if transposed:
            Q, n, k = Q.mT, k, n
        if not hasattr(self, "base"):
            return self._inverse_without_base(Q, n, k, transposed)
        if n == k:
            # An orthogonal start is kept; another one is replaced by its Q factor.
            Q = Q.clone() if _is_orthogonal(Q) else _make_orthogonal(Q)
        else:
            noise = torch.randn(*Q.size()[:-2], n, n - k, dtype=Q.dtype, device=Q.device)
            Q = _make_orthogonal(torch.cat([Q, noise], dim=-1))
        self.base = Q
        # Every map takes this to the identity; reflections need the -1.
        start = torch.zeros_like(Q[..., :k])
        start.diagonal(dim1=-2, dim2=-1).fill_(-1)
        return start.mT if transposed else start

    def _inverse_without_base(self, Q: Any, n: int, k: int, transposed: bool) -> Any:
        if self.orthogonal_map in ("matrix_exp", "cayley"):
            raise NotImplementedError(
                "It is not possible to assign to the matrix exponential or the "
                "Cayley parametrizations when use_trivialization=False."
            )
        A, tau = torch.geqrf(Q)
        # The signs that geqrf leaves go to the diagonal, which the reflections do not read.
        A.diagonal(dim1=-2, dim2=-1).sign_()
        A.diagonal(dim1=-2, dim2=-1)[tau == 0.0] *= -1
        return A.mT if transposed else A


def _reflected(X: Any) -> Any:
    """A product of reflections along the columns of a lower triangle."""
    A = X.tril(diagonal=-1)
    tau = 2.0 / (1.0 + (A * A).sum(dim=-2))
    Q = torch.linalg.householder_product(A, tau)
    return Q * X.diagonal(dim1=-2, dim2=-1).int().unsqueeze(-2)


def _is_orthogonal(Q: Any) -> bool:
    k = Q.size(-1)
    Id = torch.eye(k, dtype=Q.dtype, device=Q.device)
    eps = 10.0 * Q.size(-2) * torch.finfo(Q.dtype).eps
    return bool(torch.allclose(Q.mH @ Q, Id, atol=eps))


def _make_orthogonal(A: Any) -> Any:
    """The Q factor with the signs that make R's diagonal positive."""
    Q, R = torch.linalg.qr(A)
    return Q * R.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)


def orthogonal(
    module: Any, name: str = "weight", orthogonal_map: str | None = None, *, use_trivialization: bool = True
) -> Any:
    """An orthogonal (or unitary) matrix in place of a parameter of at least 2 dims.

    `orthogonal_map`: "matrix_exp", "cayley" or "householder".
    """
    weight = _tensor(module, name)
    if weight.ndim < 2:
        raise ValueError(f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions.")
    if orthogonal_map is None:
        square = weight.size(-2) == weight.size(-1) or weight.is_complex()
        orthogonal_map = "matrix_exp" if square else "householder"
    if orthogonal_map not in ("matrix_exp", "cayley", "householder"):
        raise ValueError(
            f'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: {orthogonal_map}'
        )
    orth = _Orthogonal(weight, orthogonal_map, use_trivialization=use_trivialization)
    parametrize.register_parametrization(module, name, orth, unsafe=True)
    return module


__all__ = ["orthogonal", "spectral_norm", "weight_norm"]
