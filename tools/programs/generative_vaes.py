"""pythae: a zoo of autoencoders trained by its trainer."""

import logging
import tempfile

import numpy
import pythae.models as zoo
import torch
from pythae.data.datasets import BaseDataset
from pythae.samplers import NormalSampler
from pythae.trainers import BaseTrainer, BaseTrainerConfig

logging.disable(logging.WARNING)
data = torch.rand(48, 1, 12, 12)
train = BaseDataset(data, torch.ones(48))
valid = BaseDataset(data[:16], torch.ones(16))
folder = tempfile.mkdtemp()


def show(name, x):
    x = x.detach().double()
    print(name, tuple(x.shape), f"{x.sum():.5e} {x.abs().sum():.5e}")


NAMES = "AE VAE BetaVAE DisentangledBetaVAE BetaTCVAE IWAE MIWAE CIWAE PIWAE VAMP SVAE VQVAE HVAE RHVAE MSSSIM_VAE"
for name in (*NAMES.split(), "FactorVAE", "PoincareVAE"):
    torch.manual_seed(1)
    numpy.random.seed(1)
    model = getattr(zoo, name)(getattr(zoo, f"{name}Config")(input_dim=(1, 12, 12), latent_dim=4))
    out = model(train[:8])
    show(f"{name} loss", out.loss)
    show(f"{name} back", out.recon_x)
    if name in ("FactorVAE", "PIWAE"):
        continue
    options = BaseTrainerConfig(
        output_dir=folder,
        num_epochs=2,
        per_device_train_batch_size=16,
        per_device_eval_batch_size=16,
        learning_rate=1e-3,
        no_cuda=True,
    )
    BaseTrainer(model, train, valid, options).train()
    show(f"{name} trained", torch.cat([p.flatten() for p in model.parameters()]))
    if name not in ("HVAE", "RHVAE", "VQVAE", "MSSSIM_VAE"):
        show(f"{name} normal", NormalSampler(model).sample(4))
