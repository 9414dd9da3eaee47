"""What torchvision.transforms.v2 makes of images, masks, boxes and points; the answers: vision_samples.json."""

from __future__ import annotations

import importlib
import random
import re
from typing import Any

from answers import Table, attempt, split
from vision_behaviours import module, names, told

SAMPLES = Table("vision_samples.json")


def known(torch: Any) -> dict[str, Any]:
    """What the expressions below mention."""
    V = module(torch, "tv_tensors")
    v2 = importlib.import_module(f"{module(torch, 'transforms').__name__}.v2")
    found = names(torch)
    canvas = (37, 50)
    straight = torch.tensor([[3.5, 4.0, 20.25, 30.0], [-4.0, 2.0, 60.0, 20.0], [30.0, 10.0, 44.0, 36.5]])
    turned = torch.tensor(
        [[20.0, 15.0, 12.0, 6.0, 30.0], [40.0, 20.0, 25.0, 9.0, -75.0], [3, 30, 11, 12, 170]]
    )
    F = v2.functional

    def boxes(format: str, dtype: Any = None, mode: Any = "soft") -> Any:
        """Boxes in a format."""
        kind = V.BoundingBoxFormat[format]
        old = (
            V.BoundingBoxFormat.CXCYWHR if V.is_rotated_bounding_format(format) else V.BoundingBoxFormat.XYXY
        )
        numbers = turned if V.is_rotated_bounding_format(format) else straight
        numbers = F.convert_bounding_box_format(numbers, old, kind)
        numbers = numbers if dtype is None else numbers.to(dtype)
        return V.BoundingBoxes(numbers, format=kind, canvas_size=canvas, clamping_mode=mode)

    formats = [f.value for f in V.BoundingBoxFormat]
    points = torch.tensor([[[3.0, 4.0], [20.5, 30.25]], [[49.0, 36.0], [-2.0, 50.0]]])
    image = V.Image(found["t"])
    return {
        **found,
        "F": F,
        "W": V.wrap,
        "boxes": boxes,
        "formats": formats,
        "all": [boxes(f) for f in formats] + [boxes(f, torch.int64) for f in formats[:3]],
        "straight": straight,
        "turned": turned,
        "points": V.KeyPoints(points, canvas_size=canvas),
        "whole": V.KeyPoints(points.to(torch.int64), canvas_size=canvas),
        "image": image,
        "video": V.Video(torch.stack([found["t"], found["t"].flip(-1)])),
        "m": V.Mask(found["mask"]),
        "masks": V.Mask(torch.stack([found["mask"], found["mask"].flip(0), found["mask"].flip(1)])),
        "sample": {
            "image": image,
            "boxes": boxes("XYXY"),
            "mask": V.Mask(found["mask"]),
            "points": V.KeyPoints(points, canvas_size=canvas),
            "labels": torch.tensor([5, 6, 7]),
            "name": "x",
        },
    }


def whole(value: Any) -> Any:
    """Boxes with what they note, others as `told`."""
    if hasattr(value, "canvas_size"):
        plain = value.detach().as_subclass(type(value).__mro__[2])
        kind = [type(value).__name__, str(value.dtype), str(getattr(value, "format", ""))]
        return [*kind, *value.canvas_size, plain.tolist()]
    if isinstance(value, (list, tuple)):
        return [whole(v) for v in value]
    return {k: whole(v) for k, v in value.items()} if isinstance(value, dict) else told(value)


def answers(torch: Any, texts: str) -> dict[str, Any]:
    """Each expression's result, from the same seed."""
    held = known(torch)
    found = {}
    for text in split(texts):
        torch.manual_seed(11)
        random.seed(11)
        answer = attempt(lambda text=text: whole(eval(text, held)))
        found[text] = (
            re.sub(r" of type.*| for type.*|<class.*", "", answer) if isinstance(answer, str) else answer
        )
    return found


