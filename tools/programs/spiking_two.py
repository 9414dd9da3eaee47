"""spikingjelly, norse, sinabs: three libraries of spiking networks, trained for a few steps."""

import norse.torch as norse
import sinabs.layers as sl
import torch
from spikingjelly.activation_based import encoding, functional, layer, neuron, surrogate

torch.manual_seed(0)
images, labels = torch.rand(12, 1, 8, 8), torch.randint(0, 3, (12,))
kinds = {
    "IF": lambda: neuron.IFNode(surrogate_function=surrogate.ATan()),
    "LIF": lambda: neuron.LIFNode(tau=2.0, surrogate_function=surrogate.Sigmoid()),
    "PLIF": lambda: neuron.ParametricLIFNode(surrogate_function=surrogate.ATan(), detach_reset=True),
    "QIF": lambda: neuron.QIFNode(surrogate_function=surrogate.PiecewiseQuadratic()),
    "EIF": lambda: neuron.EIFNode(surrogate_function=surrogate.SoftSign()),
    "Izhikevich": lambda: neuron.IzhikevichNode(),
}
for name, make in kinds.items():
    torch.manual_seed(1)
    net = torch.nn.Sequential(
        layer.Conv2d(1, 4, 3, padding=1, bias=False),
        layer.BatchNorm2d(4),
        make(),
        layer.MaxPool2d(2, 2),
        layer.Flatten(),
        layer.Linear(64, 3),
        make(),
    )
    functional.set_step_mode(net, "m")
    optimizer = torch.optim.Adam(net.parameters(), lr=0.02)
    encoder = encoding.PoissonEncoder()
    for step in range(3):
        given = torch.stack([encoder(images) for _ in range(4)])
        rate = net(given).mean(0)
        loss = torch.nn.functional.mse_loss(rate, torch.nn.functional.one_hot(labels, 3).float())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        functional.reset_net(net)
        print(name, step, f"{loss.item():.5f}", int(rate.sum() * 4))

for name, cell in {
    "LIF": norse.LIFCell(),
    "LIFRefrac": norse.LIFRefracCell(),
    "IAF": norse.IAFCell(),
    "Izhikevich": norse.IzhikevichCell(norse.functional.izhikevich.tonic_spiking),
    "LI": norse.LICell(),
}.items():
    given, state, total = torch.rand(6, 5, requires_grad=True), None, 0.0
    for _ in range(12):
        out, state = cell(given * 3, state)
        total = total + out
    total.pow(2).sum().backward()
    print("norse", name, f"{total.sum().item():.4f}", f"{given.grad.abs().sum().item():.4f}")

torch.manual_seed(2)
net = norse.SequentialState(
    norse.ConstantCurrentLIFEncoder(10),
    norse.Lift(torch.nn.Conv2d(1, 2, 3)),
    norse.LIF(),
    torch.nn.Flatten(2),
    torch.nn.Linear(72, 3),
    norse.LI(),
)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(3):
    voltages, _ = net(images * 2)
    loss = torch.nn.functional.cross_entropy(voltages.max(0).values, labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print("norse", step, f"{loss.item():.5f}")

for name, make in {
    "IAF": lambda: sl.IAF(),
    "LIF": lambda: sl.LIF(tau_mem=10.0),
    "ALIF": lambda: sl.ALIF(tau_mem=10.0, tau_adapt=10.0),
    "ExpLeak": lambda: sl.ExpLeak(tau_mem=10.0),
    "LIFRecurrent": lambda: sl.LIFRecurrent(tau_mem=10.0, rec_connect=torch.nn.Linear(6, 6)),
}.items():
    torch.manual_seed(3)
    net = torch.nn.Sequential(torch.nn.Linear(5, 6), make())
    given = (torch.rand(4, 12, 5) * 4).requires_grad_()
    out = net(given)
    out.sum().backward()
    print("sinabs", name, f"{out.sum().item():.4f}", f"{given.grad.double().norm().item():.5f}")
