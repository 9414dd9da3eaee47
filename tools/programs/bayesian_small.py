"""bayesian-torch: nets with distributions for weights, a few steps; layers of both sorts."""

import bayesian_torch.layers as layers
import torch
from bayesian_torch.models.bayesian.simple_cnn_variational import SCNN
from bayesian_torch.models.dnn_to_bnn import dnn_to_bnn, get_kl_loss
from bayesian_torch.models.flipout.simple_cnn import SCNN as FlipoutSCNN

x, y = torch.randn(8, 1, 28, 28), torch.randint(0, 10, (8,))
for model in (SCNN(), FlipoutSCNN()):
    opt = torch.optim.Adam(model.parameters(), 1e-3)
    for _ in range(3):
        out, kl = model(x)
        loss = torch.nn.functional.nll_loss(out, y) + kl / 8
        opt.zero_grad()
        loss.backward()
        opt.step()
        print(type(model).__module__, f"{loss.item():.4f} {kl.item():.4f}")
for sort in ("Reparameterization", "Flipout"):
    conv, norm = torch.nn.Conv2d(1, 4, 3), torch.nn.BatchNorm2d(4)
    net = torch.nn.Sequential(conv, norm, torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(2704, 10))
    prior = {"prior_mu": 0.0, "prior_sigma": 1.0, "posterior_mu_init": 0.0, "posterior_rho_init": -3.0}
    dnn_to_bnn(net, {**prior, "type": sort, "moped_enable": True, "moped_delta": 0.5})
    opt = torch.optim.SGD(net.parameters(), 1e-2)
    for _ in range(3):
        loss = torch.nn.functional.cross_entropy(net(x), y) + get_kl_loss(net) / 8
        opt.zero_grad()
        loss.backward()
        opt.step()
        print(sort, f"{loss.item():.4f}")
    lstm = getattr(layers, f"LSTM{sort}")(5, 7)
    out, _, kl = lstm(torch.randn(3, 6, 5))
    (out.sum() + kl).backward()
    print("lstm", f"{out.sum().item():.5f} {kl.item():.4f}")
