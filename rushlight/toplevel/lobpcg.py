"""torch.lobpcg: a few of the largest or smallest eigenpairs of a symmetric problem A x = e B x."""

from __future__ import annotations

from typing import Any

import rushlight as torch
from rushlight._engine.tensors.tensor import Tensor

_NO_COMPLEX = (
    "lobpcg.backward does not support complex input yet.Note that lobpcg.forward does not support complex "
    "input as well."
)


def lobpcg(
    A: Tensor,
    k: int | None = None,
    B: Tensor | None = None,
    X: Tensor | None = None,
    n: int | None = None,
    iK: Tensor | None = None,
    niter: int | None = None,
    tol: float | None = None,
    largest: bool | None = None,
    method: str | None = None,
    tracker: Any = None,
    ortho_iparams: dict[str, int] | None = None,
    ortho_fparams: dict[str, float] | None = None,
    ortho_bparams: dict[str, bool] | None = None,
) -> tuple[Tensor, Tensor]:
    """(eigenvalues (..., k), eigenvectors (..., m, k)) of a symmetric A (..., m, m), B positive definite.

    The largest ones (largest=False: the smallest ones), by the locally optimal block preconditioned
    conjugate gradient method (Knyazev, doi:10.1137/S1064827500366124): of A and B only products are asked, so
    both may be sparse. X (..., m, n): where to begin (random numbers); iK: a preconditioner, near A's
    inverse. niter: steps at most (1000); tol: the relative residual that ends them (the square root of the
    dtype's epsilon). tracker: called with what the iteration is doing, an object with istep, X, E, R, ivars,
    fvars, tvars, bvars. Gradients of A reach it where it is dense and B is not given. ValueError for m < 3 n.
    """
    if method not in (None, "basic", "ortho"):
        raise ValueError(f"lobpcg: expected method 'basic' or 'ortho', got {method!r}")
    if (A.requires_grad or (B is not None and B.requires_grad)) and torch.is_grad_enabled():
        A_sym = (A + A.mT) / 2
        B_sym = None if B is None else (B + B.mT) / 2
        options = (k, X, n, iK, niter, tol, largest, tracker)
        return _Differentiated.apply(A_sym, B_sym, *options)  # type: ignore[no-any-return]
    return _solve(A, B, k, X, n, iK, niter, tol, largest, tracker)


# Steps beyond the tolerance, where gradients are asked for: vectors are to be a smooth function of A.
_POLISHING = 20


class _Differentiated(torch.autograd.Function):
    """The same with gradients: by all eigenvectors of A, which backward finds."""

    @staticmethod
    def forward(ctx: Any, A: Tensor, B: Tensor | None, *options: Any) -> tuple[Tensor, Tensor]:
        """Find the pairs."""
        E, V = _solve(A, B, *(*options, _POLISHING))
        ctx.save_for_backward(A, B, E, V)
        return E, V

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        """The gradient of A: of each vector what lies along the other ones, over distances of values."""
        A, B, E, V = ctx.saved_tensors
        if A.is_sparse or (B is not None and B.is_sparse and ctx.needs_input_grad[1]):
            raise ValueError(
                "lobpcg.backward does not support sparse input yet.Note that lobpcg.forward does though."
            )
        if A.is_complex() or (B is not None and B.is_complex()):
            raise ValueError(_NO_COMPLEX)
        if B is not None:
            raise ValueError("lobpcg.backward does not support backward with B != I yet.")
        found, basis = torch.linalg.eigh(A)
        of_values, of_vectors = grads
        inner = torch.zeros_like(V) if of_vectors is None else of_vectors
        gaps = E.unsqueeze(-2) - found.unsqueeze(-1)  # (..., m, k)
        own = gaps.abs() == gaps.abs().amin(-2, keepdim=True)
        across = torch.where(own, 0, (basis.mT @ inner) / torch.where(own, 1, gaps))
        total = (basis @ across) @ V.mT
        if of_values is not None:
            total = total + (V * of_values.unsqueeze(-2)) @ V.mT
        return ((total + total.mT) / 2, *[None] * (len(ctx.needs_input_grad) - 1))


def _solve(
    A: Tensor,
    B: Tensor | None,
    k: int | None,
    X: Tensor | None,
    n: int | None,
    iK: Tensor | None,
    niter: int | None,
    tol: float | None,
    largest: bool | None,
    tracker: Any,
    polishing: int = 0,
) -> tuple[Tensor, Tensor]:
    if A.shape[-2] != A.shape[-1]:
        raise ValueError(f"lobpcg: expected square matrices, got {list(A.shape)}")
    dtype = A.dtype if A.is_floating_point() else torch.get_default_dtype()
    m = A.shape[-1]
    k = (1 if X is None else X.shape[-1]) if k is None else k
    n = (k if X is None else X.shape[-1]) if n is None else n
    if m < 3 * n:
        raise ValueError(
            f"LOBPCG algorithm is not applicable when the number of A rows (={m}) is smaller than 3 x the "
            f"number of requested eigenpairs (={n})"
        )
    if X is None:
        X = torch.randn((*A.shape[:-1], n), dtype=dtype, device=A.device)
    if X.shape != (*A.shape[:-1], n):
        raise ValueError(f"lobpcg: expected X of shape {[*A.shape[:-1], n]}, got {list(X.shape)}")
    options: Any = (k, largest is not False, 1000 if niter is None else niter, tol, tracker, polishing)
    with torch.no_grad():
        if A.ndim == 2:
            return _Iteration(A, B, X.to(dtype), iK, *options).run()
        starts = X.to(dtype).reshape(-1, m, n)
        each = [_Iteration(_at(A, i), _at(B, i), x, _at(iK, i), *options).run() for i, x in enumerate(starts)]
        values, vectors = (torch.stack(list(found)) for found in zip(*each, strict=True))
        return values.reshape(*A.shape[:-2], k), vectors.reshape(*A.shape[:-1], k)


