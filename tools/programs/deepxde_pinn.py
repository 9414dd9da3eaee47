"""deepxde: a Poisson problem and a function fit with the backend that PyTorch users take."""

import os

os.environ["DDE_BACKEND"] = "pytorch"
import deepxde as dde
import numpy as np
import torch

dde.config.set_random_seed(0)


def pde(x, y):
    return -dde.grad.hessian(y, x, i=0, j=0) - np.pi**2 * torch.sin(np.pi * x)


geom = dde.geometry.Interval(-1, 1)
bc = dde.icbc.DirichletBC(geom, lambda x: 0, lambda _, on: on)
data = dde.data.PDE(geom, pde, bc, 16, 2, solution=lambda x: np.sin(np.pi * x), num_test=20)
model = dde.Model(data, dde.nn.FNN([1] + [10] * 2 + [1], "tanh", "Glorot uniform"))
model.compile("adam", lr=0.01, metrics=["l2 relative error"])
history, state = model.train(iterations=30, display_every=10)
print([[f"{v:.4e}" for v in row] for row in history.loss_train])
geomtime = dde.geometry.GeometryXTime(geom, dde.geometry.TimeDomain(0, 1))
heat = dde.data.TimePDE(
    geomtime,
    lambda x, y: dde.grad.jacobian(y, x, j=1) - 0.1 * dde.grad.hessian(y, x, j=0),
    [
        dde.icbc.DirichletBC(geomtime, lambda x: 0, lambda _, on: on),
        dde.icbc.IC(geomtime, lambda x: np.sin(np.pi * x[:, :1]), lambda _, on: on),
    ],
    20,
    8,
    8,
)
model = dde.Model(heat, dde.nn.FNN([2] + [8] * 2 + [1], "sin", "Glorot normal"))
model.compile("adam", lr=0.01, decay=("step", 10, 0.9))
history, state = model.train(iterations=20, display_every=10)
print([[f"{v:.4e}" for v in row] for row in history.loss_train])
x = np.linspace(0, 1, 30)[:, None].astype(np.float32)
fit = dde.Model(
    dde.data.DataSet(X_train=x, y_train=np.sin(x), X_test=x, y_test=np.sin(x)),
    dde.nn.PFNN([1, [4], 1], "relu", "He normal"),
)
fit.compile("adam", lr=0.01, metrics=["MSE"])
history, state = fit.train(iterations=20, display_every=10)
print([[f"{v:.4e}" for v in row] for row in history.loss_train])
