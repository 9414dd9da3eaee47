"""hopfield-layers: association, pooling, look-up and an encoder layer."""

import torch
from hflayers import Hopfield, HopfieldLayer, HopfieldPooling
from hflayers.transformer import HopfieldEncoderLayer

x = torch.randn(3, 5, 8)
for name, layer in (
    ("association", Hopfield(input_size=8, hidden_size=4, num_heads=2, update_steps_max=3)),
    (
        "static",
        Hopfield(
            input_size=8, scaling=2.0, normalize_stored_pattern=False, normalize_stored_pattern_affine=False
        ),
    ),
    ("pooling", HopfieldPooling(input_size=8, quantity=2)),
    ("lookup", HopfieldLayer(input_size=8, quantity=6, lookup_weights_as_separated=True)),
    ("encoder", HopfieldEncoderLayer(Hopfield(input_size=8, num_heads=2))),
):
    out = layer(x)
    out.sum().backward()
    print(
        name,
        tuple(out.shape),
        f"{out.sum().item():.5f} {sum(float(p.grad.abs().sum()) for p in layer.parameters() if p.grad is not None):.4f}",
    )
