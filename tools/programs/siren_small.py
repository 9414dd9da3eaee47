"""siren: sine layers fit a picture, its gradient and its Laplacian by the checkout's operators."""

import diff_operators
import torch
from modules import SingleBVPNet

for kind in ("sine", "relu", "tanh", "selu", "softplus"):
    torch.manual_seed(1)
    model = SingleBVPNet(out_features=1, in_features=2, type=kind, hidden_features=16, num_hidden_layers=2)
    opt = torch.optim.Adam(model.parameters(), 1e-3)
    coords = torch.rand(1, 64, 2) * 2 - 1
    truth = torch.sin(3 * coords.sum(-1, keepdim=True))
    for step in range(4):
        out = model({"coords": coords})
        y, x = out["model_out"], out["model_in"]
        loss = (y - truth).pow(2).mean() + 1e-4 * diff_operators.laplace(y, x).pow(2).mean()
        loss = loss + 1e-3 * diff_operators.gradient(y, x).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        print(kind, step, f"{loss.item():.5f}")
