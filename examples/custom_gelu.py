"""GELU as an autograd.Function with its own backward, checked against finite differences and nn.GELU.

python -m rushlight examples/custom_gelu.py
"""

import math

import torch
import torch.nn as nn

SCALE, CUBIC = math.sqrt(2 / math.pi), 0.044715


class GELU(torch.autograd.Function):
    """x Phi(x) with Phi approximated by (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return 0.5 * x * (1 + torch.tanh(SCALE * (x + CUBIC * x**3)))

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        t = torch.tanh(SCALE * (x + CUBIC * x**3))
        inner = SCALE * (1 + 3 * CUBIC * x**2)
        return grad * (0.5 * (1 + t) + 0.5 * x * (1 - t**2) * inner)


def main():
    torch.manual_seed(0)
    x = torch.randn(6, 5, dtype=torch.float64, requires_grad=True)
    print(f"gradcheck {torch.autograd.gradcheck(GELU.apply, (x,))}")
    print(f"gradgradcheck {torch.autograd.gradgradcheck(GELU.apply, (x,))}")
    for approximate in ("tanh", "none"):
        (theirs,) = torch.autograd.grad(nn.GELU(approximate)(x).sum(), x)
        (ours,) = torch.autograd.grad(GELU.apply(x).sum(), x)
        print(f"nn.GELU({approximate!r}): gradients differ by at most {(ours - theirs).abs().max():.1e}")


if __name__ == "__main__":
    main()
