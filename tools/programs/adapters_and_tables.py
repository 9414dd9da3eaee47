"""loralib, LyCORIS, TabM and embeddings of numbers: adapters of layers, and networks for tables."""

import loralib
import tabm
import torch
from lycoris import LycorisNetwork, create_lycoris
from rtdl_num_embeddings import (
    LinearReLUEmbeddings,
    PeriodicEmbeddings,
    PiecewiseLinearEmbeddings,
    PiecewiseLinearEncoding,
    compute_bins,
)
from torch import nn

x = torch.randn(16, 12)
model = nn.Sequential(
    loralib.Linear(12, 20, r=4, lora_alpha=8),
    nn.ReLU(),
    loralib.MergedLinear(20, 9, r=2, enable_lora=[True, False, True]),
)
loralib.mark_only_lora_as_trainable(model)
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=0.05)
for _ in range(5):
    optimizer.zero_grad()
    loss = model(x).square().mean()
    loss.backward()
    optimizer.step()
    print(loss.item())
before = model.train()(x)
print((model.eval()(x) - before).abs().max().item() < 1e-5, sorted(loralib.lora_state_dict(model)))

for algorithm in ("lora", "loha", "lokr", "ia3", "full", "diag-oft", "boft"):
    torch.manual_seed(0)
    base = nn.Sequential(nn.Linear(12, 16), nn.ReLU(), nn.Linear(16, 8))
    LycorisNetwork.apply_preset({"target_module": ["Linear"], "target_name": [".*"]})
    net = create_lycoris(base, 1.0, linear_dim=4, linear_alpha=2.0, algo=algorithm, factor=4)
    net.apply_to()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    found = []
    for _ in range(3):
        optimizer.zero_grad()
        loss = base(x).square().mean()
        loss.backward()
        optimizer.step()
        found.append(round(loss.item(), 6))
    print(algorithm, found, sum(p.numel() for p in net.parameters()))

numbers = torch.randn(60, 4)
bins = compute_bins(numbers, n_bins=5)
labels = (numbers[:, 0] > 0).float()
trees = compute_bins(numbers, tree_kwargs={"min_samples_leaf": 8}, n_bins=4, y=labels, regression=False)
print([b.sum() for b in bins], [len(t) for t in trees])
print(PiecewiseLinearEncoding(bins)(numbers).sum(), LinearReLUEmbeddings(4, 6)(numbers).sum())
print(PeriodicEmbeddings(4, 6, lite=False)(numbers).sum())
for version in ("A", "B"):
    embedding = PiecewiseLinearEmbeddings(bins, 6, activation=False, version=version)
    print(version, embedding(numbers).square().sum())
for kind in ("tabm", "tabm-mini", "tabm-packed"):
    net = tabm.TabM.make(
        n_num_features=4, cat_cardinalities=[3], d_out=2, arch_type=kind, k=4, n_blocks=2, d_block=16
    )
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-2)
    category = torch.randint(0, 3, (60, 1))
    for _ in range(3):
        optimizer.zero_grad()
        found = net(numbers, category)
        loss = nn.functional.cross_entropy(found.flatten(0, 1), labels.long().repeat_interleave(4))
        loss.backward()
        optimizer.step()
    print(kind, tuple(found.shape), loss.item())
