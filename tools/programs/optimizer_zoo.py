"""torch-optimizer, adabelief, schedulefree, prodigy: many optimizers on one small problem."""

import torch
import torch_optimizer
from adabelief_pytorch import AdaBelief
from prodigyopt import Prodigy
from schedulefree import AdamWScheduleFree, SGDScheduleFree
from torch import nn


def train(name, make, steps=6):
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 1))
    x, y = torch.randn(16, 5), torch.randn(16, 1)
    opt, losses = make(net.parameters()), []
    if hasattr(opt, "train"):
        opt.train()
    for _ in range(steps):

        def closure():
            opt.zero_grad()
            loss = nn.functional.mse_loss(net(x), y)
            loss.backward(create_graph=name == "Adahessian")
            return loss

        loss = (
            opt.step(closure)
            if name not in ("Adahessian", "Shampoo", "Ranger", "RangerVA", "RangerQH", "SWATS")
            else (closure(), opt.step())[0]
        )
        losses.append(float(loss))
    state = opt.state_dict()
    opt.load_state_dict(state)
    print(name, [f"{v:.5f}" for v in losses], len(state["state"]))


for name in (
    "A2GradExp",
    "A2GradInc",
    "A2GradUni",
    "AccSGD",
    "AdaBound",
    "AdaMod",
    "Adafactor",
    "Adahessian",
    "AdamP",
    "AggMo",
    "Apollo",
    "DiffGrad",
    "LARS",
    "Lamb",
    "MADGRAD",
    "NovoGrad",
    "PID",
    "QHAdam",
    "QHM",
    "RAdam",
    "Ranger",
    "RangerQH",
    "RangerVA",
    "SGDP",
    "SGDW",
    "SWATS",
    "Shampoo",
    "Yogi",
):
    more = {"A2GradExp": {}, "A2GradInc": {}, "A2GradUni": {}, "Adafactor": {}}.get(name, {"lr": 1e-2})
    train(name, lambda p, name=name, more=more: getattr(torch_optimizer, name)(p, **more))
train("AdaBelief", lambda p: AdaBelief(p, lr=1e-2, print_change_log=False))
train("Prodigy", lambda p: Prodigy(p))
train("AdamWScheduleFree", lambda p: AdamWScheduleFree(p, lr=1e-2, warmup_steps=2))
train("SGDScheduleFree", lambda p: SGDScheduleFree(p, lr=1e-1))
