"""piq, pytorch-msssim, lpips: measures of images and their gradients."""

import lpips
import numpy as np
import piq
import pytorch_msssim
import torch

torch.manual_seed(0)
np.random.seed(0)

x = torch.rand(2, 3, 64, 64, requires_grad=True)
y = torch.rand(2, 3, 64, 64)
for f in (
    piq.ssim,
    piq.psnr,
    piq.fsim,
    piq.vif_p,
    piq.gmsd,
    piq.haarpsi,
    piq.mdsi,
    piq.vsi,
    piq.srsim,
    piq.total_variation,
):
    v = f(x, y) if f is not piq.total_variation else f(x)
    x.grad = None
    v.backward()
    print(f.__name__, f"{v.item():.5f} {x.grad.abs().sum().item():.4f}")
for c in (
    piq.SSIMLoss(),
    piq.GMSDLoss(),
    piq.MultiScaleGMSDLoss(),
    piq.HaarPSILoss(),
    piq.VIFLoss(),
    piq.TVLoss(),
    piq.DSSLoss(),
):
    v = c(x, y) if not isinstance(c, piq.TVLoss) else c(x)
    x.grad = None
    v.backward()
    print(type(c).__name__, f"{v.item():.5f} {x.grad.abs().sum().item():.4f}")
print(f"{pytorch_msssim.ssim(x, y, data_range=1.0).item():.6f}")
x2 = torch.rand(1, 3, 200, 200)
y2 = (x2 + 0.1 * torch.rand_like(x2)).clamp(0, 1)
print(
    f"{pytorch_msssim.ms_ssim(x2, y2, data_range=1.0).item():.6f} {piq.multi_scale_ssim(x2, y2).item():.6f}"
)
torch.manual_seed(0)
loss = lpips.LPIPS(net="squeeze", pretrained=False, pnet_rand=True, verbose=False).eval()
print(f"{loss(x2 * 2 - 1, y2 * 2 - 1).sum().item():.5f}")
print(piq.FID().compute_metric(torch.rand(20, 8), torch.rand(20, 8)).item() > 0)
