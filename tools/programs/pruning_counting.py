"""torch-pruning, torchprofile, fvcore, thop, torchsummary: networks counted and cut."""

import torch
import torch_pruning as tp
from fvcore.nn import FlopCountAnalysis, flop_count_table, parameter_count
from thop import profile
from torch import nn
from torchprofile import profile_macs
from torchsummary import summary
from torchvision.models import mobilenet_v2, resnet18

torch.manual_seed(0)
x = torch.randn(1, 3, 32, 32)
for make in (resnet18, mobilenet_v2):
    net = make(num_classes=10).eval()
    print(make.__name__, profile(net, (x,), verbose=False), profile_macs(net, x))
    flops = FlopCountAnalysis(net, x)
    flops.unsupported_ops_warnings(False)
    flops.uncalled_modules_warnings(False)
    print(
        flops.total(), sum(flops.by_operator().values()), dict(flops.by_operator()), parameter_count(net)[""]
    )
print(
    flop_count_table(
        FlopCountAnalysis(nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 2)), torch.randn(2, 4))
    )
)
net = resnet18(num_classes=10).eval()
summary(net, (3, 32, 32), device="cpu")
print(tp.utils.count_ops_and_params(net, x))
pruner = tp.pruner.MagnitudePruner(
    net,
    x,
    importance=tp.importance.GroupMagnitudeImportance(),
    pruning_ratio=0.5,
    ignored_layers=[net.fc],
    iterative_steps=2,
)
for _ in range(2):
    pruner.step()
    print(tp.utils.count_ops_and_params(net, x), f"{net(x).sum().item():.4f}")
graph = tp.DependencyGraph().build_dependency(mobilenet_v2().eval(), x)
print(len(list(graph.get_all_groups())))
net.train().double()
net(torch.randn(8, 3, 64, 64, dtype=torch.float64)).square().sum().backward()
print(f"{net.conv1.weight.grad.abs().sum().item():.3f}")
