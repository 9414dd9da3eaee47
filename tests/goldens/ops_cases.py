"""Calls of ops, as expressions over the operands below; what PyTorch gives is in ops.json."""

from __future__ import annotations

from typing import Any

import numpy as np


def _wave(*shape: int, step: float = 1.0, low: float = -1.5, high: float = 1.5) -> np.ndarray:
    n = int(np.prod(shape))
    turn = np.cos(step * (np.arange(n) + 1.0) * 1.7) * 0.5 + 0.5
    return (low + (high - low) * turn).reshape(shape)


# Floating operands are float64 and require grad, but for those whose names end in a size.
OPERANDS: dict[str, np.ndarray] = {
    "x": _wave(2, 3),
    "y": _wave(2, 3, step=0.7),
    "v": _wave(3, step=1.3),
    "u": _wave(4, step=0.4),
    "p": _wave(2, 3, step=0.9, low=0.2, high=0.8),
    "w": _wave(4, 3, step=0.6),
    "s": _wave(2, 3, 4),
    "r": _wave(2, 4, 3, step=0.5),
    "z": _wave(3, 3, step=0.8),
    "o": np.array(0.7),
    "signal": _wave(1, 2, 8),
    "image": _wave(1, 2, 6, 6, step=0.3),
    "volume": _wave(1, 1, 4, 4, 4),
    "kernel": _wave(3, 2, 3, 3, step=0.2),
    "taps": _wave(3, 2, 3, step=0.2),
    "i": np.array([[0, 2, 1], [1, 1, 0]]),
    "j": np.array([[3, -7, 5], [2, 4, -1]]),
    "k": np.array([[True, False, True], [False, True, True]]),
    "classes": np.array([2, 0]),
    "h32": _wave(2, 3, step=0.7).astype(np.float32),
    # Well-conditioned, square and tall.
    "m": _wave(3, 3, step=0.8) + 2 * np.eye(3),
    "t": _wave(4, 3, step=2.9) + np.eye(4, 3),
    "c64": (_wave(2, 3) + 1j * _wave(2, 3, step=0.4)).astype(np.complex64),
}

