"""geoopt: manifolds, their maps, Riemannian optimizers."""

import geoopt
import torch

torch.manual_seed(0)
for manifold, shape in (
    (geoopt.PoincareBall(), (3, 4)),
    (geoopt.Sphere(), (3, 4)),
    (geoopt.Stiefel(), (4, 2)),
    (geoopt.Lorentz(), (3, 4)),
    (geoopt.SymmetricPositiveDefinite(), (3, 3)),
    (geoopt.Euclidean(1), (3, 4)),
    (geoopt.SphereProjection(), (3, 4)),
    (geoopt.BirkhoffPolytope(), (3, 3)),
    (geoopt.Stereographic(k=-0.5, learnable=True), (3, 4)),
):
    torch.manual_seed(1)
    x, y = (manifold.projx(torch.rand(*shape, dtype=torch.float64) * 0.3 + 0.1) for _ in range(2))
    v = manifold.proju(x, torch.randn(*shape, dtype=torch.float64) * 0.1)
    print(manifold.name, f"{manifold.retr(x, v).sum().item():.5f} {manifold.inner(x, v).sum().item():.5f}")
    for name in ("dist", "logmap", "transp"):
        try:
            out = manifold.transp(x, y, v) if name == "transp" else getattr(manifold, name)(x, y)
        except NotImplementedError:
            continue
        print("  ", name, f"{out.sum().item():.4f}")
for kind in (geoopt.optim.RiemannianAdam, geoopt.optim.RiemannianSGD):
    torch.manual_seed(2)
    p = geoopt.ManifoldParameter(torch.randn(4, 5), manifold=geoopt.Sphere())
    with torch.no_grad():
        p.proj_()
    opt = kind([p], lr=0.05)
    A, losses = torch.randn(5, 5), []
    for _ in range(4):

        def closure():
            opt.zero_grad()
            loss = ((p @ (A @ A.T)) * p).sum()
            loss.backward()
            return loss

        losses.append(f"{float(opt.step(closure)):.4f}")
    print(kind.__name__, losses, type(p).__name__)
