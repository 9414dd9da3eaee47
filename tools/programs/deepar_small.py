"""gluonts: DeepAR with four distributions."""

import numpy as np
import torch
from gluonts.torch.distributions import (
    LaplaceOutput,
    NegativeBinomialOutput,
    NormalOutput,
    StudentTOutput,
)
from gluonts.torch.model.deepar.module import DeepARModel

torch.manual_seed(0)
np.random.seed(0)

for D in (StudentTOutput, NormalOutput, NegativeBinomialOutput, LaplaceOutput):
    torch.manual_seed(0)
    m = DeepARModel(
        freq="D",
        context_length=10,
        prediction_length=4,
        num_feat_dynamic_real=2,
        num_feat_static_real=1,
        num_feat_static_cat=1,
        cardinality=[3],
        distr_output=D(),
        num_layers=2,
        hidden_size=8,
        lags_seq=[1, 2, 7],
    )
    B = 3
    past = 10 + 7
    a = dict(
        feat_static_cat=torch.randint(3, (B, 1)),
        feat_static_real=torch.rand(B, 1),
        past_time_feat=torch.rand(B, past, 2),
        past_target=torch.rand(B, past) * 5,
        past_observed_values=torch.ones(B, past),
        future_time_feat=torch.rand(B, 4, 2),
        future_target=torch.randint(1, 5, (B, 4)).float(),
        future_observed_values=torch.ones(B, 4),
    )
    if D is NegativeBinomialOutput:
        a["past_target"] = a["past_target"].round()
    loss = m.loss(**a)
    loss = loss.mean()
    loss.backward()
    print(
        D.__name__,
        f"{loss.item():.5f} {sum(p.grad.abs().sum().item() for p in m.parameters() if p.grad is not None):.3f}",
    )
    a.pop("future_target")
    a.pop("future_observed_values")
    m.eval()
    torch.manual_seed(3)
    s = m(num_parallel_samples=5, **a)
    print(tuple(s.shape), f"{s.sum().item():.3f}")
