"""pytorch-tabnet, tsai, pytorch-widedeep: tables and series."""

import numpy as np
import torch
from pytorch_tabnet.pretraining import TabNetPretrainer
from pytorch_tabnet.tab_model import TabNetClassifier, TabNetRegressor

np.random.seed(0)
torch.manual_seed(0)
x = np.random.randn(200, 6).astype("float32")
y = (x[:, 0] + x[:, 1] > 0).astype(int)
model = TabNetClassifier(n_d=4, n_a=4, n_steps=2, seed=1, verbose=0, device_name="cpu")
model.fit(
    x[:150],
    y[:150],
    eval_set=[(x[150:], y[150:])],
    max_epochs=4,
    batch_size=50,
    virtual_batch_size=25,
    patience=5,
)
print("tabnet", [f"{v:.4f}" for v in model.history["loss"]], f"{model.predict_proba(x).sum():.3f}")
print(model.feature_importances_.round(4).tolist())
explain, masks = model.explain(x[:5])
print("explain", explain.sum().round(4))
reg = TabNetRegressor(n_d=4, n_a=4, n_steps=2, seed=1, verbose=0, device_name="cpu")
reg.fit(x[:150], y[:150, None].astype("float32"), max_epochs=3, batch_size=50, virtual_batch_size=25)
print("regressor", [f"{v:.4f}" for v in reg.history["loss"]])
pre = TabNetPretrainer(n_d=4, n_a=4, n_steps=2, seed=1, verbose=0, device_name="cpu")
pre.fit(x, max_epochs=2, batch_size=50, virtual_batch_size=25)
print("pretrainer", [f"{v:.4f}" for v in pre.history["loss"]])
