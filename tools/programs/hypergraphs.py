"""DeepHypergraph: twelve networks on graphs and hypergraphs."""

import dhg
import torch
from dhg.models import GAT, GCN, GIN, HGNN, HGNNP, HNHN, GraphSAGE, HyperGCN, UniGAT, UniGCN, UniGIN, UniSAGE

torch.manual_seed(0)
hg = dhg.Hypergraph(12, [(0, 1, 2), (2, 3, 4, 5), (5, 6), (6, 7, 8, 9), (9, 10, 11), (0, 5, 11)])
print(hg, hg.L_HGNN.to_dense().sum(), hg.deg_v[:5], hg.deg_e)
X = torch.randn(12, 6)
y = torch.randint(0, 3, (12,))
g = (
    dhg.Graph.from_hypergraph_clique(hg)
    if hasattr(dhg.Graph, "from_hypergraph_clique")
    else dhg.random.graph_Gnm(12, 20)
)
print(g, g.L_GCN.to_dense().sum())
print(
    hg.smoothing_with_HGNN(X).sum(),
    hg.v2v(X, aggr="mean").sum(),
    hg.v2e(X, aggr="softmax_then_sum").sum(),
    hg.e2v(torch.randn(6, 6), aggr="sum").sum(),
)
for C, args, gr in (
    (HGNN, (6, 8, 3), hg),
    (HGNNP, (6, 8, 3), hg),
    (HNHN, (6, 8, 3), hg),
    (UniGCN, (6, 8, 3), hg),
    (UniGAT, (6, 8, 3, 2), hg),
    (UniSAGE, (6, 8, 3), hg),
    (UniGIN, (6, 8, 3), hg),
    (HyperGCN, (6, 8, 3), hg),
    (GCN, (6, 8, 3), g),
    (GAT, (6, 8, 3, 2), g),
    (GraphSAGE, (6, 8, 3), g),
    (GIN, (6, 8, 3), g),
):
    torch.manual_seed(1)
    try:
        m = C(*args)
        o = torch.optim.Adam(m.parameters(), 1e-2)
        for _i in range(4):
            o.zero_grad()
            loss = torch.nn.functional.cross_entropy(m(X, gr), y)
            loss.backward()
            o.step()
        m.eval()
        print(C.__name__, float(loss), m(X, gr).abs().sum())
    except Exception as e:
        print(C.__name__, type(e).__name__, str(e)[:100])
hg.save("h.dhg") if hasattr(hg, "save") else None
h2 = dhg.Hypergraph.load("h.dhg")
print(h2)
