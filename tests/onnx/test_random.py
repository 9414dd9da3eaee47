"""Random numbers through ONNX: their sizes, dtypes, means and deviations, at another size too."""

import pytest

import rushlight as torch
from rushlight import nn
from rushlight.export import Dim

pytest.importorskip("onnx")

# what draws; the mean and the deviation of what it draws
DRAWS = {
    "randn": (lambda x: x + torch.randn(x.shape), 0, 1),
    "randn_like": (lambda x: torch.randn_like(x), 0, 1),
    "of another dtype": (lambda x: torch.randn_like(x, dtype=torch.float64), 0, 1),
    "rand": (lambda x: x + torch.rand(x.shape[0], 40000), 0.5, 0.2887),
    "rand_like": (lambda x: torch.rand_like(x), 0.5, 0.2887),
    "normal of tensors": (lambda x: torch.normal(x + 3, torch.ones_like(x) * 2), 3, 2),
    "normal of a number": (lambda x: torch.normal(3.0, torch.ones_like(x) * 2), 3, 2),
    "normal of sizes": (lambda x: x + torch.normal(3.0, 2.0, size=(1, 40000)), 3, 2),
    "randint": (lambda x: x + torch.randint(3, 9, (1, 40000)), 5.5, 1.7078),
    "randint below": (lambda x: x + torch.randint(6, (1, 40000)), 2.5, 1.7078),
    "randint_like": (lambda x: torch.randint_like(x, 3, 9), 5.5, 1.7078),
    "bernoulli": (lambda x: torch.bernoulli(x + 0.3), 0.3, 0.4583),
    "bernoulli of a number": (lambda x: torch.bernoulli(x, 0.3), 0.3, 0.4583),
}


@pytest.mark.parametrize("name", DRAWS)
def test_draws(name):
    draw, mean, deviation = DRAWS[name]
    model = type("Draws", (nn.Module,), {"forward": lambda self, x: draw(x)})().eval()
    x = torch.zeros(5, 40000)
    (found,) = torch.onnx.export(model, (x,), dynamic_shapes=({0: Dim("n")},), verbose=False)(x[:3])
    wanted = draw(x[:3])
    assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
    assert abs(found.double().mean().item() - mean) < 0.1
    assert abs(found.double().std().item() - deviation) < 0.1
