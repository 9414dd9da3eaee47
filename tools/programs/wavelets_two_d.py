"""pytorch_wavelets: discrete and dual-tree complex wavelets, scattering, with gradients; compiled and traced."""

import torch
from pytorch_wavelets import (
    DTCWTForward,
    DTCWTInverse,
    DWT1DForward,
    DWT1DInverse,
    DWTForward,
    DWTInverse,
    ScatLayer,
    ScatLayerj2,
)

torch.manual_seed(0)
image = torch.randn(2, 3, 32, 32, requires_grad=True)
for wave in ("haar", "db3", "bior2.4"):
    for mode in ("zero", "symmetric", "reflect", "periodization"):
        low, high = DWTForward(J=2, wave=wave, mode=mode)(image)
        back = DWTInverse(wave=wave, mode=mode)((low, high))
        energy = low.square().sum() + sum(h.abs().sum() for h in high)
        (grad,) = torch.autograd.grad(energy, image)
        print(
            wave,
            mode,
            tuple(low.shape),
            f"{energy.item():.3f}",
            f"{grad.norm().item():.4f}",
            torch.allclose(back, image, atol=1e-4),
        )
signal = torch.randn(2, 1, 41)
low, high = DWT1DForward(J=3, wave="db2", mode="symmetric")(signal)
print(
    "1d",
    [tuple(h.shape) for h in high],
    f"{DWT1DInverse(wave='db2', mode='symmetric')((low, high)).sum().item():.4f}",
)
for biort, qshift in (("near_sym_a", "qshift_a"), ("antonini", "qshift_c"), ("legall", "qshift_06")):
    forward, inverse = DTCWTForward(J=3, biort=biort, qshift=qshift), DTCWTInverse(biort=biort, qshift=qshift)
    low, high = forward(image)
    (grad,) = torch.autograd.grad(low.square().sum() + sum(h.square().sum() for h in high), image)
    back = inverse((low, high))
    print(
        biort,
        [tuple(h.shape) for h in high],
        f"{grad.norm().item():.4f}",
        torch.allclose(back, image, atol=1e-3),
    )
for scatter in (ScatLayer(), ScatLayer(combine_colour=True), ScatLayerj2()):
    out = scatter(image)
    (grad,) = torch.autograd.grad(out.sum(), image)
    print(type(scatter).__name__, tuple(out.shape), f"{out.sum().item():.2f}", f"{grad.norm().item():.4f}")


class Denoiser(torch.nn.Module):
    """Shrinks coefficients by thresholds that are learned."""

    def __init__(self):
        super().__init__()
        self.there, self.back = DWTForward(J=2, wave="db2"), DWTInverse(wave="db2")
        self.threshold = torch.nn.Parameter(torch.full((2,), 0.1))

    def forward(self, x):
        low, high = self.there(x)
        return self.back(
            (low, [torch.nn.functional.relu(h.abs() - t) * h.sign() for h, t in zip(high, self.threshold)])
        )


model = Denoiser()
clean = torch.sin(torch.linspace(0, 6, 32)).outer(torch.cos(torch.linspace(0, 4, 32))).expand(2, 3, 32, 32)
noisy = clean + 0.2 * torch.randn(2, 3, 32, 32)
optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
for step in range(5):
    loss = (model(noisy) - clean).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, f"{loss.item():.6f}", model.threshold.data)
with torch.no_grad():
    wanted = model(noisy)
    compiled = torch.compile(model, backend="eager")
    print([torch.allclose(compiled(noisy), wanted) for _ in range(3)])
    print(torch.allclose(torch.jit.trace(model, (noisy,))(noisy), wanted))
