"""Ultralytics: detectors, masks, poses and classes of eight designs; training steps, TorchScript and ONNX."""

import os
import tempfile
import warnings

work = tempfile.mkdtemp()
os.environ.update(YOLO_OFFLINE="true", YOLO_AUTOINSTALL="false", YOLO_VERBOSE="false", YOLO_CONFIG_DIR=work)

import onnxruntime  # noqa: E402  (after the settings, as all that follows)
import torch  # noqa: E402
from ultralytics import RTDETR, YOLO  # noqa: E402
from ultralytics.cfg import get_cfg  # noqa: E402

warnings.simplefilter("ignore")
torch.manual_seed(0)
images = torch.rand(2, 3, 96, 96)
batch = {
    "img": images,
    "batch_idx": torch.tensor([0.0, 0.0, 1.0]),
    "cls": torch.tensor([[1.0], [3.0], [2.0]]),
    "bboxes": torch.tensor([[0.5, 0.5, 0.3, 0.4], [0.3, 0.6, 0.2, 0.2], [0.6, 0.4, 0.5, 0.3]]),
}


def first(found):
    """The first tensor of an answer."""
    while not isinstance(found, torch.Tensor):
        found = found[0]
    return found


def trained(name):
    """Losses of three steps with the design's own criterion, in float64: which boxes count is a step function."""
    torch.manual_seed(0)
    net = YOLO(name).model.double()
    net.args = get_cfg()
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-4, momentum=0.9)
    net.train()
    for _ in range(3):
        loss, parts = net({**batch, "img": images.double()})
        optimizer.zero_grad()
        loss.sum().backward()
        optimizer.step()
        print(name, "losses", [round(float(part), 3) for part in parts.values()])


for name in ("yolov8n.yaml", "yolo11n.yaml", "yolov9t.yaml"):
    trained(name)
for name in (
    "yolov5n.yaml yolov8n.yaml yolov10n.yaml yolo12n.yaml yolo11n-seg.yaml yolo11n-pose.yaml yolo11n-obb.yaml "
    "yolo11n-cls.yaml rtdetr-resnet50.yaml"
).split():
    torch.manual_seed(0)
    model = (RTDETR if "rtdetr" in name else YOLO)(name)
    model.model.eval()
    with torch.no_grad():
        answer = first(model.model(images[:1]))
    print(name, tuple(answer.shape), float(answer.double().abs().sum()))
    if name.startswith(("yolov8", "yolo11n-seg", "yolo11n-cls")):
        os.chdir(work)
        script = torch.jit.load(str(model.export(format="torchscript", imgsz=96)))
        print(name, "script", float(first(script(images[:1])).double().abs().sum()))
    if name.startswith(("yolov8", "yolo11n-pose")):
        file = str(model.export(format="onnx", imgsz=96, simplify=False, opset=17))
        found = onnxruntime.InferenceSession(file).run(None, {"images": images[:1].numpy()})[0]
        print(name, "onnx", found.shape, float(abs(found.astype("float64")).sum()))
