"""vit-pytorch: a dozen vision transformers, a step each."""

import torch
from vit_pytorch import SimpleViT, ViT
from vit_pytorch.cait import CaiT
from vit_pytorch.cct import CCT
from vit_pytorch.crossformer import CrossFormer
from vit_pytorch.cvt import CvT
from vit_pytorch.deepvit import DeepViT
from vit_pytorch.distill import DistillableViT
from vit_pytorch.levit import LeViT
from vit_pytorch.max_vit import MaxViT
from vit_pytorch.mobile_vit import MobileViT
from vit_pytorch.pit import PiT
from vit_pytorch.t2t import T2TViT

torch.manual_seed(0)
x, y = torch.randn(2, 3, 64, 64), torch.tensor([1, 2])
base = {
    "image_size": 64,
    "patch_size": 16,
    "num_classes": 5,
    "dim": 32,
    "depth": 2,
    "heads": 2,
    "mlp_dim": 48,
}
models = [
    ViT(**base),
    SimpleViT(**base),
    DeepViT(**base),
    DistillableViT(**base),
    CaiT(**base, cls_depth=1),
    CCT(img_size=64, embedding_dim=32, n_conv_layers=1, num_layers=2, num_heads=2, num_classes=5),
    CvT(
        num_classes=5,
        s1_emb_dim=16,
        s2_emb_dim=16,
        s3_emb_dim=32,
        s3_depth=1,
        s2_depth=1,
        s2_heads=1,
        s3_heads=2,
    ),
    LeViT(image_size=64, num_classes=5, stages=2, dim=(16, 32), depth=1, heads=(2, 2), mlp_mult=2),
    MobileViT((64, 64), [16, 16, 16], [8, 8, 16, 16, 16, 16, 16, 16, 16, 16, 16], num_classes=5),
    PiT(image_size=64, patch_size=16, dim=32, num_classes=5, depth=(1, 1), heads=2, mlp_dim=32),
    T2TViT(dim=32, image_size=64, depth=1, heads=2, mlp_dim=32, num_classes=5, t2t_layers=((7, 4), (3, 2))),
    CrossFormer(
        num_classes=5,
        dim=(32, 32, 32, 32),
        depth=(1, 1, 1, 1),
        global_window_size=(2, 2, 1, 1),
        local_window_size=2,
    ),
    MaxViT(num_classes=5, dim_conv_stem=16, dim=16, dim_head=8, depth=(1, 1), window_size=4),
]
for model in models:
    model.eval()
    out = model(x)
    loss = torch.nn.functional.cross_entropy(out, y)
    loss.backward()
    grad = sum(float(p.grad.double().abs().sum()) for p in model.parameters() if p.grad is not None)
    print(type(model).__name__, f"{out.sum().item():.4f} {loss.item():.5f} {grad:.3f}")
v = ViT(**base)
