"""nystrom-attention, hyper-connections and x-unet: blocks that others build from, trained for a few steps."""

import torch
from hyper_connections import HyperConnections
from nystrom_attention import NystromAttention, Nystromformer
from x_unet import XUnet

torch.manual_seed(0)
x = torch.randn(2, 16, 32)
attention = NystromAttention(dim=32, dim_head=8, heads=4, num_landmarks=4, pinv_iterations=6, residual=True)
mask = torch.ones(2, 16, dtype=torch.bool)
mask[1, 10:] = False
out = attention(x, mask=mask)
out.pow(2).mean().backward()
print("attention", f"{out.mean().item():.5f}", f"{attention.to_qkv.weight.grad.abs().sum().item():.5f}")
former = Nystromformer(dim=32, dim_head=8, heads=4, depth=2, num_landmarks=4)
optimizer = torch.optim.AdamW(former.parameters(), lr=1e-3)
for step in range(3):
    loss = (former(x) - x.flip(1)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print("former", step, f"{loss.item():.5f}")

init, expand, reduce = HyperConnections.get_init_and_expand_reduce_stream_functions(3)
layers = torch.nn.ModuleList(
    init(dim=32, branch=torch.nn.Sequential(torch.nn.LayerNorm(32), torch.nn.Linear(32, 32), torch.nn.GELU()))
    for _ in range(3)
)
optimizer = torch.optim.Adam(layers.parameters(), lr=1e-3)
for step in range(3):
    streams = expand(x)
    for layer in layers:
        streams = layer(streams)
    loss = reduce(streams).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print("streams", step, tuple(streams.shape), f"{loss.item():.5f}")

unet = XUnet(
    dim=8,
    channels=3,
    dim_mults=(1, 2),
    num_blocks_per_stage=1,
    num_self_attn_per_stage=0,
    nested_unet_depths=1,
)
image = torch.randn(1, 3, 16, 16)
optimizer = torch.optim.Adam(unet.parameters(), lr=1e-3)
for step in range(2):
    loss = (unet(image) - image).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print("unet", step, f"{loss.item():.5f}")
