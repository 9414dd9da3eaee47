"""torch_struct's distributions over structures: chains, trees, alignments, segments; marginals, samples, entropies."""

import torch
import torch_struct as ts


def show(name, x):
    x = x.detach().double()
    print(name, tuple(x.shape), f"{x.sum():.5e} {x.abs().sum():.5e}")


lengths = torch.tensor([5, 7, 6])
cases = {
    "chain": (ts.LinearChainCRF, torch.randn(3, 6, 4, 4)),
    "hmm": (ts.SemiMarkovCRF, torch.randn(3, 6, 3, 4, 4)),
    "projective": (ts.DependencyCRF, torch.randn(3, 7, 7)),
    "nonprojective": (ts.NonProjectiveDependencyCRF, torch.randn(3, 7, 7)),
    "tree": (ts.TreeCRF, torch.randn(3, 7, 7, 3)),
}
for name, (kind, scores) in cases.items():
    scores.requires_grad_()
    d = kind(scores, lengths=lengths)
    show(f"{name} partition", d.partition)
    show(f"{name} marginals", d.marginals)
    if name == "nonprojective":
        continue
    show(f"{name} best", d.argmax)
    show(f"{name} gradient", torch.autograd.grad(d.partition.sum(), scores, create_graph=True)[0])
    show(f"{name} entropy", d.entropy)
    show(f"{name} max", d.max)
    show(f"{name} top", d.topk(3))
    if name != "projective":
        show(f"{name} count", d.count)
        show(f"{name} sample", d.sample((2,)))
        show(f"{name} probability", d.log_prob(d.argmax))
terms, rules, roots = torch.randn(2, 6, 4), torch.randn(2, 3, 7, 7), torch.randn(2, 3)
d = ts.SentCFG((terms, rules, roots))
show("cfg", d.partition)
for m in d.marginals:
    show("cfg marginal", m)
for semiring in (ts.LogSemiring, ts.MaxSemiring, ts.StdSemiring, ts.EntropySemiring, ts.SparseMaxSemiring):
    show(semiring.__name__, ts.LinearChain(semiring).sum(torch.rand(2, 5, 3, 3)))
