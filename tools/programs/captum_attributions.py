"""captum: attributions of a small network by a dozen methods."""

import torch
from captum.attr import (
    DeepLift,
    FeatureAblation,
    GradientShap,
    GuidedBackprop,
    InputXGradient,
    IntegratedGradients,
    KernelShap,
    LayerConductance,
    LayerGradCam,
    NeuronConductance,
    NoiseTunnel,
    Occlusion,
    Saliency,
    ShapleyValueSampling,
)
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(
    nn.Conv2d(1, 4, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(36, 8), nn.ReLU(), nn.Linear(8, 3)
).eval()
x = torch.randn(2, 1, 8, 8)
for method in (IntegratedGradients, Saliency, InputXGradient, GuidedBackprop, DeepLift):
    a = method(net).attribute(x, target=1)
    print(method.__name__, tuple(a.shape), f"{a.abs().sum().item():.5f}")
a, delta = IntegratedGradients(net).attribute(x, target=0, return_convergence_delta=True)
print("delta", [f"{d:.4f}" for d in delta.tolist()])
print("shap", f"{GradientShap(net).attribute(x, torch.zeros(3, 1, 8, 8), target=1).abs().sum().item():.5f}")
print("occlusion", f"{Occlusion(net).attribute(x, (1, 3, 3), strides=(1, 2, 2), target=1).sum().item():.5f}")
print("ablation", f"{FeatureAblation(net).attribute(x, target=1).sum().item():.5f}")
print("tunnel", f"{NoiseTunnel(Saliency(net)).attribute(x, nt_samples=4, target=1).sum().item():.5f}")
print("conductance", f"{LayerConductance(net, net[0]).attribute(x, target=1).sum().item():.5f}")
print("gradcam", f"{LayerGradCam(net, net[0]).attribute(x, target=1).sum().item():.5f}")
print("neuron", f"{NeuronConductance(net, net[4]).attribute(x, 2, target=1).sum().item():.5f}")
mlp = nn.Sequential(nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 2))
y = torch.randn(1, 6)
print("kernel", f"{KernelShap(mlp).attribute(y, target=1, n_samples=50).abs().sum().item():.4f}")
print("shapley", f"{ShapleyValueSampling(mlp).attribute(y, target=1, n_samples=5).sum().item():.5f}")
