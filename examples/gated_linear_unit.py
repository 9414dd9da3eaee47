"""A gated linear unit as a module of its own: half of a projection gates the other half.

python -m rushlight examples/gated_linear_unit.py
"""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class GatedLinearUnit(nn.Module):
    """(..., features) -> (..., features / 2): a * sigmoid(b), where (a, b) are the halves of x W^T + bias."""

    def __init__(self, features):
        super().__init__()
        if features % 2:
            raise ValueError(f"GatedLinearUnit: expected an even number of features, got {features}")
        self.weight = nn.Parameter(torch.empty(features, features))
        self.bias = nn.Parameter(torch.zeros(features))
        nn.init.kaiming_uniform_(self.weight, a=math.sqrt(5))

    def forward(self, x):
        a, b = F.linear(x, self.weight, self.bias).chunk(2, dim=-1)
        return a * torch.sigmoid(b)

    def extra_repr(self):
        return f"features={self.weight.shape[0]}"


def main():
    torch.manual_seed(0)
    model = nn.Sequential(GatedLinearUnit(8), GatedLinearUnit(4), nn.Linear(2, 1))
    print(model)
    x, y = torch.randn(64, 8), torch.randn(64, 1)
    model(x).sum().backward()
    for name, p in model.named_parameters():
        print(f"{name:10} gradient of norm {p.grad.norm():.4f}")
    own, built_in = model[0](x), F.glu(F.linear(x, model[0].weight, model[0].bias))
    print(f"as F.glu: {torch.allclose(own, built_in)}")
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    for step in range(100):
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        if step % 33 == 0:
            print(f"step {step} loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
