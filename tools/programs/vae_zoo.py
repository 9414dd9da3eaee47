"""PyTorch-VAE: a step and a sample of each model."""

import torch
from models import vae_models

x = torch.randn(4, 3, 64, 64)
more = {
    "CategoricalVAE": {"categorical_dim": 4},
    "GammaVAE": {},
    "FactorVAE": {},
    "VQVAE": {"embedding_dim": 8, "num_embeddings": 16},
    "JointVAE": {
        "latent_min_capacity": 0.0,
        "latent_max_capacity": 20.0,
        "latent_gamma": 10.0,
        "latent_num_iter": 100,
        "categorical_dim": 4,
        "cat_min_capacity": 0.0,
        "cat_max_capacity": 20.0,
        "cat_gamma": 10.0,
        "cat_num_iter": 100,
    },
}
for name in (
    "VanillaVAE",
    "BetaVAE",
    "WAE_MMD",
    "IWAE",
    "CategoricalVAE",
    "LogCoshVAE",
    "SWAE",
    "BetaTCVAE",
    "DIPVAE",
    "VQVAE",
    "HVAE",
    "MIWAE",
    "MSSIMVAE",
    "JointVAE",
    "LVAE",
):
    torch.manual_seed(0)
    options = more.get(name, {"latent_dim": 8})
    if name in ("CategoricalVAE", "JointVAE"):
        options = options | {"latent_dim": 8}
    if name == "LVAE":
        options = {"latent_dims": [4, 8], "hidden_dims": [8, 16]}
    if name == "HVAE":
        options = {"latent1_dim": 8, "latent2_dim": 8}
    try:
        model = vae_models[name](
            in_channels=3,
            **({"hidden_dims": [4, 8, 8, 16, 16]} | options if name in ("LogCoshVAE", "IWAE") else options),
        )
        out = model(x)
        loss = model.loss_function(*out, M_N=0.1, optimizer_idx=0, batch_idx=0)["loss"]
        loss.backward()
    except Exception as error:
        print(name, type(error).__name__, str(error).split("\n")[0][:90])
        continue
    grads = sum(float(p.grad.double().abs().sum()) for p in model.parameters() if p.grad is not None)
    print(name, f"{loss.item():.4f} {grads:.2f}")