_POINTWISE = """
-x; x + y; x + 2; x - y; 3 - x; x * y; x * 2.5; x / y; 1 / p; x ** 2; x ** 3.0; p ** y; 2 ** x
torch.add(x, v, alpha=2); torch.square(x); torch.reciprocal(p); torch.abs(x); torch.sign(x)
torch.floor(x); torch.round(x, decimals=1); torch.remainder(x, y); torch.fmod(x, 0.7)
torch.div(x, y, rounding_mode='floor'); torch.div(x, y, rounding_mode='trunc'); torch.frac(x)
torch.exp(x); torch.exp2(x); torch.expm1(x); torch.log(p); torch.log2(p); torch.log10(p)
torch.log1p(p); torch.sqrt(p); torch.rsqrt(p); torch.sin(x); torch.cos(x); torch.tan(x)
torch.asin(p); torch.acos(p); torch.atan(x); torch.sinh(x); torch.cosh(x); torch.tanh(x)
torch.atan2(x, y); torch.sigmoid(x); torch.logit(p); torch.erf(x); torch.erfc(x); torch.erfinv(p)
torch.lgamma(p); torch.digamma(p); torch.clamp(x, -0.5, 0.5); torch.clamp(x, min=0); x.clamp_max(0.3)
torch.clamp(x, y - 1, y + 1); torch.maximum(x, y); torch.minimum(x, y); torch.lerp(x, y, 0.3)
torch.addcmul(x, y, p, value=2); torch.addcdiv(x, y, p); torch.where(k, x, y); torch.hypot(x, y)
torch.copysign(x, y); torch.copysign(x, -1.0); torch.logaddexp(x, y); torch.xlogy(p, p + 1)
torch.nan_to_num(x); torch.sinc(x); torch.heaviside(h32, h32); 



x.type_as(h32); x.sin().mul_(2); x.neg().add_(y); x.clone().sigmoid_()
h32 + 1; h32 + i; i / 2; i // 2; j % 3; i + k; h32 * 2.0; c64 * h32; c64.abs(); h32.bfloat16() + h32
h32.half() * 3; i * 1.5; x.clamp_min(y); x.clamp_min(0); x.lerp(y, p); x.masked_fill(k, o); torch.rsub(x, y); torch.rsub(x, 1)
x.clone().zero_(); x.clone().fill_(1); x.clone().copy_(y); x.detach().clone().copy_(y); x.clone().fill_(o)
torch.where(k, x, 0.0); x.double(); x.float().double(); x.clone().relu_(); x.addcmul(x, x); x.squeeze((0, 1))
x.index_fill(1, classes, 0.5); x.index_fill(1, classes, o); x.msort(); x.ravel(); x.swapaxes(0, 1); x.expand_as(s.mT[:, :2])
x.index_put((classes // 2,), v); x.sum(dtype=torch.float32); x.mean(dtype=torch.float32); v @ s.mT[..., :3].mT
k + k; ~k; i & j; i << 1; h32 > 0; i == j; torch.isnan(h32)
"""
_REDUCTIONS = """
x.sum(); x.sum(1); x.sum(0, keepdim=True); x.sum((0, 1)); x.mean(); x.mean(1); s.mean((0, 2))
x.prod(); x.prod(1); x.max(); x.min(); x.max(1); x.min(0); x.amax(1); x.amin(0); torch.nansum(x)
x.var(); x.var(1); x.var(0, keepdim=True, correction=0)
x.std(); x.std(1); torch.var_mean(x, 1); torch.std_mean(x, 0); x.norm(); x.norm(dim=1); x.norm(1)
torch.linalg.vector_norm(x, 3); torch.logsumexp(x, 1); x.cumsum(1); x.cumprod(1); x.argmax(1)
torch.argmin(x); i.sum(); k.sum(); i.prod(); h32.bfloat16().sum(); k.any(); k.all(1); x.median()
x.median(1); x.sort(1); x.topk(2); x.kthvalue(2); torch.logcumsumexp(x, 1); x.cummax(1)
torch.count_nonzero(i); torch.dist(x, y); torch.renorm(x, 2, 0, 0.8); z.trace(); x.aminmax()
"""
_SHAPES = """
x.view(3, 2); x.reshape(6); s.transpose(0, 1); s.permute(2, 0, 1); x.t(); x.T; s.mT; s.adjoint()
c64.adjoint(); x.unsqueeze(0); x.unsqueeze(0).squeeze(0); x.unsqueeze(0).squeeze(); x.flatten()
x.expand(4, 2, 3); v.broadcast_to(2, 3); x.select(1, 0); x[0]; x[:, 1:]; x[:, ::2]; x[i[1]]; x[k]
x.narrow(1, 0, 2); x.split(1); x.split([1, 2], 1); x.chunk(2, 1); x.unbind(0); x.tensor_split(2, 1)
z.diagonal(); torch.diag(v); z.tril(); z.triu(1); x.repeat(2, 1); x.repeat_interleave(2, 1)
x.flip(0); x.roll(1, 1); torch.cat([x, y]); torch.stack([x, y]); x.gather(1, i); x.unfold(1, 2, 1)
x.scatter(1, i, y); x.scatter(1, i, 0.5); x.scatter_add(1, i, y); x.index_select(0, classes // 2)
x.index_add(0, classes // 2, y); x.masked_fill(k, 0.0); x.masked_select(k); x.take(i)
x.index_fill(1, classes, 0.0); x.movedim(0, 1); x.clone(); x.contiguous(); x.float(); x.to(torch.half)
torch.tile(x, (2,)); x.unflatten(1, (3, 1)); torch.hstack([x, y]); torch.meshgrid(v, u, indexing='ij')
torch.complex(x, y); torch.view_as_real(torch.complex(x, y)); x.real; x.conj(); x.diff()
"""
_PRODUCTS = """
x @ w.t(); torch.mm(x, z); z.mv(v); v.dot(v); torch.bmm(s, r); s @ r; s @ w.t()[:, :1].repeat(2, 1)[:4]
v @ z; torch.matmul(r, v); torch.outer(v, u); F.linear(x, w); F.linear(x, w, u); F.linear(r, w)
F.linear(r, w, u); F.linear(v, w); F.linear(v, w, u); torch.addmm(u, x, w.t())
torch.addmm(v, x, z, beta=0.5, alpha=2); torch.addmv(v, z, v); torch.addr(z, v, v)
torch.baddbmm(r[:, :3], s, r); torch.addbmm(z, s, r); torch.einsum('ij,kj->ik', x, w)
torch.einsum('bij,bjk->bik', s, r); torch.tensordot(x, w, ([1], [1]))
torch.inner(x, w); 
torch.linalg.solve(z + 2 * torch.eye(3), v)
"""
_NETWORKS = """
F.relu(x); F.gelu(x); F.gelu(x, approximate='tanh'); F.silu(x); F.elu(x); F.leaky_relu(x); F.selu(x)
F.softplus(x); F.logsigmoid(x); F.hardtanh(x); F.hardswish(x); F.hardsigmoid(x); F.mish(x)
F.softsign(x); F.tanhshrink(x); F.celu(x); F.relu6(x); F.glu(u); F.prelu(x, o.reshape(1))
F.threshold(x, 0.1, 0.2); F.softshrink(x); F.hardshrink(x); F.softmax(x, 1); F.log_softmax(x, 1)
F.mse_loss(x, y); F.mse_loss(x, y, reduction='sum'); F.mse_loss(x, y, reduction='none')
F.l1_loss(x, y); F.smooth_l1_loss(x, y); F.smooth_l1_loss(x, y, reduction='none')
F.huber_loss(x, y, delta=0.5); F.binary_cross_entropy(p, y.detach().sigmoid())
F.binary_cross_entropy_with_logits(x, p.detach())
F.binary_cross_entropy_with_logits(x, p.detach(), pos_weight=v.detach().exp(), reduction='none')
F.cross_entropy(x, classes); F.cross_entropy(x, classes, reduction='sum')
F.cross_entropy(x, classes, reduction='none'); F.cross_entropy(x, classes, weight=v.detach().exp())
F.cross_entropy(x, classes, label_smoothing=0.1); F.cross_entropy(x, p)
F.cross_entropy(s, i[:, :1].repeat(1, 4)); F.nll_loss(x, classes); F.nll_loss(x, classes, ignore_index=2)
F.kl_div(x, p, reduction='batchmean'); F.cosine_similarity(x, y); F.layer_norm(x, (3,))
F.layer_norm(x, (3,), v, v); F.group_norm(image, 2); F.batch_norm(r, None, None, training=True)
F.batch_norm(r, None, None, u, u, training=True); F.instance_norm(image); F.rms_norm(x, (3,))
F.batch_norm(r, u.detach(), u.detach().exp(), u, u); F.embedding(i, w); F.normalize(x)
F.conv1d(signal, taps); F.conv2d(image, kernel, padding=1); F.conv_transpose2d(image, kernel[:2])
F.max_pool1d(signal, 2); F.max_pool2d(image, 2); F.max_pool3d(volume, 2); F.avg_pool1d(signal, 2)
F.avg_pool2d(image, 2); F.avg_pool3d(volume, 2); F.adaptive_avg_pool1d(signal, 3)
F.adaptive_avg_pool2d(image, 2); F.adaptive_avg_pool2d(image, 1); F.adaptive_max_pool1d(signal, 3)
F.adaptive_max_pool2d(image, 2); F.pad(x, (1, 1)); F.pad(signal, (1, 2), mode='reflect')
F.interpolate(signal, scale_factor=2); F.interpolate(image, size=3); F.interpolate(signal, size=5, mode='linear')
F.interpolate(image, scale_factor=2, mode='bilinear'); F.interpolate(image, size=4, mode='bicubic')
F.interpolate(image, size=3, mode='area'); F.unfold(image, 3); F.pixel_shuffle(kernel[:1].repeat(1, 2, 1, 1), 2)
F.scaled_dot_product_attention(s[None], s[None], s[None]); F.dropout(x, 0.5, training=False)
F.pad(image, (1, 1, 1, 1), mode='reflect'); F.pad(image, (1, 1, 1, 1), mode='replicate')
F.interpolate(image, size=3, mode='nearest-exact'); F.interpolate(volume, size=2, mode='trilinear')
F.cross_entropy(x, p, reduction='sum'); F.cross_entropy(x[0], classes[0]); F.batch_norm(image, *image[0, :, 0, :2].detach().abs())
F.cross_entropy(image, i[None, :1, :1].repeat(1, 6, 6) // 2); F.pairwise_distance(x, y)
F.adaptive_avg_pool3d(volume, 2); F.adaptive_avg_pool1d(signal, 1); F.embedding_bag(i, w)
F.triplet_margin_loss(x, y, p); F.kl_div(x, p); F.softmin(x, 1); F.local_response_norm(image, 2)
F.fold(F.unfold(image, 2), (6, 6), 2); F.pixel_unshuffle(image, 2); F.hinge_embedding_loss(x, y.sign().detach())
F.poisson_nll_loss(x, p.detach()); F.gaussian_nll_loss(x, y, p); F.soft_margin_loss(x, y.detach().sign())
F.margin_ranking_loss(x, y, x.detach().sign()); F.cosine_embedding_loss(x, y, classes - 1)
F.conv1d(signal, taps, stride=2, padding=1); F.conv2d(image, kernel, u[:3]); F.conv_transpose1d(signal, taps[:2])
F.bilinear(x, y, z[None].repeat(2, 1, 1))
torch.einsum('ij->i', i.int()); torch.einsum('ij->ji', i.int()); torch.einsum('ii', k[:, :2]); F.bilinear(j.int(), j.int(), j[None].int().repeat(3, 1, 1).reshape(2, 3, 3))
F.hinge_embedding_loss(j, i - 1, margin=1.5, reduction='none'); F.margin_ranking_loss(j, i, j)
F.softmin(j.byte(), 1, dtype=torch.float64)
torch.cholesky_solve(t[:3], m); torch.cholesky_inverse(m, upper=True); torch.linalg.eigh(m + m.mT)[1].abs()
torch.linalg.eigh(m, 'U')[1].abs(); torch.linalg.cholesky(m @ m.mT, upper=True)
torch.nextafter(torch.zeros(2).half(), torch.tensor([-0.0, 1]).half()); torch.tensor([-0.0, -float('inf'), 2]).half() ** 0.5
torch.linspace(-8.8, 9, 5000, dtype=torch.float64)[2385]; torch.linspace(2.8 + 7j, 5 - 14.9j, 500)[135:137]
torch.logsumexp(torch.stack((c64 * 3000, c64 * -3000)), (0, 2))
F.scaled_dot_product_attention(*[s.detach()[None].bfloat16() * 4] * 3, z.detach().bfloat16())
F.scaled_dot_product_attention(*[s.detach()[None].half() * 4] * 3, k[0].logical_or(k[:1].mT))
torch.logspace(2, 1 + 0.5j, 5, dtype=torch.complex128); torch.logspace(0.3, 2.9, 7, 2.5, dtype=torch.float64)
F.ctc_loss(s, torch.tensor([[1, 2], [2, 2], [3, 1]]), (2, 2, 1), (2, 2, 0), 0, 'none')
F.ctc_loss(s, torch.tensor([[1, 2], [2, 2], [3, 1]]), (2, 2, 1), (2, 2, 0), 0, 'sum', zero_infinity=True)
F.ctc_loss(r, torch.tensor([1, 0, 1]), (2, 0, 1, 0), (1, 1, 1, 0), 2, 'none')
F.ctc_loss(torch.cat((r, r, r / 0)), torch.tensor([0, 1, 1, 1]), (5, 4, 2, 3), (1, 2, 0, 1), 2, 'none')
"""
# Vectors that are free up to a sign are squared.
_LINEAR_ALGEBRA = """
torch.linalg.inv(m); torch.inverse(m); m.inverse(); torch.linalg.inv_ex(m); torch.linalg.det(m); torch.det(m); m.det()
torch.linalg.slogdet(m); torch.slogdet(m); (m @ m.T).logdet(); torch.linalg.solve(m, v); torch.linalg.solve(m, w.T)
torch.linalg.solve(m, w, left=False); torch.linalg.solve_ex(m, w.T)
torch.linalg.solve_triangular(m, w.T, upper=True); torch.linalg.solve_triangular(m, w, upper=False, left=False)
torch.linalg.solve_triangular(m, w.T, upper=True, unitriangular=True); torch.triangular_solve(w.T, m, transpose=True)
torch.linalg.cholesky(m @ m.T); torch.linalg.cholesky(m @ m.T, upper=True); torch.linalg.cholesky_ex(m @ m.T)
torch.cholesky(m @ m.T); torch.cholesky_solve(w.T, m.tril()); torch.cholesky_inverse(m.triu(), upper=True)
torch.linalg.eigvalsh(m); torch.linalg.eigh(m)[0]; torch.linalg.eigh(m + m.T)[1] ** 2; torch.linalg.eigvals(m @ m.T + m)
torch.linalg.svdvals(x); torch.linalg.svd(x)[1]; torch.linalg.svd(x, False)[0] ** 2; torch.svd(t)[2] ** 2
torch.linalg.pinv(t); torch.linalg.pinv(x); torch.pinverse(t); torch.linalg.matrix_rank(t); torch.linalg.qr(t)[1] ** 2
torch.linalg.lu(t); torch.linalg.lu(x); torch.linalg.lu_factor(t); torch.linalg.lu_factor(x); torch.lu(m)
torch.linalg.lu_factor_ex(s[:, :, :2]); torch.lu_unpack(*torch.linalg.lu_factor(m)); torch.linalg.lu_factor(m)
torch.linalg.lu_solve(*torch.linalg.lu_factor(m), w.T); torch.lu_solve(w.T, *torch.linalg.lu_factor(m))
torch.linalg.lu_solve(*torch.linalg.lu_factor(m), w, left=False); torch.linalg.lstsq(t, t[:, :2], driver='gelsd')[0]
torch.linalg.lu_solve(*torch.linalg.lu_factor(m), w.T, adjoint=True); torch.linalg.lstsq(x, x[:, 0])[0]
torch.linalg.ldl_factor(m.detach()); torch.linalg.ldl_solve(*torch.linalg.ldl_factor(m.detach()), w.detach().T)
torch.linalg.matrix_norm(x); torch.linalg.matrix_norm(s ** 3, 'nuc'); torch.linalg.matrix_norm(s, 2, (0, 2), True)
torch.linalg.matrix_norm(x, 1); torch.linalg.matrix_norm(x, float('-inf')); torch.linalg.norm(x); torch.linalg.norm(x, 2)
torch.linalg.norm(x, 1, 1); torch.linalg.norm(x, 'nuc'); torch.norm(x, 'nuc'); torch.linalg.cond(m); torch.linalg.cond(m.detach(), 1)
torch.linalg.matrix_power(m, 5); torch.linalg.matrix_power(m, -2); m.matrix_power(0); torch.linalg.multi_dot([x, m, w.T])
torch.linalg.multi_dot([v, m, v]); torch.linalg.cross(x, y); torch.cross(x, y, dim=1); torch.linalg.vecdot(x, y)
torch.kron(x, w); torch.linalg.diagonal(s); torch.linalg.tensorinv(m.reshape(3, 1, 3), ind=1)
torch.linalg.tensorsolve(m.reshape(3, 1, 3), v[:, None]); torch.ormqr(w, v.abs(), r[0]); torch.linalg.matrix_rank(m, 9.)
torch.linalg.inv(torch.stack([m, m.T])); torch.linalg.det(m * torch.tensor([1., 1., 0.]))
"""


