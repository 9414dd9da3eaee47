"""Time-Series-Library: forecasters on four tasks, two steps each; the models' names are the arguments."""

import importlib
import random
import sys
import types

import numpy
import torch


def settings(task):
    """One configuration for all models: each reads of it what it knows."""
    return types.SimpleNamespace(
        task_name=task,
        seq_len=96,
        label_len=48,
        pred_len={"imputation": 96, "anomaly_detection": 0}.get(task, 24),
        **dict.fromkeys(("enc_in", "dec_in", "c_out"), 5),
        **dict.fromkeys(("d_model", "d_ff"), 16),
        n_heads=2,
        e_layers=2,
        d_layers=2,
        factor=3,
        dropout=0.1,
        embed="timeF",
        freq="h",
        activation="gelu",
        top_k=3,
        num_kernels=3,
        moving_avg=25,
        num_class=4,
        distil=True,
        p_hidden_dims=[16, 16],
        p_hidden_layers=2,
        seg_len=24,
        conv_kernel=[12, 16],
        individual=False,
        channel_independence=1,
    )


def output(model, task, g):
    """What a model says to a batch."""
    x, marks = torch.randn(4, 96, 5, generator=g), torch.randn(4, 96, 4, generator=g)
    if task == "long_term_forecast":
        found = model(x, marks, torch.randn(4, 72, 5, generator=g), torch.randn(4, 72, 4, generator=g))
    elif task == "imputation":
        mask = (torch.rand(4, 96, 5, generator=g) > 0.3).float()
        found = model(x * mask, marks, None, None, mask)
    else:
        found = model(x, torch.ones(4, 96) if task == "classification" else None, None, None)
    return found[0] if isinstance(found, tuple) else found


for name in sys.argv[1:]:
    for task in ("long_term_forecast", "imputation", "anomaly_detection", "classification"):
        torch.manual_seed(0)
        random.seed(0)
        numpy.random.seed(0)
        try:
            model = importlib.import_module(f"models.{name}").Model(settings(task))
            opt = torch.optim.Adam(model.parameters(), 1e-3)
            for step in range(2):
                out = output(model, task, torch.Generator().manual_seed(step))
                loss = (out**2).mean() + out.std()
                opt.zero_grad()
                loss.backward()
                opt.step()
                print(name, task, tuple(out.shape), f"{loss.item():.5f}")
        except (AttributeError, RuntimeError, TypeError, ValueError) as error:
            print(name, task, type(error).__name__)  # not every model knows every task
del model, opt, out, loss
