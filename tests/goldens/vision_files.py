"""What torchvision draws, reads and writes, and how it wraps data sets; the answers: vision_files.json."""

from __future__ import annotations

import json
import sys
import types
from pathlib import Path
from typing import Any

from answers import Table, attempt, split
from vision_behaviours import module, told
from vision_samples import known, whole
from vision_sets import _Coco, pixels, text, within

FILES = Table("vision_files.json")


def asked(torch: Any, texts: str, **more: Any) -> dict[str, Any]:
    """Each expression's result."""
    held = {**known(torch), "IO": module(torch, "io"), "U": module(torch, "utils"), **more}
    return {t: attempt(lambda t=t: told(eval(t, held))) for t in split(texts)}


@FILES
def drawing(torch: Any) -> Any:
    flow = torch.stack([torch.linspace(-3, 3, 30).view(5, 6), torch.linspace(2, -1, 30).view(6, 5).T])
    return asked(
        torch,
        """
        U.draw_bounding_boxes(t, box)
        U.draw_bounding_boxes(t, box, colors=["red", (1, 2, 3)], fill=True, width=3)
        U.draw_bounding_boxes(f, box, colors="blue"), U.draw_bounding_boxes(t[:1], box)
        U.draw_bounding_boxes(t, torch.tensor([[5, 5, 30, 9, 28, 20, 3, 16]]), colors="red")
        U.draw_bounding_boxes(t, box, colors=["red"])
        U.draw_bounding_boxes(t, box, colors=3)
        U.draw_bounding_boxes(t, box, colors=(1, 2))
        U.draw_bounding_boxes(t, box, labels=["a"])
        U.draw_bounding_boxes(t, box.flip(1))
        U.draw_bounding_boxes(t[None], box)
        U.draw_bounding_boxes(t.int(), box)
        U.draw_bounding_boxes(t[:2], box)
        U.draw_bounding_boxes(3, box)
        U.draw_bounding_boxes(t, box[:0])
        [U.draw_segmentation_masks(x, two, a) for x in (t, f) for a in (0.8, 0.3)]
        U.draw_segmentation_masks(t, two[0], colors="red"), U.draw_segmentation_masks(t, two, colors=["red", (9, 8, 7)])
        U.draw_segmentation_masks(t, two.int())
        U.draw_segmentation_masks(t, two[:, 1:])
        U.draw_segmentation_masks(t[:1], two)
        U.draw_segmentation_masks(t, two[None])
        U.draw_keypoints(t, dots, colors="red"), U.draw_keypoints(f, dots, [(0, 1)], "blue", 1, 2)
        U.draw_keypoints(t, dots, [(0, 1)], (9, 8, 7), visibility=torch.tensor([[1, 0], [1, 1]]))
        U.draw_keypoints(t, dots[0])
        U.draw_keypoints(t, dots, visibility=torch.ones(2, 3))
        U.flow_to_image(flow), U.flow_to_image(torch.stack([flow, flow * 2]))
        U.flow_to_image(flow.double())
        U.flow_to_image(flow[:1])
        """,
        box=torch.tensor([[3, 4, 20, 30], [10, 5, 44, 18]]),
        two=torch.stack(
            [torch.ones(37, 50).tril() > 0, torch.ones(37, 50).triu(5) > 0, torch.ones(37, 50).tril(-20) > 0]
        )[1:],
        dots=torch.tensor([[[3, 4], [20, 30]], [[10, 5], [44, 18]]]),
        flow=flow,
    )


@FILES
def wrapping(torch: Any) -> Any:
    def build(root: Path) -> None:
        for k in range(2):
            pixels(root / f"{k}.jpg", k)
            pixels(root / "JPEGImages" / f"{k}.jpg", k)
        rows = [{"image_id": 0, "bbox": [k, 1, 2, 3], "category_id": k + 4, "area": k} for k in range(2)]
        images = [{"id": k, "file_name": f"{k}.jpg"} for k in range(2)]
        text(root / "a.json", json.dumps({"images": images, "annotations": rows}))
        home = root / "VOCdevkit" / "VOC2012"
        pixels(home / "JPEGImages" / "a.jpg")
        pixels(home / "SegmentationClass" / "a.png", mode="L")
        box = "<bndbox><xmin>1</xmin><ymin>0</ymin><xmax>3</xmax><ymax>2</ymax></bndbox>"
        text(home / "Annotations/a.xml", f"<annotation><object><name>cat</name>{box}</object></annotation>")
        for kind in ("Main", "Segmentation"):
            text(home / "ImageSets" / kind / "train.txt", "a\n")
        kitti = root / "Kitti" / "raw" / "training"
        pixels(kitti / "image_2" / "0.png")
        text(kitti / "label_2" / "0.txt", "Van 0.00 1 -1.5 1.0 2.0 3.0 4.5 1.1 1.2 1.3 4.0 5.0 6.0 -1.25\n")
        pixels(root / "plain" / "a" / "0.png")

    def coco(D: Any, root: Path, **how: Any) -> Any:
        return D.wrap_dataset_for_transforms_v2(D.CocoDetection(root, str(root / "a.json")), **how)

    def wrapped(D: Any, data: Any, **how: Any) -> Any:
        found = D.wrap_dataset_for_transforms_v2(data, **how)
        return [
            type(found).__name__,
            isinstance(found, type(data)),
            [whole(found[k]) for k in range(len(found))],
        ]

    stand_in = types.ModuleType("pycocotools.coco")
    stand_in.COCO = _Coco  # type: ignore[attr-defined]
    before = {name: sys.modules.get(name) for name in ("pycocotools", "pycocotools.coco")}
    sys.modules.update({"pycocotools": types.ModuleType("pycocotools"), "pycocotools.coco": stand_in})
    v2 = known(torch)["v2"]
    both = v2.Compose([v2.ToImage(), v2.RandomHorizontalFlip(1.0)])
    try:
        return within(
            torch,
            build,
            lambda D, root: [whole(coco(D, root)[k]) for k in range(2)],
            lambda D, root: sorted(coco(D, root, target_keys="all")[1][1]),
            lambda D, root: whole(coco(D, root, target_keys=["area", "boxes"])[0]),
            lambda D, root: coco(D, root, target_keys=["x"]),
            lambda D, root: coco(D, root, target_keys=3),
            lambda D, root: wrapped(D, D.VOCDetection(root)),
            lambda D, root: wrapped(D, D.VOCDetection(root), target_keys="all"),
            lambda D, root: wrapped(D, D.VOCSegmentation(root, transforms=both)),
            lambda D, root: wrapped(D, D.Kitti(root)),
            lambda D, root: wrapped(D, D.Kitti(root), target_keys=["type", "labels"]),
            lambda D, root: wrapped(D, D.ImageFolder(root / "plain", transform=v2.ToImage())),
            lambda D, root: wrapped(D, D.ImageFolder(root / "plain"), target_keys=["a"]),
            lambda D, root: wrapped(D, D.FakeData(2, (3, 4, 4))),
            lambda D, root: wrapped(D, [1]),
        )[1:]
    finally:
        for name, module_before in before.items():
            if module_before is None:
                del sys.modules[name]
            else:
                sys.modules[name] = module_before