def cases() -> list[str]:
    """All expressions."""
    texts = (_POINTWISE, _REDUCTIONS, _SHAPES, _PRODUCTS, _NETWORKS, _LINEAR_ALGEBRA)
    return [c.strip() for text in texts for line in text.splitlines() for c in line.split(";") if c.strip()]


def _flat(found: Any) -> list[Any]:
    if isinstance(found, (tuple, list)):
        return [t for f in found for t in _flat(f)]
    return [found]


def _digits(t: Any) -> list[Any]:
    """The elements, floating ones with as many digits as tests look at."""
    values = t.detach().reshape(-1).tolist()
    if t.dtype.is_complex:
        values = [part for v in values for part in (v.real, v.imag)]
    return [float(f"{v:.10g}") if isinstance(v, float) else v for v in values]


def run(torch: Any, text: str) -> dict[str, Any]:
    """The results' dtypes, sizes, grad_fn names and values, and the operands' gradients."""
    names = {n: torch.from_numpy(a.copy()) for n, a in OPERANDS.items()}
    for t in names.values():
        t.requires_grad_(t.dtype == torch.float64)
    scope = {"torch": torch, "F": torch.nn.functional, **names}
    outs = _flat(eval(text, scope))  # noqa: S307 - our own texts above
    answer: dict[str, Any] = {
        "dtypes": [str(t.dtype)[6:] for t in outs],
        "shapes": [list(t.shape) for t in outs],
        "nodes": [t.grad_fn.name().rpartition("::")[2] if t.grad_fn is not None else "" for t in outs],
        "values": [_digits(t) for t in outs],
        "gradients": {},
    }
    tracked = [t for t in outs if t.requires_grad]
    if tracked:
        leaves = {n: t for n, t in names.items() if t.requires_grad}
        grads = torch.autograd.grad(
            sum(weighted(torch, t) for t in tracked), list(leaves.values()), allow_unused=True
        )
        answer["gradients"] = {n: _digits(g) for n, g in zip(leaves, grads, strict=True) if g is not None}
    return answer


