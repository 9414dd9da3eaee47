"""pytorch-lightning: a module, callbacks, a data module, checkpoints."""

import logging
import tempfile
import warnings

import lightning.pytorch as pl
import torch
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings("ignore")
for name in ("lightning.pytorch", "lightning.fabric", "lightning"):
    logging.getLogger(name).setLevel(logging.ERROR)


class Lit(pl.LightningModule):
    def __init__(self, width=16, lr=1e-2):
        super().__init__()
        self.save_hyperparameters()
        self.net = torch.nn.Sequential(torch.nn.Linear(4, width), torch.nn.Tanh(), torch.nn.Linear(width, 2))
        self.seen = []

    def forward(self, x):
        return self.net(x)

    def training_step(self, batch, index):
        x, y = batch
        loss = torch.nn.functional.cross_entropy(self(x), y)
        self.log("train_loss", loss, on_epoch=True, on_step=False)
        self.seen.append(loss.item())
        return loss

    def validation_step(self, batch, index):
        x, y = batch
        self.log("val_acc", (self(x).argmax(-1) == y).float().mean())

    def configure_optimizers(self):
        opt = torch.optim.AdamW(self.parameters(), self.hparams.lr)
        return {"optimizer": opt, "lr_scheduler": torch.optim.lr_scheduler.StepLR(opt, 1, 0.5)}


pl.seed_everything(3, verbose=False)
x = torch.randn(96, 4)
data = TensorDataset(x, (x.sum(1) > 0).long())
with tempfile.TemporaryDirectory() as folder:
    saver = pl.callbacks.ModelCheckpoint(folder, monitor="val_acc", mode="max", filename="best")
    trainer = pl.Trainer(
        max_epochs=3,
        accelerator="cpu",
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        callbacks=[saver, pl.callbacks.EarlyStopping("val_acc", mode="max")],
        gradient_clip_val=0.5,
        accumulate_grad_batches=2,
        deterministic=True,
    )
    lit = Lit()
    trainer.fit(lit, DataLoader(data, 16, shuffle=True), DataLoader(data, 32))
    print([f"{v:.5f}" for v in lit.seen])
    print({k: f"{v:.4f}" for k, v in trainer.callback_metrics.items()})
    again = Lit.load_from_checkpoint(saver.best_model_path)
    print(again.hparams.width, f"{again(x).sum().item():.4f}", f"{saver.best_model_score:.4f}")
    print(trainer.validate(again, DataLoader(data, 32), verbose=False))
