"""segmentation-models-pytorch: each decoder with its losses and metrics."""

import segmentation_models_pytorch as smp
import torch

torch.manual_seed(0)
x, y = torch.rand(2, 3, 64, 64), (torch.rand(2, 1, 64, 64) > 0.5).long()
for kind in ("Unet", "UnetPlusPlus", "Linknet", "FPN", "PSPNet", "DeepLabV3Plus", "MAnet", "PAN"):
    model = getattr(smp, kind)("resnet18", encoder_weights=None, in_channels=3, classes=1)
    model.eval()
    out = model(x if kind != "PAN" else torch.rand(2, 3, 128, 128))
    loss = smp.losses.DiceLoss("binary")(out[..., :64, :64], y) + smp.losses.FocalLoss("binary")(
        out[..., :64, :64], y
    )
    loss.backward()
    grad = sum(float(p.grad.double().abs().sum()) for p in model.parameters() if p.grad is not None)
    print(kind, tuple(out.shape), f"{out.sum().item():.3f} {loss.item():.5f} {grad:.4f}")
tp, fp, fn, tn = smp.metrics.get_stats(out[..., :64, :64].sigmoid(), y, mode="binary", threshold=0.5)
print(f"{smp.metrics.iou_score(tp, fp, fn, tn, reduction='micro').item():.5f}")
print(
    f"{smp.losses.LovaszLoss('binary')(out[..., :64, :64], y).item():.5f} {smp.losses.TverskyLoss('binary')(out[..., :64, :64], y).item():.5f}"
)