_STEPS = """
    horizontal_flip(x)
    vertical_flip(x)
    resize(x, [20])
    resize(x, (60, 20))
    resize(x, None, max_size=30)
    resize(x, 20, "nearest")
    crop(x, 3, 4, 25, 30)
    crop(x, -3, -4, 20, 60)
    center_crop(x, 20)
    center_crop(x, (41, 63))
    resized_crop(x, 3, 4, 20, 22, (9, 19))
    pad(x, (1, 2, 3, 4))
    rotate(x, 30.0)
    rotate(x, 30.0, expand=True)
    rotate(x, 90, center=[3, 4])
    affine(x, 20.0, [3, -4], 1.2, [5.0, -3.0])
    affine(x, -20, (0, 2), 0.7, 5.0, center=[10, 12])
    perspective(x, [[0, 0], [49, 0], [49, 36], [0, 36]], [[3, 2], [45, 1], [47, 33], [2, 30]])
    elastic(x, 0.1 * torch.randn(1, 37, 50, 2))
"""


@SAMPLES
def followers(torch: Any) -> Any:
    lines = [
        f"[F.{step.replace('(x', f'({x}')} for b in {over}]"
        for step in split(_STEPS)
        for x, over in (("b", "all"), ("b", "(points, whole, m, masks, video)"))
    ]
    return answers(torch, "\n".join(lines))


@SAMPLES
def images(torch: Any) -> Any:
    lines = [
        f"[F.{step.replace('(x', '(i')} for i in (rgb, image, d)]"
        for step in split(_STEPS)
        if "interp" not in step
    ]
    more = """
        [F.rotate(x, a) for x in (t, t[..., :37]) for a in (0, 90, 180, 270)], F.rotate(t, 90, expand=True)
        F.pad(image, 2, [1, 2, 3]), F.pad(image, 2, 9), F.pad(m, 2, 1)
        F.pad(image, 2, [1, 2, 3], "edge")
        F.pad(m, 2, [1, 2])
        F.rotate(d, 40.0, "bilinear", True, fill=[0.1, 0.2, 0.3]), F.rotate(t, 40.0, "bilinear", fill=7)
        F.rotate(t, 40.0, "bicubic")
        F.rotate(t, 40.0, fill=[1, 2])
        F.resize(t, 20, "lanczos", antialias=False)
        F.resize(t, 20, "none")
        F.resize(t, 20, 3.5)
        F.resize(t, (20, 30), max_size=40)
        F.resize(t, 20, "bicubic"), F.resize(t.to(torch.int16), 20), F.resize(t, 20, "nearest-exact")
        F.five_crop(t, 10), F.ten_crop(rgb, (10, 12), True)
        F.five_crop(t, (100, 100))
        [F.adjust_brightness(x, b) for x in (rgb, image, d) for b in (0.0, 0.6, 1.7)]
        [F.adjust_contrast(x, b) for x in (rgb, image, d, t[:1]) for b in (0.0, 0.6, 1.7)]
        [F.adjust_saturation(x, b) for x in (rgb, image, d, t[:1]) for b in (0.0, 0.6, 1.7)]
        [F.adjust_hue(x, b) for x in (rgb, image, f, t[:1]) for b in (-0.5, -0.1, 0.0, 0.3)]
        [F.adjust_gamma(x, b, 1.1) for x in (rgb, image, d) for b in (0.5, 2.0)]
        [F.adjust_sharpness(x, b) for x in (rgb, image, d, video, t[..., :2]) for b in (0.0, 0.6, 1.7)]
        [F.posterize(x, 3) for x in (rgb, image, f)], [F.solarize(x, 100) for x in (rgb, image)]
        F.solarize(f, 2), 3
        F.posterize(t, 9)
        [F.invert(x) for x in (rgb, image, f, t.to(torch.int32))], [F.autocontrast(x) for x in (rgb, image, f)]
        [F.equalize(x) for x in (rgb, image, f, video)]
        [F.rgb_to_grayscale(x, n) for x in (rgb, image, f, t[:1]) for n in (1, 3)]
        F.rgb_to_grayscale(t, 2)
        [F.grayscale_to_rgb(x) for x in (grey, image, t[:1])]
        [F.permute_channels(x, [2, 0, 1]) for x in (rgb, image)]
        F.permute_channels(t, [0, 1])
        [F.gaussian_blur(x, [5, 3], [1.5]) for x in (rgb, image, d, video)], F.gaussian_blur(f, 5)
        F.gaussian_blur(t, 4)
        F.gaussian_blur(t, 3, -1.0)
        [F.gaussian_noise(x, 0.1, 0.2, c) for x in (image, d) for c in (True, False)]
        F.gaussian_noise(t, sigma=-1)
        F.gaussian_noise(t.int())
        F.gaussian_noise(rgb)
        F.normalize(f, [0.4, 0.5, 0.6], [0.2, 0.3, 0.4]), F.normalize(d, 0.5, 2.0)
        F.normalize(t, [0.5], [0.5])
        F.normalize(f, [0.5], [0.0])
        [F.to_dtype(t, x, True) for x in (torch.float32, torch.float64, torch.int32, torch.int16, torch.int64)]
        [F.to_dtype(f, x, True) for x in (torch.float64, torch.uint8, torch.int16)]
        F.to_dtype(f, torch.int32, True)
        F.to_dtype(t.to(torch.int32) << 20, torch.uint8, True)
        [F.to_dtype(x, torch.float64, True) for x in (points, m, boxes("XYWH"))]
        F.erase(image, 2, 3, 5, 6, torch.tensor([7], dtype=torch.uint8)), F.erase(rgb, 2, 3, 5, 6, 9)
        F.uniform_temporal_subsample(torch.arange(70).view(7, 1, 2, 5), 4)
        [F.get_size(x) for x in (rgb, image, m, points, boxes("XYXY"), video)], F.get_num_frames(video)
        [F.get_dimensions(x) for x in (rgb, image, video, t[0])], [F.get_num_channels(x) for x in (grey, t, video)]
        F.get_dimensions(m)
        F.resize(3, 4)
        F.resize(t)
        F.crop(t, 1, 2, 3, 4, 5)
    """
    return answers(torch, "\n".join([*lines, *split(more)]))


