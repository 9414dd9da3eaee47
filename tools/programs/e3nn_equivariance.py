"""e3nn: irreps, spherical harmonics, tensor products, a network that is trained, equivariance."""

import torch
from e3nn import nn as enn, o3

torch.manual_seed(0)
a = o3.Irreps("8x0e + 4x1o + 2x2e")
print(a.dim, a.lmax, o3.Irreps("1o") * 2)
v = torch.randn(6, 3)
sh = o3.spherical_harmonics([0, 1, 2, 3], v, normalize=True, normalization="component")
print("sh", f"{sh.sum().item():.4f} {sh.abs().sum().item():.4f}")
print("w3j", f"{o3.wigner_3j(1, 2, 3).abs().sum().item():.4f}")
R = o3.rand_matrix()
print("D", f"{a.D_from_matrix(R).abs().sum().item():.4f}")
tp = o3.FullyConnectedTensorProduct(a, "1x0e + 1x1o", "4x0e + 4x1o")
lin = o3.Linear("4x0e + 4x1o", "2x0e + 1x1o")
x, y = a.randn(5, -1), o3.Irreps("1x0e + 1x1o").randn(5, -1)
out = lin(tp(x, y))
print("out", f"{out.sum().item():.4f}")
D1, D2, D3 = (o3.Irreps(i).D_from_matrix(R) for i in (a, "1x0e + 1x1o", "2x0e + 1x1o"))
print("equivariant", torch.allclose(lin(tp(x @ D1.T, y @ D2.T)), out @ D3.T, atol=1e-3))
gate = enn.Gate("4x0e", [torch.tanh], "2x0e", [torch.sigmoid], "2x1o")
print("gate", f"{gate(gate.irreps_in.randn(3, -1)).sum().item():.4f}")
bn = enn.BatchNorm(a)
print("norm", f"{bn(x).sum().item():.4f}")
opt = torch.optim.Adam([*tp.parameters(), *lin.parameters()], lr=0.02)
for _ in range(5):
    loss = lin(tp(x, y)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(f"{loss.item():.5f}")
