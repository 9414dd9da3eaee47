"""ultralytics: networks of YOLO 8 and 11, their losses, boxes chosen by non-maximum suppression."""

import torch
from ultralytics.cfg import get_cfg
from ultralytics.nn.tasks import ClassificationModel, DetectionModel, SegmentationModel
from ultralytics.utils import nms


def flat(o):
    if isinstance(o, torch.Tensor):
        return [o]
    if isinstance(o, dict):
        o = o.values()
    return [t for v in o for t in flat(v)] if not isinstance(o, (int, float, str, type(None))) else []


def told(o):
    return f"{len(flat(o))} tensors {sum(t.float().abs().sum().item() for t in flat(o)):.1f}"


for cls, name in (
    (DetectionModel, "yolov8n.yaml"),
    (DetectionModel, "yolo11n.yaml"),
    (SegmentationModel, "yolo11n-seg.yaml"),
    (ClassificationModel, "yolo11n-cls.yaml"),
):
    torch.manual_seed(0)
    net = cls(name, verbose=False)
    net.args = get_cfg()
    x = torch.rand(2, 3, 64, 64)
    print(name, told(net.train()(x)))
    if cls is DetectionModel:
        loss, items = net.loss(
            {
                "img": x,
                "cls": torch.tensor([[0.0], [3.0], [5.0]]),
                "bboxes": torch.tensor([[0.5, 0.5, 0.4, 0.3], [0.3, 0.3, 0.2, 0.2], [0.6, 0.6, 0.5, 0.5]]),
                "batch_idx": torch.tensor([0.0, 0.0, 1.0]),
            }
        )
        loss.sum().backward()
        grads = sum(p.grad.abs().sum().item() for p in net.parameters() if p.grad is not None)
        print(f"{loss.sum().item():.3f}", {k: round(float(v), 3) for k, v in items.items()}, f"{grads:.0f}")
    net.eval()
    with torch.no_grad():
        print(told(net(x)))
    net.fuse(verbose=False)
    with torch.no_grad():
        print(told(net(x)))
torch.manual_seed(0)
found = nms.non_max_suppression(torch.rand(1, 84, 200), 0.6, 0.5)
print([tuple(t.shape) for t in found], f"{found[0].sum().item():.2f}")
