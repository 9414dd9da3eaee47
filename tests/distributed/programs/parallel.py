"""Models whose work two ranks share by a plan, and DTensors' ops with their gradients; PyTorch prints the same."""

import rushlight as torch
import rushlight.distributed as dist
import rushlight.nn as nn
import rushlight.nn.functional as F
from rushlight.distributed.tensor import (
    DTensor,
    Partial,
    Replicate,
    Shard,
    distribute_tensor,
    init_device_mesh,
)
from rushlight.distributed.tensor.experimental import implicit_replication
from rushlight.distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleInput,
    PrepareModuleInputOutput,
    PrepareModuleOutput,
    RowwiseParallel,
    SequenceParallel,
    loss_parallel,
    parallelize_module,
)

dist.init_process_group("gloo")
rank = dist.get_rank()
mesh = init_device_mesh("cpu", (2,))


def told(name, *values):
    shown = [
        [round(v, 4) for v in value.detach().flatten().tolist()[:6]]
        if isinstance(value, torch.Tensor)
        else value
        for value in values
    ]
    print(name, *shown)


class Block(nn.Module):
    def __init__(self, dim=8, heads=2):
        super().__init__()
        self.heads, self.norm = heads, nn.LayerNorm(dim)
        self.wq, self.wk, self.wv, self.wo = (nn.Linear(dim, dim, bias=False) for _ in range(4))
        self.w1, self.w2, self.norm2 = nn.Linear(dim, 16), nn.Linear(16, dim), nn.LayerNorm(dim)

    def forward(self, x):
        h = self.norm(x)
        q, k, v = (w(h) for w in (self.wq, self.wk, self.wv))
        q, k, v = (t.view(t.shape[0], t.shape[1], -1, 4).transpose(1, 2) for t in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.wo(y.transpose(1, 2).reshape(*x.shape[:2], -1))
        return x + self.w2(F.gelu(self.w1(self.norm2(x))))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb, self.layers, self.head = (
            nn.Embedding(12, 8),
            nn.ModuleList([Block(), Block()]),
            nn.Linear(8, 12, bias=False),
        )

    def forward(self, ids):
        x = self.emb(ids)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


torch.manual_seed(0)
ids, goal = torch.randint(12, (3, 6)), torch.randint(12, (3, 6))


def train(model, parallel):
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    losses = []
    for _ in range(3):
        out = model(ids)
        if parallel == "loss":
            with loss_parallel():
                loss = F.cross_entropy(out.flatten(0, 1), goal.flatten())
                loss.backward()
        else:
            loss = F.cross_entropy(out.flatten(0, 1), goal.flatten())
            loss.backward()
        losses.append(round(float(loss.full_tensor() if isinstance(loss, DTensor) else loss), 4))
        optimizer.step()
        optimizer.zero_grad()
    return losses


torch.manual_seed(1)
print("one", train(Model(), ""))
torch.manual_seed(1)
plan = {
    "emb": RowwiseParallel(input_layouts=Replicate()),
    "layers.*.w[qkv]": ColwiseParallel(),
    "layers.*.wo": RowwiseParallel(),
    "layers.*.w1": ColwiseParallel(),
    "layers.*.w2": RowwiseParallel(),
    "head": ColwiseParallel(output_layouts=Replicate()),
}
model = parallelize_module(Model(), mesh, plan)
print("plan", train(model, "plan"), model.emb.weight.placements, model.layers[0].w2.weight.to_local().shape)
torch.manual_seed(1)
sequence = {
    "emb": RowwiseParallel(input_layouts=Replicate(), output_layouts=Shard(1), use_local_output=False),
    "layers.*.norm": SequenceParallel(),
    "layers.*.norm2": SequenceParallel(),
    "layers.*.w1": ColwiseParallel(input_layouts=Shard(1)),
    "layers.*.w2": RowwiseParallel(output_layouts=Shard(1), use_local_output=False),
    "layers.*.w[qkv]": ColwiseParallel(input_layouts=Shard(1)),
    "layers.*.wo": RowwiseParallel(output_layouts=Shard(1), use_local_output=False),
    "head": ColwiseParallel(input_layouts=Shard(1), use_local_output=False),
}
print("sequence", train(parallelize_module(Model(), mesh, sequence), "loss"))

torch.manual_seed(2)
whole, weight = torch.randn(4, 6), torch.randn(6, 2)
for mine in (Shard(0), Shard(1), Replicate()):
    for other in (Shard(0), Shard(1), Replicate()):
        a = distribute_tensor(whole, mesh, [mine]).requires_grad_()
        b = distribute_tensor(weight, mesh, [other]).requires_grad_()
        out = (a @ b).relu().mean()
        out.backward()
        total = out.full_tensor()
        told(f"matmul {mine} {other}", total, a.grad.full_tensor(), b.grad.full_tensor())
x = distribute_tensor(whole, mesh, [Shard(1)]).requires_grad_()
told("sum", x.sum(0).full_tensor(), x.sum().full_tensor(), x.sum(1).placements, x.sum(0).placements)
told("mean", x.mean().placements, x.mean(1, keepdim=True).full_tensor(), x.softmax(-1).placements)
told("views", x.t().placements, x.unsqueeze(0).placements, x.view(2, 2, 6).placements, x[1:3].placements)
told("joined", torch.cat([x, x]).placements, torch.stack([x, x]).placements, (x * 2 + x).placements)
x.softmax(-1).pow(2).sum().full_tensor().backward()
told("softmax", x.grad.full_tensor())
local = torch.ones(2, 2, requires_grad=True)
made = DTensor.from_local(local * (rank + 1), mesh, [Partial()])
made.redistribute(mesh, [Shard(0)]).to_local().sum().backward()
told("terms", local.grad, made.full_tensor(), repr(made.placements))
local = torch.ones(2, 2, requires_grad=True)
part = DTensor.from_local(local, mesh, [Replicate()]).to_local(grad_placements=[Partial()])
(part * (rank + 1)).sum().backward()
told("of each", local.grad)
with implicit_replication():
    told("mixed", (x + torch.ones(4, 6)).placements, (x * torch.arange(6.0)).full_tensor())
y = distribute_tensor(torch.zeros(4, 6), mesh, [Shard(1)])
y.add_(distribute_tensor(whole, mesh, [Shard(0)])).mul_(2)
told("in place", y.full_tensor(), y.placements)
grid = init_device_mesh("cpu", (1, 2), mesh_dim_names=("dp", "tp"))
z = distribute_tensor(whole, grid, [Shard(0), Shard(0)]).requires_grad_()
(z.redistribute(placements=[Replicate(), Shard(1)]) * 3).sum().full_tensor().backward()
told("grid", z.grad.full_tensor(), z.grad.placements, z.to_local().shape)
inner = parallelize_module(
    nn.Sequential(nn.Linear(4, 4)),
    mesh,
    {
        "": PrepareModuleInput(
            input_layouts=Shard(0), desired_input_layouts=Replicate(), use_local_output=True
        ),
        "0": PrepareModuleOutput(output_layouts=Replicate(), desired_output_layouts=Shard(0)),
    },
)
print("prepared", tuple(inner(torch.ones(2, 4)).shape))
print(ColwiseParallel(), RowwiseParallel(), SequenceParallel())
print(
    PrepareModuleInputOutput(
        input_layouts=Shard(0),
        desired_input_layouts=Replicate(),
        output_layouts=Shard(0),
        desired_output_layouts=Replicate(),
    )
)
try:
    parallelize_module(nn.Conv2d(1, 1, 1), mesh, ColwiseParallel())
except NotImplementedError as error:
    print(error)
dist.destroy_process_group()
