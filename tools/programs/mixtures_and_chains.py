"""Probabilistic models of pomegranate: distributions, mixtures, hidden Markov models, networks, factor graphs."""

import torch
from pomegranate import distributions as D
from pomegranate.bayesian_network import BayesianNetwork
from pomegranate.factor_graph import FactorGraph
from pomegranate.gmm import GeneralMixtureModel
from pomegranate.hmm import DenseHMM, SparseHMM
from pomegranate.kmeans import KMeans
from pomegranate.markov_chain import MarkovChain


def show(name: str, *values: torch.Tensor) -> None:
    """Tensors' sizes, sums and sizes of their numbers."""
    for value in values:
        value = value.detach().double()
        print(name, tuple(value.shape), f"{value.sum():.5e} {value.abs().sum():.5e}")


x = torch.rand(40, 3) + 0.1
weights = torch.rand(40, 1)
for made in (
    D.Normal(),
    D.Normal(covariance_type="diag"),
    D.Exponential(),
    D.Gamma(max_iter=5),
    D.Poisson(),
    D.StudentT(3),
    D.Uniform(),
    D.HalfNormal(covariance_type="diag"),
    D.IndependentComponents([D.Normal(covariance_type="diag"), D.Exponential(), D.Gamma(max_iter=5)]),
):
    made.fit(x[:20], sample_weight=weights[:20])
    made.summarize(x[20:])
    made.from_summaries()
    show(type(made).__name__, made.log_probability(x), *made.parameters())
    print(tuple(made.sample(3).shape))

codes = torch.randint(0, 3, (40, 2))
for made in (D.Categorical(), D.JointCategorical(), D.ConditionalCategorical()):
    made.fit(codes if not isinstance(made, D.ConditionalCategorical) else codes[:, :, None])
    data = codes if not isinstance(made, D.ConditionalCategorical) else codes[:, :, None]
    show(type(made).__name__, made.log_probability(data))
show("Bernoulli", D.Bernoulli().fit(codes > 1).log_probability(codes > 1))

points = torch.cat([torch.randn(30, 2), torch.randn(30, 2) + 4])
model = KMeans(2, init="first-k", random_state=0).fit(points)
show("means", model.centroids, model.predict(points))
mixture = GeneralMixtureModel(
    [D.Normal(torch.zeros(2), torch.eye(2)), D.Normal(torch.ones(2) * 3, torch.eye(2))], max_iter=5
).fit(points)
show("mixture", mixture.predict_proba(points), mixture.priors, *(d.means for d in mixture.distributions))

sequences = torch.randint(0, 4, (8, 12, 1))
emissions = [D.Categorical(torch.rand(1, 4).softmax(-1)) for _ in range(3)]
hidden = DenseHMM(
    emissions, edges=torch.full((3, 3), 0.3), starts=[0.4, 0.3, 0.3], ends=[0.1] * 3, max_iter=3
)
hidden.fit(sequences)
show("hidden", hidden.edges, hidden.log_probability(sequences), hidden.predict(sequences))
show("forward", hidden.forward(sequences), hidden.backward(sequences))
sparse = SparseHMM(max_iter=2)
states = [D.Normal(torch.zeros(1) + i, torch.ones(1), covariance_type="diag") for i in range(2)]
sparse.add_distributions(states)
sparse.add_edge(sparse.start, states[0], 0.7)
sparse.add_edge(sparse.start, states[1], 0.3)
for one, two, chance in ((0, 0, 0.6), (0, 1, 0.3), (1, 0, 0.2), (1, 1, 0.7)):
    sparse.add_edge(states[one], states[two], chance)
sparse.add_edge(states[0], sparse.end, 0.1)
sparse.add_edge(states[1], sparse.end, 0.1)
sparse.fit(torch.randn(6, 9, 1))
show("sparse", sparse.log_probability(torch.randn(6, 9, 1)), *(d.means for d in sparse.distributions))

chain = MarkovChain(k=2).fit(torch.randint(0, 3, (30, 7, 1)))
show("chain", chain.log_probability(torch.randint(0, 3, (5, 7, 1))))

rain, wet = D.Categorical([[0.3, 0.7]]), D.ConditionalCategorical([[[0.9, 0.1], [0.2, 0.8]]])
network = BayesianNetwork([rain, wet], [(rain, wet)])
pairs = torch.randint(0, 2, (12, 2))
show("network", network.log_probability(pairs))
masked = torch.masked.MaskedTensor(pairs, mask=torch.tensor([[True, False]] * 12))
show("known", *network.predict_proba(masked), network.predict(masked))
network.fit(pairs)
show("fitted", *network.distributions[1].probs)
learned = BayesianNetwork(algorithm="chow-liu").fit(torch.randint(0, 2, (50, 4)))
print(learned.structure)

graph = FactorGraph(
    [D.JointCategorical([[0.4, 0.1], [0.2, 0.3]])], [D.Categorical([[0.5, 0.5]]) for _ in range(2)]
)
for variable in graph.marginals:
    graph.add_edge(variable, graph.factors[0])
show("graph", *graph.predict_proba(masked))
