"""blitz, torchbnn, bayesian-torch: weights with distributions."""

import torch
import torchbnn as bnn
from bayesian_torch.layers import Conv2dReparameterization, LinearFlipout, LinearReparameterization
from bayesian_torch.models.dnn_to_bnn import dnn_to_bnn, get_kl_loss
from blitz.modules import BayesianConv2d, BayesianGRU, BayesianLinear, BayesianLSTM
from blitz.utils import variational_estimator

torch.manual_seed(0)
x, y = torch.randn(32, 4), torch.randn(32, 1)


@variational_estimator
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = BayesianLinear(4, 8), BayesianLinear(8, 1)

    def forward(self, v):
        return self.b(torch.relu(self.a(v)))


net = Net()
opt = torch.optim.Adam(net.parameters(), 1e-2)
for _step in range(4):
    opt.zero_grad()
    loss = net.sample_elbo(
        inputs=x, labels=y, criterion=torch.nn.MSELoss(), sample_nbr=2, complexity_cost_weight=1 / 32
    )
    loss.backward()
    opt.step()
    print("blitz", f"{loss.item():.5f}")
print("conv", f"{BayesianConv2d(1, 2, (3, 3))(torch.randn(1, 1, 6, 6)).sum().item():.5f}")
print("lstm", f"{BayesianLSTM(4, 3)(torch.randn(2, 5, 4))[0].sum().item():.5f}")
print("gru", f"{BayesianGRU(4, 3)(torch.randn(2, 5, 4))[0].sum().item():.5f}")
model = torch.nn.Sequential(
    bnn.BayesLinear(prior_mu=0, prior_sigma=0.1, in_features=4, out_features=8),
    torch.nn.ReLU(),
    bnn.BayesLinear(prior_mu=0, prior_sigma=0.1, in_features=8, out_features=1),
)
kl = bnn.BKLLoss(reduction="mean", last_layer_only=False)
opt = torch.optim.Adam(model.parameters(), 1e-2)
for _step in range(4):
    opt.zero_grad()
    loss = (model(x) - y).pow(2).mean() + 0.1 * kl(model)
    loss.sum().backward()
    opt.step()
    print("torchbnn", f"{loss.item():.5f}")
for layer, v in (
    (LinearReparameterization(4, 3), x),
    (LinearFlipout(4, 3), x),
    (Conv2dReparameterization(1, 2, 3), torch.randn(1, 1, 6, 6)),
):
    out, k = layer(v)
    print(type(layer).__name__, f"{out.sum().item():.5f} {k.item():.5f}")
plain = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
dnn_to_bnn(
    plain,
    {
        "prior_mu": 0.0,
        "prior_sigma": 1.0,
        "posterior_mu_init": 0.0,
        "posterior_rho_init": -3.0,
        "type": "Reparameterization",
        "moped_enable": True,
        "moped_delta": 0.5,
    },
)
print("converted", f"{plain(x).sum().item():.5f} {get_kl_loss(plain).item():.5f}")
