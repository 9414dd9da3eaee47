"""pytorch-crf, entmax, torchtuples and pycox, geomloss, torch-lr-finder, pytorch-optimizer."""

import numpy as np
import torch
import torchtuples as tt
from entmax import Entmax15Loss, entmax15, entmax_bisect, sparsemax
from geomloss import SamplesLoss
from pycox.models import CoxPH, LogisticHazard
from torchcrf import CRF

np.random.seed(0)
torch.manual_seed(0)
crf = CRF(4, batch_first=True)
e = torch.randn(3, 6, 4, requires_grad=True)
mask = torch.tensor([[1] * 6, [1] * 4 + [0] * 2, [1] * 5 + [0]], dtype=torch.bool)
loss = -crf(e, torch.randint(0, 4, (3, 6)), mask=mask)
loss.backward()
print("crf", f"{loss.item():.5f} {e.grad.abs().sum().item():.5f}", crf.decode(e, mask))
x = torch.randn(5, 7, requires_grad=True)
for f in (sparsemax, entmax15, lambda v, dim: entmax_bisect(v, 1.3, dim=dim)):
    p = f(x, dim=-1)
    (p * torch.arange(7)).sum().backward()
    print("entmax", (p > 0).sum().item(), f"{x.grad.abs().sum().item():.5f}")
print("loss", f"{Entmax15Loss()(x, torch.tensor([0, 1, 2, 3, 4])).item():.5f}")
for kind, p in (("sinkhorn", 2), ("gaussian", 2), ("energy", 1)):
    a = torch.randn(20, 3, requires_grad=True)
    v = SamplesLoss(kind, p=p, blur=0.1, backend="tensorized")(a, torch.randn(25, 3))
    v.backward()
    print(kind, f"{v.item():.5f} {a.grad.abs().sum().item():.5f}")
xs = np.random.randn(64, 5).astype("float32")
durations, events = (
    np.random.exponential(3, 64).astype("float32"),
    np.random.randint(0, 2, 64).astype("float32"),
)
cox = CoxPH(tt.practical.MLPVanilla(5, [8], 1, True, 0.1), tt.optim.Adam(0.01))
log = cox.fit(xs, (durations, events), batch_size=16, epochs=3, verbose=False)
print("cox", log.to_pandas().values.round(4).tolist())
cox.compute_baseline_hazards()
print("surv", cox.predict_surv_df(xs[:3]).values.sum().round(3))
trans = LogisticHazard.label_transform(5)
target = trans.fit_transform(durations, events)
model = LogisticHazard(
    tt.practical.MLPVanilla(5, [8], 5, True, 0.1), tt.optim.AdamW(0.01), duration_index=trans.cuts
)
print("hazard", model.fit(xs, target, 16, 3, verbose=False).to_pandas().values.round(4).tolist())
