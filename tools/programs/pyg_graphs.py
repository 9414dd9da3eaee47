"""torch-geometric: convolutions, pools and transforms of graphs; a classifier is trained."""

import torch
from torch_geometric.data import Batch, Data
from torch_geometric.loader import DataLoader
from torch_geometric.nn import (
    GATConv,
    GCNConv,
    GINConv,
    GraphConv,
    NNConv,
    SAGEConv,
    SAGPooling,
    TransformerConv,
    global_add_pool,
    global_max_pool,
    global_mean_pool,
)
from torch_geometric.utils import add_self_loops, degree, softmax, to_dense_adj, to_undirected

torch.manual_seed(0)


def graph(n):
    edges = to_undirected(torch.randint(0, n, (2, 3 * n)))
    return Data(
        x=torch.randn(n, 5),
        edge_index=edges,
        edge_attr=torch.rand(edges.shape[1], 2),
        y=torch.tensor([n % 3]),
    )


data = [graph(n) for n in range(5, 21)]
batch = Batch.from_data_list(data)
print(batch, batch.num_graphs, degree(batch.edge_index[0]).sum().item())
print(to_dense_adj(data[0].edge_index).sum().item(), add_self_loops(data[0].edge_index)[0].shape)
print(softmax(torch.arange(6.0), torch.tensor([0, 0, 1, 1, 1, 2])))
convs = [
    GCNConv(5, 8),
    GATConv(5, 4, heads=2),
    SAGEConv(5, 8),
    GraphConv(5, 8),
    TransformerConv(5, 4, heads=2),
    GINConv(torch.nn.Linear(5, 8)),
]
for conv in convs:
    out = conv(batch.x, batch.edge_index)
    print(type(conv).__name__, f"{out.sum().item():.4f} {out.std().item():.4f}")
out = NNConv(5, 8, torch.nn.Linear(2, 40))(batch.x, batch.edge_index, batch.edge_attr)
print("NNConv", f"{out.sum().item():.4f}")
pooled = SAGPooling(5, 0.5)(batch.x, batch.edge_index, batch=batch.batch)
print("SAGPooling", pooled[0].shape, f"{pooled[0].sum().item():.4f}")
for pool in (global_add_pool, global_mean_pool, global_max_pool):
    print(pool.__name__, f"{pool(batch.x, batch.batch).sum().item():.4f}")


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = GCNConv(5, 16), GATConv(16, 16), torch.nn.Linear(16, 3)

    def forward(self, g):
        x = self.a(g.x, g.edge_index).relu()
        return self.c(global_mean_pool(self.b(x, g.edge_index).relu(), g.batch))


net = Net()
opt = torch.optim.Adam(net.parameters(), 0.01)
for epoch in range(4):
    total = 0.0
    for g in DataLoader(data, batch_size=4, shuffle=True):
        opt.zero_grad()
        loss = torch.nn.functional.cross_entropy(net(g), g.y)
        loss.backward()
        opt.step()
        total += loss.item()
    print("epoch", epoch, f"{total:.5f}")