@SAMPLES
def boxes(torch: Any) -> Any:
    return answers(
        torch,
        """
        [F.convert_bounding_box_format(boxes(a), new_format=b) for a in formats[:3] for b in formats[:3]]
        [F.convert_bounding_box_format(boxes(a, torch.int64), new_format=b) for a in formats[:3] for b in formats[:3]]
        [F.convert_bounding_box_format(boxes(a), new_format=b) for a in formats[3:] for b in formats[3:]]
        F.convert_bounding_box_format(boxes("XYXY"), new_format="XYWHR")
        F.convert_bounding_box_format(boxes("XYXY"), "XYXY", "XYWH")
        F.convert_bounding_box_format(straight, new_format="XYWH")
        F.convert_bounding_box_format(straight)
        F.convert_bounding_box_format(3, "XYXY", "XYWH")
        [F.clamp_bounding_boxes(boxes(f, mode=c)) for f in formats for c in ("soft", "hard", None)]
        [F.clamp_bounding_boxes(boxes(f, torch.int64)) for f in formats[:3]]
        F.clamp_bounding_boxes(boxes("XYWHR"), clamping_mode="hard")
        F.clamp_bounding_boxes(straight, V.BoundingBoxFormat.XYXY, (20, 20), "soft")
        F.clamp_bounding_boxes(straight)
        F.clamp_bounding_boxes(boxes("XYXY"), "XYXY")
        F.clamp_bounding_boxes(boxes("XYXY"), clamping_mode="no")
        F.clamp_keypoints(points), F.clamp_keypoints(whole), F.clamp_keypoints(straight[:, :2], (20, 20))
        F.clamp_keypoints(straight)
        [F.sanitize_bounding_boxes(boxes(f), min_size=10)[1] for f in formats]
        F.sanitize_bounding_boxes(straight, "XYXY", (37, 50))
        F.sanitize_bounding_boxes(straight)
        F.sanitize_keypoints(points)
        F.sanitize_keypoints(straight[:, :2], (37, 50))
        V.BoundingBoxes([1, 2, 3, 4], format="xywh", canvas_size=(9, 9))
        V.BoundingBoxes([1, 2, 3, 4, 5], format="XYWHR", canvas_size=(9, 9))
        V.BoundingBoxes([[[1, 2, 3, 4]]], format="XYWH", canvas_size=(9, 9))
        V.BoundingBoxes([1, 2, 3, 4], format="XYWH", canvas_size=(9, 9), clamping_mode="no")
        V.BoundingBoxes([1, 2, 3, 4], format=3, canvas_size=(9, 9), dtype=torch.float32).format
        V.KeyPoints([1, 2], canvas_size=(9, 9)), V.KeyPoints([[1.0, 2.0]], canvas_size=(9, 9), dtype=torch.float64)
        V.KeyPoints([[1, 2, 3]], canvas_size=(9, 9))
        V.Image(torch.ones(3))
        V.Image(torch.ones(3, 4)).shape, V.Image(grey).shape, V.Mask(grey).shape, V.Image([[1, 2]]).dtype
        repr(V.BoundingBoxes([1, 2, 3, 4], format="XYWH", canvas_size=(9, 9)))
        repr(V.KeyPoints([1, 2], canvas_size=(9, 9))), repr(V.Image([[1]])), repr(V.Mask([[1]]))
        [type(x).__name__ for x in (image + 1, image.clone(), image.to(torch.float32), image.detach(), image[0])]
        [type(x).__name__ for x in (points * 2, points.clone(), boxes("XYXY").clone(), boxes("XYXY")[0], points.chunk(2)[0])]
        boxes("XYWH").clone(), boxes("XYWH").to(torch.int64), points.clone()
        W(straight[:1], like=boxes("XYXY"), canvas_size=(1, 2)), W(t, like=image).shape
        [V.is_rotated_bounding_format(f) for f in formats]
        V.is_rotated_bounding_format(3)
        V.set_return_type("x")
    """,
    )


