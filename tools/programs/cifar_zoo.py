"""pytorch-cifar: a step of each family of networks."""

import torch
from models import (
    DLA,
    DPN26,
    VGG,
    DenseNet121,
    EfficientNetB0,
    GoogLeNet,
    LeNet,
    MobileNet,
    MobileNetV2,
    PreActResNet18,
    RegNetX_200MF,
    ResNet18,
    ResNeXt29_2x64d,
    SENet18,
    ShuffleNetG2,
    ShuffleNetV2,
    SimpleDLA,
)

x, y = torch.randn(2, 3, 32, 32), torch.tensor([1, 2])
for make in (
    LeNet,
    lambda: VGG("VGG11"),
    MobileNet,
    MobileNetV2,
    ShuffleNetG2,
    lambda: ShuffleNetV2(0.5),
    EfficientNetB0,
    RegNetX_200MF,
    SimpleDLA,
    PreActResNet18,
    SENet18,
    ResNet18,
    GoogLeNet,
    DPN26,
    ResNeXt29_2x64d,
    DLA,
    DenseNet121,
):
    torch.manual_seed(0)
    try:
        net = make()
    except TypeError as error:
        print(type(error).__name__)
        continue
    loss = torch.nn.functional.cross_entropy(net(x), y)
    loss.backward()
    grads = sum(float(p.grad.double().abs().sum()) for p in net.parameters() if p.grad is not None)
    print(type(net).__name__, f"{loss.item():.5f} {grads:.2f}")
