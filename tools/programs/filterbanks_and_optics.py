"""asteroid-filterbanks and torchoptics."""

import warnings

import torch
import torchoptics as to
from asteroid_filterbanks import make_enc_dec, transforms
from torchoptics import Field, System
from torchoptics.elements import Lens
from torchoptics.profiles import circle

warnings.filterwarnings("ignore")
torch.manual_seed(0)

x = torch.randn(2, 1, 400)
for n in ("stft", "free", "analytic_free", "param_sinc"):
    torch.manual_seed(2)
    e, d = make_enc_dec(n, n_filters=32, kernel_size=16, stride=8)
    s = e(x)
    y = d(s)
    print(n, s.shape, s.sum(), y.sum())
    y.sum().backward() if any(p.requires_grad for p in e.parameters()) else None
e, d = make_enc_dec("stft", n_filters=32, kernel_size=16, stride=8)
s = e(x)
print(
    transforms.mag(s).sum(),
    transforms.angle(s).sum(),
    transforms.from_torch_complex(transforms.to_torch_complex(s)).sub(s).abs().max(),
    transforms.apply_mag_mask(s, torch.ones(2, 17, s.shape[-1])).sum(),
)
sc = torch.jit.trace(e, x)
print(sc(x).sum())

to.set_default_spacing(10e-6)
to.set_default_wavelength(700e-9)
f = Field(circle(100, radius=2e-4))
print(f.intensity().sum(), f.power())
for m in ("ASM", "DIM", "AUTO"):
    g = f.propagate_to_z(0.05, propagation_method=m)
    print(g.intensity().sum(), g.data.abs().max())
s = System(Lens(100, 0.1, z=0.05))
o = s.measure_at_z(f, 0.1)
print(o.intensity().sum())