@SAMPLES
def kept_types(torch: Any) -> Any:
    held = known(torch)
    V, image = held["V"], held["image"]
    found = []
    with V.set_return_type("TVTensor"):
        found += [type(image + 1).__name__, type(held["boxes"]("XYXY") * 2).__name__]
        found.append(str((held["boxes"]("XYWH") + 1).format))
        found.append([type(part).__name__ for part in held["points"].chunk(2)])
    found.append(type(image + 1).__name__)
    V.set_return_type("tvtensor")
    found.append(type(image * 2).__name__)
    V.set_return_type("Tensor")
    return [*found, type(image * 2).__name__]


_TRANSFORMS = """
    RandomHorizontalFlip(1.0)
    RandomVerticalFlip()
    Resize(20)
    Resize((20, 30), "bicubic")
    Resize(None, max_size=25)
    CenterCrop(20)
    RandomCrop(20, padding=3)
    RandomCrop((40, 60), pad_if_needed=True, fill={V.Image: 3, "others": 1})
    RandomResizedCrop(16)
    Pad((1, 2))
    Pad(1, fill={V.Image: [1, 2, 3], V.Mask: 4})
    RandomZoomOut(p=1.0, fill=5)
    RandomRotation(30)
    RandomRotation(30, expand=True)
    RandomAffine(30, (0.1, 0.2), (0.8, 1.2), 8)
    RandomPerspective(p=1.0)
    ElasticTransform()
    RandomIoUCrop()
    ScaleJitter((30, 30))
    RandomShortestSize([20, 25, 30], max_size=40)
    RandomResize(20, 30)
    ColorJitter(0.4, 0.3, 0.2, 0.1)
    RandomPhotometricDistort()
    RandomPhotometricDistort(p=1.0)
    RandomChannelPermutation()
    RandomGrayscale(1.0)
    Grayscale(3)
    RGB()
    GaussianBlur(5)
    GaussianNoise()
    RandomInvert(1.0)
    RandomPosterize(3, 1.0)
    RandomSolarize(100, 1.0)
    RandomAutocontrast(1.0)
    RandomEqualize(1.0)
    RandomAdjustSharpness(1.7, 1.0)
    RandomErasing(1.0)
    RandomErasing(1.0, value="random")
    ToDtype(torch.float32, scale=True)
    ToDtype({V.Image: torch.float32, V.Mask: torch.int64, "others": None}, scale=True)
    ToDtype({V.Image: torch.float32})
    ConvertImageDtype(torch.float64)
    ToPureTensor()
    ToImage()
    Identity()
    Lambda(lambda x: x + 1, V.Mask)
    ConvertBoundingBoxFormat("CXCYWH")
    ClampBoundingBoxes()
    ClampBoundingBoxes(None)
    ClampKeyPoints()
    SetClampingMode("hard")
    SetClampingMode("x")
    SanitizeBoundingBoxes()
    SanitizeBoundingBoxes(min_size=15)
    SanitizeBoundingBoxes(min_area=200, labels_getter=lambda s: (s["labels"],))
    SanitizeBoundingBoxes(labels_getter=None)
    SanitizeBoundingBoxes(labels_getter="x")
    SanitizeBoundingBoxes(min_size=0)
    SanitizeBoundingBoxes(labels_getter=lambda s: "no")
    SanitizeKeyPoints()
    RandomApply([v2.RandomHorizontalFlip(1.0)], 0.5)
    RandomChoice([v2.RandomHorizontalFlip(1.0), v2.Resize(10)], [0.2, 0.8])
    RandomOrder([v2.RandomHorizontalFlip(1.0), v2.Resize(10)])
    FiveCrop(10)
    Normalize((0.5,), (0.5,))
    JPEG((0, 3))
    JPEG(True)
    RandomCrop(80)
    Pad("a")
    Pad(1, padding_mode="x")
    RandomHorizontalFlip(2.0)
    Compose([])
    RandomChoice([v2.RGB()], [1, 2])
    ToDtype("x")
    RandomZoomOut(side_range=(0.5, 1))
    Resize("ab")
    RandomAffine(10, translate=(2, 0))
    RandomErasing(value="x")
    ColorJitter(-1)
    ColorJitter((1, 2, 3))
    ElasticTransform(alpha="a")
    GaussianBlur(4)
    GaussianBlur(3, (2.0, 1.0))
    RandomRotation(-3)
"""


