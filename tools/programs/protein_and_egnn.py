"""egnn, invariant-point-attention: molecules and proteins."""

import torch
from egnn_pytorch import EGNN, EGNN_Network
from invariant_point_attention import InvariantPointAttention, IPABlock

torch.manual_seed(0)


def show(name, *outs):
    print(name, [f"{o.double().abs().mean().item():.6f}" for o in outs])


f, c = torch.randn(1, 8, 16, requires_grad=True), torch.randn(1, 8, 3)
a, b = EGNN(dim=16, edge_dim=0)(f, c)
(a.sum() + b.pow(2).sum()).backward()
show("egnn", a, b, f.grad)
net = EGNN_Network(
    num_tokens=5, num_positions=16, dim=16, depth=2, num_nearest_neighbors=3, coor_weights_clamp_value=2.0
)
show("network", *net(torch.randint(0, 5, (1, 8)), c, mask=torch.ones(1, 8).bool()))
ipa = InvariantPointAttention(
    dim=16,
    heads=2,
    scalar_key_dim=4,
    scalar_value_dim=4,
    point_key_dim=2,
    point_value_dim=2,
    pairwise_repr_dim=8,
)
rot = torch.linalg.qr(torch.randn(1, 8, 3, 3))[0]
show(
    "ipa",
    ipa(f.detach(), torch.randn(1, 8, 8, 8), rotations=rot, translations=c, mask=torch.ones(1, 8).bool()),
)
show(
    "block",
    IPABlock(
        dim=16,
        heads=2,
        scalar_key_dim=4,
        scalar_value_dim=4,
        point_key_dim=2,
        point_value_dim=2,
        require_pairwise_repr=False,
    )(f.detach(), rotations=rot, translations=c, mask=torch.ones(1, 8).bool()),
)
