"""ignite: engines, metrics, handlers, schedules."""

import torch
from ignite.contrib.handlers import PiecewiseLinear
from ignite.engine import Events, create_supervised_evaluator, create_supervised_trainer
from ignite.handlers import (
    Checkpoint,
    DiskSaver,
    EarlyStopping,
    EMAHandler,
    TerminateOnNan,
    global_step_from_engine,
)
from ignite.metrics import (
    PSNR,
    SSIM,
    Accuracy,
    ConfusionMatrix,
    Fbeta,
    Loss,
    MeanAbsoluteError,
    Precision,
    Recall,
    RunningAverage,
    TopKCategoricalAccuracy,
)
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(96, 6)
y = (x[:, 0] > 0).long() + (x[:, 1] > 0).long()
data, val = DataLoader(TensorDataset(x, y), 16, shuffle=True), DataLoader(TensorDataset(x, y), 32)
net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3))
opt = torch.optim.SGD(net.parameters(), 0.1, momentum=0.9)
trainer = create_supervised_trainer(net, opt, nn.CrossEntropyLoss())
RunningAverage(output_transform=lambda z: z).attach(trainer, "loss")
precision, recall = Precision(average=False), Recall(average=False)
metrics = {
    "acc": Accuracy(),
    "loss": Loss(nn.CrossEntropyLoss()),
    "p": precision,
    "r": recall,
    "f": Fbeta(1.0),
    "top2": TopKCategoricalAccuracy(2),
    "confusion": ConfusionMatrix(3),
}
evaluator = create_supervised_evaluator(net, metrics=metrics)
trainer.add_event_handler(
    Events.ITERATION_STARTED, PiecewiseLinear(opt, "lr", [(0, 0.01), (10, 0.1), (18, 0.0)])
)
trainer.add_event_handler(Events.ITERATION_COMPLETED, TerminateOnNan())
EMAHandler(net, momentum=0.1).attach(trainer)
evaluator.add_event_handler(Events.COMPLETED, EarlyStopping(3, lambda e: e.state.metrics["acc"], trainer))
evaluator.add_event_handler(
    Events.COMPLETED,
    Checkpoint(
        {"net": net},
        DiskSaver("best", create_dir=True, require_empty=False),
        n_saved=1,
        score_name="acc",
        score_function=lambda e: e.state.metrics["acc"],
        global_step_transform=global_step_from_engine(trainer),
    ),
)


@trainer.on(Events.EPOCH_COMPLETED)
def report(engine):
    evaluator.run(val)
    m = evaluator.state.metrics
    print(
        engine.state.epoch,
        f"{engine.state.metrics['loss']:.5f} {m['loss']:.5f} {m['acc']:.4f} {m['f']:.4f}",
        m["p"].tolist(),
        m["confusion"].tolist(),
    )


trainer.run(data, max_epochs=3)
ssim, psnr, mae = SSIM(1.0), PSNR(1.0), MeanAbsoluteError()
a, b = torch.rand(2, 3, 16, 16), torch.rand(2, 3, 16, 16)
for metric in (ssim, psnr, mae):
    metric.update((a, b))
    print(type(metric).__name__, f"{float(metric.compute()):.5f}")