@SAMPLES
def transforms(torch: Any) -> Any:
    lines = [
        f"[(torch.manual_seed(s), v2.{line}(sample))[1] for s in range(3)]" for line in split(_TRANSFORMS)
    ]
    reprs = [f"repr(v2.{line})" for line in split(_TRANSFORMS) if "lambda" not in line]
    return answers(torch, "\n".join([*lines, *reprs]))


@SAMPLES
def nests(torch: Any) -> Any:
    return answers(
        torch,
        """
        v2.RandomHorizontalFlip(1.0)(rgb, 3), v2.RandomHorizontalFlip(1.0)([t, {"a": (m, t)}, None])
        v2.RandomCrop(10)(rgb, m, points)
        v2.RandomCrop(10)(rgb, t)
        v2.RandomCrop(10)("x")
        v2.RandomResize(10, 12)(video, 3), v2.ColorJitter(0.5)(video)
        v2.RandomIoUCrop()(image)
        v2.RandomIoUCrop([0.0])(rgb, boxes("XYWH"))
        v2.Compose([v2.RGB(), v2.ToImage(), v2.ToDtype(torch.float32, scale=True), v2.Normalize([0.5], [0.5])])(grey)
        v2.Normalize([0.5], [0.5])(rgb)
        v2.LinearTransformation(torch.eye(12), torch.ones(12))(V.Image(torch.arange(12.0).view(3, 2, 2)))
        v2.LinearTransformation(torch.eye(12), torch.ones(12))(rgb)
        v2.LinearTransformation(torch.ones(2, 3), torch.ones(2))
        v2.LinearTransformation(torch.eye(12), torch.ones(11))
        v2.ToPILImage()(image), v2.PILToTensor()(rgb), v2.ToImage()(array), v2.ToTensor()(rgb)
        v2.UniformTemporalSubsample(3)(video)
        v2.FiveCrop(10)(image), v2.TenCrop(10, True)(rgb)
        v2.MixUp(num_classes=4)(f[None].repeat(3, 1, 1, 1) * torch.tensor([1, 2, 3]).view(3, 1, 1, 1), torch.tensor([0, 3, 2]))
        v2.CutMix(num_classes=4)(f[None].repeat(3, 1, 1, 1) * torch.tensor([1, 2, 3]).view(3, 1, 1, 1), torch.tensor([0, 3, 2]))
        v2.MixUp(alpha=0.3)({"im": V.Image(f[None].repeat(2, 1, 1, 1)), "my_label": torch.eye(2), "x": "y"})
        v2.CutMix(alpha=0.3, labels_getter=lambda s: s["k"])({"im": V.Video(f[None, None].repeat(2, 1, 1, 1, 1)), "k": torch.eye(2)})
        v2.MixUp()(t[None], torch.tensor([0]))
        v2.MixUp(num_classes=3)(t, torch.tensor([0]))
        v2.MixUp(num_classes=3)(f[None], torch.tensor([0, 1]))
        v2.MixUp(num_classes=3)(f[None], torch.eye(2))
        v2.MixUp(num_classes=3)(f[None], torch.tensor(3))
        v2.MixUp(num_classes=3)(rgb, torch.tensor([3]))
        v2.MixUp(num_classes=3)({"a": f[None]})
        v2.MixUp(num_classes=3)(f[None], 3)
        v2.has_any([rgb, m], V.Mask), v2.has_all([rgb, m], V.Mask, V.Image), v2.check_type(m, (V.Image, V.Mask))
        v2.get_bounding_boxes([t, boxes("XYXY")]), v2.get_keypoints([points])
        v2.get_bounding_boxes([t])
        v2.get_keypoints([t])
        v2.query_size([rgb, points, m]), v2.query_chw([image, t])
        v2.query_size([3])
        v2.query_chw([m])
        v2.query_size([rgb, t[:, 1:], t[:, 2:]])
        v2.query_chw([grey, t])
        v2.RandomErasing(1.0, value=[1, 2])(t)
        F.register_kernel("no", V.Image)
        F.register_kernel(len, V.Image)
        F.register_kernel("resize", V.Image)
        F.register_kernel("resize", int)
    """,
    )