def weighted(torch: Any, t: Any) -> Any:
    """The sum with unlike weights, so that each element's gradient is seen."""
    plain = torch.view_as_real(t) if t.dtype.is_complex else t
    weights = torch.arange(1, plain.numel() + 1, dtype=torch.float64).reshape(plain.shape)
    return (plain.double() * weights).sum()


_PRECISION = {
    "float64": 1e-7,
    "float32": 2e-6,
    "complex128": 1e-8,
    "complex64": 2e-6,
    "float16": 1e-3,
    "bfloat16": 8e-3,
}


def close(got: list[Any], wanted: list[Any], dtype: str = "float64") -> bool:
    """Whether elements agree: exactly, or up to the dtype's rounding."""
    if dtype not in _PRECISION:
        return got == wanted
    return len(got) == len(wanted) and bool(
        np.allclose(got, wanted, rtol=_PRECISION[dtype], atol=_PRECISION[dtype], equal_nan=True)
    )


def differences(got: dict[str, Any], wanted: dict[str, Any]) -> list[str]:
    """What is not as it was recorded, in words."""
    found = [
        f"{key}: got {got[key]}, wanted {wanted[key]}"
        for key in ("dtypes", "shapes", "nodes")
        if got[key] != wanted[key]
    ]
    if not found:
        found = [
            f"value: got {g}, wanted {w}"
            for g, w, d in zip(got["values"], wanted["values"], wanted["dtypes"])
            if not close(g, w, d)
        ]
        if list(got["gradients"]) != list(wanted["gradients"]):
            found.append(f"gradients of {list(got['gradients'])}, wanted {list(wanted['gradients'])}")
    low = min(wanted["dtypes"], key=lambda d: -_PRECISION.get(d, 0.0))
    found += [
        f"gradient of {name}: got {got['gradients'][name]}, wanted {w}"
        for name, w in wanted["gradients"].items()
        if name in got["gradients"]
        and not close(got["gradients"][name], w, low if (low in _PRECISION) else "float64")
    ]
    return found
