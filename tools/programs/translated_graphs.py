"""torchkge: eleven models of knowledge graphs, trained and ranked."""

import random

import pandas as pd
import torch
import torchkge.models as M
from torchkge.data_structures import KnowledgeGraph
from torchkge.evaluation import LinkPredictionEvaluator
from torchkge.sampling import BernoulliNegativeSampler
from torchkge.utils import DataLoader, MarginLoss

torch.manual_seed(0)
r = random.Random(0)
df = pd.DataFrame(
    [[f"e{r.randrange(20)}", f"e{r.randrange(20)}", f"r{r.randrange(4)}"] for _ in range(200)],
    columns=["from", "to", "rel"],
).drop_duplicates()
kg = KnowledgeGraph(df)
tr, te = kg.split_kg(share=0.8)
print(len(tr), len(te), kg.n_ent, kg.n_rel)
for mk in (
    lambda: M.TransEModel(8, kg.n_ent, kg.n_rel, "L2"),
    lambda: M.TransHModel(8, kg.n_ent, kg.n_rel),
    lambda: M.TransRModel(8, 6, kg.n_ent, kg.n_rel),
    lambda: M.TransDModel(8, 6, kg.n_ent, kg.n_rel),
    lambda: M.TorusEModel(8, kg.n_ent, kg.n_rel, "torus_L1"),
    lambda: M.RESCALModel(8, kg.n_ent, kg.n_rel),
    lambda: M.DistMultModel(8, kg.n_ent, kg.n_rel),
    lambda: M.HolEModel(8, kg.n_ent, kg.n_rel),
    lambda: M.ComplExModel(8, kg.n_ent, kg.n_rel),
    lambda: M.AnalogyModel(8, kg.n_ent, kg.n_rel),
    lambda: M.ConvKBModel(8, 3, kg.n_ent, kg.n_rel),
):
    torch.manual_seed(1)
    m = mk()
    crit = MarginLoss(0.5)
    o = torch.optim.Adam(m.parameters(), 1e-2)
    s = BernoulliNegativeSampler(tr)
    dl = DataLoader(tr, batch_size=32)
    for _ep in range(3):
        tot = 0
        for b in dl:
            h, t, rr = b
            nh, nt = s.corrupt_batch(h, t, rr)
            o.zero_grad()
            p, n = m(h, t, rr, nh, nt)
            loss = crit(p, n)
            loss.backward()
            o.step()
            tot += loss.item()
        if hasattr(m, "normalize_parameters"):
            m.normalize_parameters()
    print(type(m).__name__, round(tot, 5), end=" ")
    try:
        ev = LinkPredictionEvaluator(m, te)
        ev.evaluate(b_size=16, verbose=False)
        print(ev.mean_rank(), ev.mrr(), ev.hit_at_k(3))
    except Exception as ex:
        print(type(ex).__name__, str(ex)[:100])
