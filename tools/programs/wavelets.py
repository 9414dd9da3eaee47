"""ptwt: wavelet transforms of one, two and three dims, packets, and their matrices."""

import numpy as np
import ptwt
import pywt
import torch

d = torch.from_numpy(np.random.RandomState(0).randn(3, 64)).requires_grad_()
for w in ("haar", "db4", "sym5"):
    c = ptwt.wavedec(d, pywt.Wavelet(w), mode="zero", level=2)
    print([x.sum().item() for x in c])
    r = ptwt.waverec(c, pywt.Wavelet(w))
    print((r[..., :64] - d).abs().max().item() < 1e-10)
x2 = torch.from_numpy(np.random.RandomState(1).randn(2, 32, 32)).float().requires_grad_()
c = ptwt.wavedec2(x2, "db2", level=2, mode="reflect")
r = ptwt.waverec2(c, "db2")
print((r - x2).abs().max().item() < 1e-4)
r.square().sum().backward()
print(x2.grad.norm())
x3 = torch.from_numpy(np.random.RandomState(2).randn(1, 16, 16, 16))
c = ptwt.wavedec3(x3, "haar", level=1)
print({k: v.sum().item() for k, v in c[1].items()})
print(ptwt.waverec3(c, "haar").sum())
wp = ptwt.WaveletPacket(d.detach(), pywt.Wavelet("haar"), mode="reflect", maxlevel=3)
print([wp[n].norm().item() for n in wp.get_level(3)])
wp2 = ptwt.WaveletPacket2D(x2.detach(), "haar", maxlevel=2)
print(wp2["aa"].norm(), wp2["vd"].norm())
m = ptwt.MatrixWavedec("haar", 2)
cc = m(d.detach())
print([x.sum().item() for x in cc])
print(ptwt.MatrixWaverec("haar")(cc).sum())
m2 = ptwt.MatrixWavedec2("db2", 2)
cc = m2(x2.detach())
print(cc[0].sum())
print(ptwt.MatrixWaverec2("db2")(cc).sum())
c, fr = ptwt.cwt(d.detach(), torch.arange(1, 8), "cmor1.5-1.0")
print(c.shape, c.abs().sum())
c = ptwt.swt(d.detach(), "db2", level=2)
print([x.sum().item() for x in c])
print(ptwt.iswt(c, "db2").sum())
