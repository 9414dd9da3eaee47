"""pykan: Kolmogorov-Arnold networks, trained, pruned, refined and made symbolic."""

import tempfile

import torch
from kan import KAN, create_dataset
from kan.spline import coef2curve, curve2coef

folder = tempfile.mkdtemp()
model = KAN(width=[2, 5, 1], grid=3, k=3, seed=42, device="cpu", auto_save=False, ckpt_path=folder)
data = create_dataset(
    lambda x: torch.exp(torch.sin(torch.pi * x[:, [0]]) + x[:, [1]] ** 2),
    n_var=2,
    train_num=200,
    test_num=100,
)
print({name: value.sum() for name, value in data.items()})
print(model(data["train_input"])[:5])
found = model.fit(data, opt="LBFGS", steps=8, lamb=0.001)
print([float(x) for x in found["train_loss"]], [float(x) for x in found["test_loss"]])
model.attribute()
print(model.node_scores, model.edge_scores)
model = model.prune(node_th=1e-1)
print(model.width)
model = model.refine(5)
found = model.fit(data, opt="Adam", lr=0.01, steps=10)
print(found["train_loss"][-1], found["test_loss"][-1])
model.fix_symbolic(0, 1, 0, "x^2", verbose=False)
print(model(data["test_input"]).square().sum())

mixed = KAN(width=[3, [2, 1], 2], grid=4, k=2, seed=1, mult_arity=2, auto_save=False, ckpt_path=folder)
x = torch.rand(40, 3) * 2 - 1
print(mixed(x).sum(0), sum(p.numel() for p in mixed.parameters()))
mixed(x).square().sum().backward()
print([float(p.grad.abs().sum()) for p in mixed.parameters() if p.grad is not None])

grid = torch.linspace(-1, 1, 11)[None].expand(2, 11)
points = torch.linspace(-0.9, 0.9, 50)[:, None].expand(50, 2)
coefficients = curve2coef(points, torch.sin(3 * points)[:, :, None], grid, k=3)
print(coefficients.shape, coef2curve(points, grid, coefficients, k=3).sum())
