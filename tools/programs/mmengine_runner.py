"""mmengine: its Runner with schedulers, an average of weights and checkpoints; structures of instances."""

import glob
import os
import tempfile

import torch
from mmengine.analysis import get_model_complexity_info
from mmengine.evaluator import BaseMetric
from mmengine.model import BaseModel, ExponentialMovingAverage
from mmengine.runner import Runner
from mmengine.structures import InstanceData
from torch.utils.data import Dataset

torch.manual_seed(0)


class D(Dataset):
    def __init__(s, n=32):
        g = torch.Generator().manual_seed(1)
        s.x = torch.randn(n, 3, 8, 8, generator=g)
        s.y = (s.x.mean((1, 2, 3)) > 0).long()

    def __len__(s):
        return len(s.x)

    def __getitem__(s, i):
        return dict(inputs=s.x[i], labels=s.y[i])


class M(BaseModel):
    def __init__(s):
        super().__init__()
        s.conv = torch.nn.Conv2d(3, 8, 3, padding=1)
        s.bn = torch.nn.BatchNorm2d(8)
        s.fc = torch.nn.Linear(8, 2)

    def forward(s, inputs, labels=None, mode="tensor"):
        f = s.fc(s.bn(s.conv(inputs)).relu().mean((2, 3)))
        if mode == "loss":
            return dict(loss=torch.nn.functional.cross_entropy(f, labels))
        if mode == "predict":
            return f, labels
        return f


class Acc(BaseMetric):
    def process(s, data_batch, data_samples):
        score, gt = data_samples
        s.results.append(dict(n=len(gt), c=(score.argmax(1) == gt).sum().cpu()))

    def compute_metrics(s, results):
        return dict(acc=float(sum(int(r["c"]) for r in results) / sum(r["n"] for r in results)))


with tempfile.TemporaryDirectory() as d:
    torch.manual_seed(0)
    m = M()
    r = Runner(
        model=m,
        work_dir=d,
        train_dataloader=dict(
            dataset=D(),
            batch_size=8,
            sampler=dict(type="DefaultSampler", shuffle=True),
            collate_fn=dict(type="default_collate"),
        ),
        train_cfg=dict(by_epoch=True, max_epochs=3, val_interval=1),
        val_cfg=dict(),
        val_dataloader=dict(
            dataset=D(16),
            batch_size=8,
            sampler=dict(type="DefaultSampler", shuffle=False),
            collate_fn=dict(type="default_collate"),
        ),
        val_evaluator=dict(type=Acc),
        optim_wrapper=dict(optimizer=dict(type="SGD", lr=0.05, momentum=0.9), clip_grad=dict(max_norm=1.0)),
        param_scheduler=[
            dict(type="LinearLR", start_factor=0.1, by_epoch=False, end=4),
            dict(type="CosineAnnealingLR", T_max=3),
        ],
        custom_hooks=[dict(type="EMAHook")],
        log_level="ERROR",
        randomness=dict(seed=0),
        default_hooks=dict(checkpoint=dict(type="CheckpointHook", interval=1)),
    )
    r.train()
    print(sum(float(p.double().abs().sum()) for p in m.parameters()))

    print(sorted(os.path.basename(f) for f in glob.glob(d + "/*.pth")))
    ck = torch.load(d + "/epoch_3.pth", weights_only=False)
    print(sorted(ck), len(ck["state_dict"]))

e = ExponentialMovingAverage(torch.nn.Linear(2, 2), momentum=0.1)
e.update_parameters(torch.nn.Linear(2, 2))
print(f"{e.module.weight.sum().item():.5f}")

i = InstanceData(bboxes=torch.rand(4, 4), scores=torch.rand(4))
print(i[i.scores > 0.2].bboxes.shape, len(i), InstanceData.cat([i, i]).scores.shape)

a = get_model_complexity_info(
    torch.nn.Sequential(
        torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(144, 2)
    ),
    (3, 8, 8),
    show_table=False,
)
print(a["flops"], a["params"])
