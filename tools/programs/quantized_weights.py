"""optimum-quanto, hqq: nets with quantized weights and activations, calibrated, trained and frozen."""

import warnings

import torch
from hqq.core.quantize import BaseQuantizeConfig, HQQLinear, Quantizer
from optimum.quanto import Calibration, freeze, qfloat8, qint8, quantization_map, quantize

warnings.simplefilter("ignore")


def net():
    """A net with layers of each sort that is quantized."""
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Conv2d(3, 16, 3, padding=1),
        torch.nn.ReLU(),
        torch.nn.AdaptiveAvgPool2d(2),
        torch.nn.Flatten(),
        torch.nn.LayerNorm(64),
        torch.nn.Linear(64, 128),
        torch.nn.GELU(),
        torch.nn.Linear(128, 4),
    )


torch.manual_seed(1)
images, labels = torch.randn(8, 3, 6, 6), torch.randint(0, 4, (8,))
plain = net()(images)
kinds = (qint8, None), (qfloat8, None), (qint8, qint8), (qint8, qfloat8), (qfloat8, qfloat8)
for weights, activations in kinds:
    model = net()
    quantize(model, weights=weights, activations=activations)
    if activations is not None:
        with Calibration(), torch.no_grad():
            model(images)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(2):
        loss = torch.nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    name = f"{weights.name} {activations.name if activations else None}"
    model.eval()
    before = model(images)
    freeze(model)
    after = model(images)
    print(
        name,
        f"{loss.item():.5f}",
        f"{(before - plain).norm().item():.4f}",
        f"{(after - before).norm().item():.4f}",
    )
    print(name, len(quantization_map(model)), type(model[5].weight).__name__, model[5].weight.dtype)
    state = model.state_dict()
    print(name, *(f"{key}:{value.dtype}" for key, value in sorted(state.items()) if "5" in key))
    again = net()
    quantize(again, weights=weights, activations=activations)
    again.load_state_dict(state)
    print(name, torch.allclose(again.eval()(images), after, atol=1e-5))

for bits in (8, 4, 3, 2, 1):
    for axis in (0, 1):
        torch.manual_seed(2)
        weight = torch.randn(64, 64)
        packed, meta = Quantizer.quantize(
            weight,
            nbits=bits,
            group_size=64,
            axis=axis,
            device="cpu",
            compute_dtype=torch.float32,
            optimize=bits > 1,
        )
        back = Quantizer.dequantize(packed, meta)
        print("hqq", bits, axis, packed.dtype, tuple(packed.shape), f"{(back - weight).norm().item():.4f}")
torch.manual_seed(3)
linear = torch.nn.Linear(64, 32)
given = torch.randn(5, 64, requires_grad=True)
wanted = linear(given)
config = BaseQuantizeConfig(nbits=4, group_size=64, axis=1)
layer = HQQLinear(linear, config, compute_dtype=torch.float32, device="cpu", del_orig=False)
out = layer(given)
out.square().sum().backward()
print("HQQLinear", f"{(out - wanted).norm().item():.4f}", f"{given.grad.norm().item():.4f}")