def _at(batch: Any, i: int) -> Any:
    """The i-th matrix of a batch; what is one matrix is every one's."""
    return batch if batch is None or batch.ndim == 2 else batch.reshape(-1, *batch.shape[-2:])[i]


class _Iteration:
    """One problem's iteration; a tracker reads its fields."""

    def __init__(
        self,
        A: Any,
        B: Tensor | None,
        X: Tensor,
        iK: Tensor | None,
        k: int,
        largest: bool,
        niter: int,
        tol: float | None,
        tracker: Any,
        polishing: int,
    ) -> None:
        self.A, self.B, self.X, self.iK, self.tracker = A, B, X, iK, tracker
        self.polishing = polishing
        eps = torch.finfo(X.dtype).eps
        self.istep = 0
        self.iparams = {"m": A.shape[-1], "n": X.shape[-1], "k": k, "niter": niter}
        self.fparams = {"tol": eps**0.5 if tol is None else tol, "eps": eps}
        self.bparams = {"largest": largest}
        self.E = torch.zeros(X.shape[-1], dtype=X.dtype, device=X.device)
        self.R = torch.zeros_like(X)
        self.S = X
        self.ivars = {"istep": 0, "converged_count": 0, "iterations_left": niter, "converged_end": 0}
        self.fvars: dict[str, Any] = {"X_norm": 0.0, "A_norm": 0.0, "B_norm": 1.0}
        self.tvars: dict[str, Any] = {"rerr": torch.full_like(self.E, float("inf"))}
        self.bvars = {"force_stop": False}
        self._scale()

    def _scale(self) -> None:
        """The sizes of A and B, which residuals are measured by: from products with random vectors."""
        probe = torch.randn(self.X.shape, dtype=self.X.dtype, device=self.X.device)
        size = probe.norm()
        self.fvars["A_norm"] = float((self.A @ probe).norm() / size)
        self.fvars["B_norm"] = 1.0 if self.B is None else float((self.B @ probe).norm() / size)

    def run(self) -> tuple[Tensor, Tensor]:
        """Step until k pairs have converged, or no steps are left."""
        k, past, more = self.iparams["k"], None, self.polishing
        self.X = self._orthonormal(self.X)
        self._project(self.X, None)
        self._tell()
        while self.ivars["iterations_left"] > 0 and not self.bvars["force_stop"]:
            if self.ivars["converged_count"] >= k:
                more -= 1
                if more < 0 or bool((self.tvars["rerr"][:k] < 4 * self.fparams["eps"]).all()):
                    break
            self.istep += 1
            self.ivars["istep"], self.ivars["iterations_left"] = (
                self.istep,
                self.iparams["niter"] - self.istep,
            )
            ahead = self.R if self.iK is None else self.iK @ self.R
            past = self._project(self._orthonormal(self._basis(ahead, past)), self.X)
            self._tell()
        return self.E[:k], self.X[:, :k]

    def _basis(self, ahead: Tensor, past: Tensor | None) -> Tensor:
        return torch.cat([self.X, ahead] if past is None else [self.X, ahead, past], -1)

    def _orthonormal(self, S: Tensor) -> Tensor:
        """A basis of what S spans, orthonormal in B: twice, and without directions that rounding made."""
        for _ in range(2):
            S = S / S.norm(dim=0).clamp_min(torch.finfo(S.dtype).tiny)
            gram = S.mT @ (S if self.B is None else self.B @ S)
            sizes, axes = torch.linalg.eigh((gram + gram.mT) / 2)
            kept = sizes > sizes[-1] * self.fparams["eps"] * len(sizes)
            S = (S @ axes[:, kept]) / sizes[kept].sqrt()
        return S

    def _project(self, S: Tensor, before: Tensor | None) -> Tensor | None:
        """The best pairs within S (Rayleigh and Ritz); how they moved away from those before."""
        inner = S.mT @ (self.A @ S)
        values, axes = torch.linalg.eigh((inner + inner.mT) / 2)
        if self.bparams["largest"]:
            values, axes = values.flip(0), axes.flip(1)
        n = self.iparams["n"]
        self.S, self.E, self.X = S, values[:n], S @ axes[:, :n]
        moved = self.X if self.B is None else self.B @ self.X
        self.R = self.A @ self.X - moved * self.E
        self.fvars["X_norm"] = float(self.X.norm())
        scale = self.X.norm(dim=0) * (self.fvars["A_norm"] + self.E.abs() * self.fvars["B_norm"])
        self.tvars["rerr"] = self.R.norm(dim=0) / scale.clamp_min(torch.finfo(S.dtype).tiny)
        good = (self.tvars["rerr"] < self.fparams["tol"]).tolist()
        self.ivars["converged_count"] = good.index(False) if False in good else len(good)
        self.ivars["converged_end"] = self.ivars["converged_count"]
        if before is None:
            return None
        weight = before if self.B is None else self.B @ before
        return self.X - before @ (weight.mT @ self.X)

    def _tell(self) -> None:
        if self.tracker is not None:
            self.tracker(self)


__all__ = ["lobpcg"]
