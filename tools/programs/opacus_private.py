"""opacus: private training, samples' gradients, accountants."""

import warnings

import torch
from opacus import GradSampleModule, PrivacyEngine
from opacus.accountants import PRVAccountant, RDPAccountant
from opacus.validators import ModuleValidator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

warnings.simplefilter("ignore")
torch.manual_seed(0)
x, y = torch.randn(64, 1, 8, 8), torch.randint(0, 3, (64,))
net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.GroupNorm(2, 4), nn.ReLU(), nn.Flatten(), nn.Linear(144, 3))
opt = torch.optim.SGD(net.parameters(), 0.1)
engine = PrivacyEngine()
net, opt, data = engine.make_private(
    module=net,
    optimizer=opt,
    data_loader=DataLoader(TensorDataset(x, y), 16),
    noise_multiplier=1.0,
    max_grad_norm=1.0,
)
for _ in range(2):
    for a, b in data:
        opt.zero_grad()
        loss = nn.functional.cross_entropy(net(a), b)
        loss.backward()
        opt.step()
        print(len(a), f"{loss.item():.5f}")
print(f"{engine.get_epsilon(1e-5):.4f}")
for layer, inp in (
    (nn.Linear(5, 3), torch.randn(4, 5)),
    (nn.Embedding(7, 3), torch.randint(0, 7, (4, 5))),
    (nn.LayerNorm(5), torch.randn(4, 5)),
    (nn.Conv1d(2, 3, 3), torch.randn(4, 2, 8)),
    (nn.InstanceNorm1d(2, affine=True), torch.randn(4, 2, 8)),
):
    g = GradSampleModule(layer)
    g(inp).sum().backward()
    print(type(layer).__name__, [f"{p.grad_sample.abs().sum().item():.4f}" for p in layer.parameters()])
from opacus.layers import DPLSTM, DPMultiheadAttention  # noqa: E402

lstm = GradSampleModule(DPLSTM(4, 3, batch_first=True))
lstm(torch.randn(2, 5, 4))[0].sum().backward()
print([f"{p.grad_sample.abs().sum().item():.4f}" for p in lstm.parameters()])
attn = DPMultiheadAttention(8, 2)
q = torch.randn(3, 2, 8)
print(f"{attn(q, q, q)[0].sum().item():.4f}")
print(ModuleValidator.fix(nn.Sequential(nn.Conv2d(1, 32, 3), nn.BatchNorm2d(32))))
for kind in (RDPAccountant, PRVAccountant):
    a = kind()
    for _ in range(10):
        a.step(noise_multiplier=1.0, sample_rate=0.1)
    print(kind.__name__, f"{a.get_epsilon(1e-5):.3f}")
