"""torchmil: networks over bags of instances, with masks and graphs between instances; four steps of each."""

import torch
from torchmil.models import (
    ABMIL,
    CLAM_SB,
    DSMIL,
    DTFDMIL,
    GTP,
    DeepGraphSurv,
    PatchGCN,
    ProbSmoothABMIL,
    SmABMIL,
    TransformerABMIL,
    TransMIL,
)


def given(*sizes):
    return torch.randn(*sizes, generator=torch.Generator().manual_seed(sum(sizes)))


def trained(name, module, loss):
    optimizer = torch.optim.SGD([p for p in module.parameters() if p.requires_grad], lr=1e-3, momentum=0.9)
    losses = []
    for step in range(4):
        torch.manual_seed(step)
        optimizer.zero_grad()
        found = loss(module)
        found.backward()
        optimizer.step()
        losses.append(float(found.detach()))
    gradients = sum(float(p.grad.abs().sum()) for p in module.parameters() if p.grad is not None)
    print(name, *(f"{x:.5e}" for x in losses), f"{gradients:.5e}")


bags, labels = given(2, 12, 20), torch.tensor([1.0, 0.0])
near = torch.rand(2, 12, 12, generator=torch.Generator().manual_seed(3)) > 0.6
adjacency = (near | near.transpose(1, 2)).float()
mask = (torch.arange(12) < torch.tensor([[12], [9]])).float()


def loss(module, *more, **options):
    found = module(bags, *more, **options)
    found = found[0] if isinstance(found, tuple) else found
    return torch.nn.functional.binary_cross_entropy_with_logits(found, labels)


for kind, options in (
    (ABMIL, {"gated": True}),
    (CLAM_SB, {"k_sample": 3}),
    (DSMIL, {}),
    (DTFDMIL, {"n_groups": 3}),
    (TransformerABMIL, {"transf_att_dim": 16, "transf_n_heads": 2}),
):
    trained(kind.__name__, kind(in_shape=(20,), **options), lambda m: loss(m, mask=mask))
for kind, options in (
    (DeepGraphSurv, {}),
    (GTP, {"att_dim": 16, "n_clusters": 4, "n_heads": 2}),
    (PatchGCN, {}),
    (SmABMIL, {}),
    (ProbSmoothABMIL, {"n_samples_train": 20}),
):
    trained(kind.__name__, kind(in_shape=(20,), **options), lambda m: loss(m, adjacency, mask=mask))
trained("TransMIL", TransMIL(in_shape=(20,), att_dim=16, n_heads=2), loss)