@SAMPLES
def own_kernels(torch: Any) -> Any:
    held = known(torch)
    V, F, v2 = held["V"], held["F"], held["v2"]

    class Named(V.TVTensor):
        """A tensor that notes what was done to it."""

    @F.register_kernel(functional="horizontal_flip", tv_tensor_cls=Named)
    def flip(inpt: Any, *args: Any, **kwargs: Any) -> Any:
        return V.wrap(inpt.flip(0), like=inpt)

    @F.register_kernel(F.resize, Named)
    def resized(inpt: Any, size: Any, **kwargs: Any) -> Any:
        return sorted(kwargs), size

    class Mine(v2.Transform):
        """Draws a number and adds it."""

        def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
            return {"more": int(torch.randint(5, 9, ())), "seen": len(flat_inputs)}

        def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
            return inpt + params["more"] + params["seen"] if isinstance(inpt, torch.Tensor) else inpt

    mine = Named(torch.tensor([1, 2, 3]))
    return [
        v2.RandomHorizontalFlip(1.0)({"x": mine})["x"].tolist(),
        F.resize(mine, 3),
        v2.RandomVerticalFlip(1.0)(mine).tolist(),
        attempt(lambda: F.vertical_flip(mine))[:60],
        [x.tolist() for x in Mine()([torch.tensor([1]), mine])],
        attempt(lambda: F.register_kernel(F.resize, Named)(resized))[:11],
    ]
