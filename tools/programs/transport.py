"""Optimal transport by POT on tensors: plans, distances, barycenters, and gradients of losses through them."""

import ot
import torch

torch.set_default_dtype(torch.float64)


def show(name: str, *values: torch.Tensor) -> None:
    """Tensors' sizes, and what their numbers and squares add up to."""
    for value in values:
        value = torch.as_tensor(value).detach()
        print(name, tuple(value.shape), f"{value.abs().sum():.6e} {value.square().sum():.6e}")


a = torch.rand(12, 2)
b = torch.rand(15, 2) + 0.3
p = torch.full((12,), 1 / 12)
q = torch.softmax(torch.randn(15), 0)
costs = ot.dist(a, b)
show("costs", costs, ot.dist(a, b, metric="euclidean"), ot.dist(a, b, metric="cityblock"))
show("exact", ot.emd(p, q, costs))
for method in ("sinkhorn", "sinkhorn_log", "sinkhorn_stabilized", "greenkhorn"):
    show(method, ot.sinkhorn(p, q, costs, 0.1, method=method, numItermax=200, warn=False))
show("batch", ot.sinkhorn2(p, torch.stack([q, q.flip(0)], 1), costs, 0.2))
show("unbalanced", ot.unbalanced.sinkhorn_unbalanced(p, q, costs, 0.2, 1.0))
show("majorized", ot.unbalanced.mm_unbalanced(p, q, costs, 1.0))
show("partial", ot.partial.entropic_partial_wasserstein(p, q, costs, 0.1, m=0.6))

for name, loss in {
    "exact": lambda x: ot.emd2(p, q, ot.dist(x, b)),
    "entropic": lambda x: ot.sinkhorn2(p, q, ot.dist(x, b), 0.3),
    "divergence": lambda x: ot.bregman.empirical_sinkhorn_divergence(x, b, 0.3),
    "sliced": lambda x: ot.sliced_wasserstein_distance(x, b, n_projections=20, seed=0),
    "max sliced": lambda x: ot.max_sliced_wasserstein_distance(x, b, n_projections=20, seed=0),
    "one dimension": lambda x: ot.wasserstein_1d(x[:, 0], b[:, 0], p=2),
    "circle": lambda x: ot.wasserstein_circle(x[:, 0], b[:, 0] % 1, p=2),
    "gaussian": lambda x: ot.gaussian.empirical_bures_wasserstein_distance(x, b),
    "solver": lambda x: ot.solve_sample(x, b, reg=0.2).value,
    "structures": lambda x: ot.gromov_wasserstein2(ot.dist(x, x), ot.dist(b, b), p, q),
    "fused": lambda x: ot.fused_gromov_wasserstein2(ot.dist(x, b), ot.dist(x, x), ot.dist(b, b), p, q),
}.items():
    points = a.clone().requires_grad_()
    value = loss(points)
    value.backward()
    show(name, value, points.grad)

bins = torch.arange(20.0)
mixtures = torch.stack([torch.exp(-((bins - c) ** 2) / 8) for c in (5.0, 9.0, 14.0)], 1)
mixtures = mixtures / mixtures.sum(0)
grid = ot.dist(bins[:, None], bins[:, None])
grid = grid / grid.max()
show("barycenter", ot.bregman.barycenter(mixtures, grid, 1e-2))
show("unbalanced barycenter", ot.unbalanced.barycenter_unbalanced(mixtures, grid, 1e-2, 1.0))
show(
    "images", ot.bregman.convolutional_barycenter2d(torch.rand(2, 8, 8).softmax(-1) / 8, 0.02, numItermax=30)
)
show("free support", ot.lp.free_support_barycenter([a, b], [p, q], torch.rand(6, 2), numItermax=5))
mean, cov = ot.gaussian.bures_wasserstein_barycenter(torch.randn(3, 2), torch.eye(2).repeat(3, 1, 1) * 2)
show("gaussians", mean, cov)

mapping = ot.da.SinkhornTransport(reg_e=0.5)
mapping.fit(Xs=a, Xt=b)
show("domain", mapping.transform(Xs=a))
linear = ot.da.LinearTransport()
linear.fit(Xs=a, Xt=b)
show("linear", linear.transform(Xs=a), linear.inverse_transform(Xt=b))
weights = ot.gmm.gmm_ot_loss(
    a[:3], b[:4], torch.eye(2).repeat(3, 1, 1), torch.eye(2).repeat(4, 1, 1), p[:3] * 4, q[:4] / q[:4].sum()
)
show("mixtures", weights)
