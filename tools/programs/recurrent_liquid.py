"""ncps: liquid recurrent networks, wired and not, trained on a sine; pytorch-tcn beside them."""

import torch
from ncps.torch import LTC, CfC
from ncps.wirings import AutoNCP
from pytorch_tcn import TCN

torch.manual_seed(0)
time = torch.linspace(0, 6.0, 24)
x = torch.stack([torch.sin(time), torch.cos(time)], -1).unsqueeze(0)
y = torch.sin(2 * time).view(1, -1, 1)
models = {
    "cfc": CfC(2, 8, proj_size=1),
    "cfc wired": CfC(2, AutoNCP(8, 1)),
    "cfc no gate": CfC(2, 8, proj_size=1, mode="no_gate"),
    "cfc pure": CfC(2, 8, proj_size=1, mode="pure", mixed_memory=True),
    "ltc": LTC(2, AutoNCP(8, 1)),
}
for name, model in models.items():
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for step in range(4):
        out, state = model(x)
        loss = torch.nn.functional.mse_loss(out, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(name, step, f"{loss.item():.5f}", f"{out.abs().mean().item():.5f}")
tcn = TCN(2, [4, 4, 4], kernel_size=3, dropout=0.1, use_skip_connections=True, use_norm="weight_norm")
optimizer = torch.optim.SGD(tcn.parameters(), lr=0.05)
for step in range(4):
    out = tcn(x.transpose(1, 2)).mean(1)
    loss = (out - y.squeeze(-1)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print("tcn", step, f"{loss.item():.5f}")
tcn.eval()
streamed = TCN(2, [3, 3], causal=True, dropout=0.0)
streamed.eval()
whole = streamed(x.transpose(1, 2))
streamed.reset_buffers()
parts = [streamed(part, inference=True) for part in x.transpose(1, 2).split(6, -1)]
print("streamed", f"{(torch.cat(parts, -1) - whole).abs().max().item() < 1e-4}", f"{whole.sum().item():.5f}")
