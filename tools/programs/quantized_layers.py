"""brevitas: layers whose weights and activations are rounded while they learn."""

import torch
from brevitas import nn as qnn
from brevitas.core.function_wrapper import RoundSte, TensorClamp
from brevitas.core.quant import BinaryQuant, IntQuant, TernaryQuant
from brevitas.core.scaling import ConstScaling
from brevitas.quant import Int8ActPerTensorFloat, Int8WeightPerTensorFloat

net = torch.nn.Sequential(
    qnn.QuantIdentity(act_quant=Int8ActPerTensorFloat, return_quant_tensor=False),
    qnn.QuantConv2d(3, 8, 3, weight_quant=Int8WeightPerTensorFloat, weight_bit_width=4),
    qnn.QuantReLU(bit_width=4),
    torch.nn.Flatten(),
    qnn.QuantLinear(8 * 6 * 6, 5, bias=True, weight_bit_width=3),
)
x, labels = torch.randn(16, 3, 8, 8), torch.randint(5, (16,))
optimizer = torch.optim.SGD(net.parameters(), 0.05)
for _ in range(5):
    loss = torch.nn.functional.cross_entropy(net(x), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"{loss.item():.5f}")
net.eval()
print(net(x).sum(0), net[1].quant_weight().scale, net[4].quant_weight().int().float().mean())
values = torch.linspace(-2, 2, 9, requires_grad=True)
for quantizer in (BinaryQuant(ConstScaling(0.5)), TernaryQuant(ConstScaling(1.0), 0.5)):
    found = quantizer(values)[0]
    print(found, torch.autograd.grad(found.sum(), values)[0])
print(RoundSte()(values), TensorClamp()(values, torch.tensor(-1.0), torch.tensor(1.0)), IntQuant)
