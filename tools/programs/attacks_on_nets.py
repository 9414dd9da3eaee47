"""torchattacks, foolbox: a small net attacked."""

import eagerpy as ep
import foolbox as fb
import torch
import torchattacks

torch.manual_seed(0)
net = torch.nn.Sequential(
    torch.nn.Conv2d(3, 8, 3, 2), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(8 * 49, 5)
).eval()
x, y = torch.rand(4, 3, 16, 16), torch.tensor([0, 1, 2, 3])
for attack in (
    torchattacks.FGSM(net, 8 / 255),
    torchattacks.PGD(net, 8 / 255, 2 / 255, 4),
    torchattacks.MIFGSM(net, steps=3),
    torchattacks.DeepFool(net, steps=4),
    torchattacks.BIM(net, steps=3),
    torchattacks.RFGSM(net, steps=3),
    torchattacks.TIFGSM(net, steps=2),
    torchattacks.Jitter(net, steps=3),
    torchattacks.Square(net, n_queries=20),
    torchattacks.FAB(net, steps=2, n_classes=5),
    torchattacks.SparseFool(net, steps=2),
    torchattacks.OnePixel(net, steps=2, popsize=4),
):
    try:
        found = attack(x, y)
    except Exception as error:
        print(type(attack).__name__, type(error).__name__)
        continue
    print(type(attack).__name__, f"{(found - x).abs().sum().item():.4f}", net(found).argmax(1).tolist())
model = fb.PyTorchModel(net, bounds=(0, 1), device="cpu")
images, labels = ep.astensors(x, y)
for attack in (
    fb.attacks.LinfPGD(steps=4),
    fb.attacks.L2FastGradientAttack(),
    fb.attacks.LinfDeepFoolAttack(steps=4),
    fb.attacks.L2DeepFoolAttack(steps=4),
    fb.attacks.EADAttack(binary_search_steps=1, steps=4),
    fb.attacks.DDNAttack(steps=4),
    fb.attacks.SaltAndPepperNoiseAttack(steps=5),
):
    raw, clipped, success = attack(model, images, labels, epsilons=[0.03, 0.3])
    print(
        type(attack).__name__,
        [f"{(c - images).abs().sum().item():.4f}" for c in clipped],
        success.raw.sum(-1).tolist(),
    )
