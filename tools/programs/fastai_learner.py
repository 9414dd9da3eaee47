"""fastai: learners on tables and arrays, one cycle, callbacks, mixup, the finder of learning rates."""

import numpy as np
import pandas as pd
import torch
from fastai.basics import DataLoader, DataLoaders, Learner, accuracy, mse
from fastai.callback.all import GradientAccumulation, MixUp, ParamScheduler, SchedCos, ShowGraphCallback  # noqa: F401
from fastai.optimizer import SGD, Adam, Lamb, RAdam, ranger
from fastai.tabular.all import (
    Categorify,
    CategoryBlock,
    FillMissing,
    Normalize,
    TabularDataLoaders,
    tabular_learner,
)
from fastai.torch_core import set_seed
from torch import nn

set_seed(0, reproducible=False)
rng = np.random.default_rng(0)
frame = pd.DataFrame(
    {"a": rng.normal(size=200), "b": rng.normal(size=200), "c": rng.choice(list("xyz"), 200)}
)
frame["y"] = np.where(frame.a + (frame.c == "x") > 0.2, "hi", "lo")
dls = TabularDataLoaders.from_df(
    frame,
    procs=[Categorify, FillMissing, Normalize],
    cat_names=["c"],
    cont_names=["a", "b"],
    y_names="y",
    y_block=CategoryBlock(),
    bs=32,
    valid_idx=list(range(40)),
    num_workers=0,
)
learn = tabular_learner(dls, layers=[16, 8], n_out=2, metrics=accuracy)
with learn.no_bar(), learn.no_logging():
    learn.fit_one_cycle(2, 1e-2)
    print([f"{float(v):.5f}" for v in learn.recorder.values[-1]], f"{learn.recorder.losses[-1].item():.5f}")
    learn.fit_flat_cos(1, 1e-3)
    print([f"{float(v):.5f}" for v in learn.recorder.values[-1]])
x = torch.randn(128, 4)
data = list(zip(x, x.sum(1, keepdim=True)))
for kind in (Adam, SGD, RAdam, Lamb, ranger):
    loaders = DataLoaders(DataLoader(data, bs=16, shuffle=False), DataLoader(data, bs=32))
    learn = Learner(
        loaders,
        nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1)),
        loss_func=nn.MSELoss(),
        opt_func=kind,
        metrics=mse,
        cbs=GradientAccumulation(32),
    )
    with learn.no_bar(), learn.no_logging():
        learn.fit(2, 1e-2, wd=0.01)
    print(kind.__name__, [f"{float(v):.5f}" for v in learn.recorder.values[-1]])
learn.save("kept")
learn.load("kept")
with learn.no_bar(), learn.no_logging():
    print([f"{float(v):.5f}" for v in learn.validate()])
    preds, targets = learn.get_preds()
print(f"{preds.sum().item():.4f} {targets.sum().item():.4f}")
learn.freeze()
learn.unfreeze()
print(learn.summary()[:60].strip().split("\n")[0])
