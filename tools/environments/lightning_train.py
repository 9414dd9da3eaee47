"""A LightningModule is fitted, checked, saved and loaded."""

import tempfile

import lightning
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Lines(lightning.LightningModule):
    def __init__(self, rate: float = 0.1):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Linear(3, 1)

    def training_step(self, batch, index):
        loss = nn.functional.mse_loss(self.net(batch[0]), batch[1])
        self.log("train", loss)
        return loss

    def validation_step(self, batch, index):
        self.log("held_out", nn.functional.mse_loss(self.net(batch[0]), batch[1]))

    def configure_optimizers(self):
        optimizer = torch.optim.SGD(self.parameters(), lr=self.hparams.rate)
        return [optimizer], [torch.optim.lr_scheduler.StepLR(optimizer, 10)]


if __name__ == "__main__":
    lightning.seed_everything(0)
    x = torch.randn(96, 3)
    data = TensorDataset(x, x.sum(1, keepdim=True))
    with tempfile.TemporaryDirectory() as folder:
        trainer = lightning.Trainer(
            max_epochs=5,
            accelerator="cpu",
            logger=False,
            default_root_dir=folder,
            enable_progress_bar=False,
            enable_model_summary=True,
            log_every_n_steps=1,
        )
        model = Lines()
        trainer.fit(model, DataLoader(data, 16, shuffle=True), DataLoader(data, 32))
        assert trainer.callback_metrics["held_out"] < 0.05, trainer.callback_metrics
        again = Lines.load_from_checkpoint(trainer.checkpoint_callback.best_model_path)
        assert torch.equal(again.net.weight, model.net.weight)
    print({name: float(value) for name, value in trainer.callback_metrics.items()})
