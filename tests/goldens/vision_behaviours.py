"""What torchvision does, as functions of torch; its answers: vision_behaviours.json."""

from __future__ import annotations

import importlib
import os
import random
import tempfile
from typing import Any

import numpy as np
from answers import Table, attempt, split

VISION = Table("vision_behaviours.json")


def module(torch: Any, name: str = "") -> Any:
    """A module of torchvision, or Rushlight's of that name."""
    root = "torchvision" if torch.__name__ == "torch" else "rushlight_vision"
    return importlib.import_module(f"{root}.{name}" if name else root)


def picture(h: int, w: int, mode: str = "RGB", k: int = 0) -> Any:
    """An image of smooth waves and some noise."""
    from PIL import Image

    bands = {"RGB": 3, "L": 1, "RGBA": 4, "1": 1, "P": 3, "LA": 2, "I": 1, "F": 1}[mode]
    y, x, c = np.mgrid[0:h, 0:w, 0:bands]
    values = 127 + 90 * np.sin(x / (5 + c) + k) * np.cos(y / 7 + c) + (x * 7 + y * 13 + c * 29) % 31
    array = values.astype(np.uint8)
    if mode in ("1", "P"):
        return Image.fromarray(array.squeeze() if mode == "1" else array).convert(mode)
    if mode in ("I", "F"):
        return Image.fromarray((array.squeeze() * 3).astype(np.int32 if mode == "I" else np.float32))
    return Image.fromarray(array.squeeze())


def told(value: Any) -> Any:
    """Images and large tensors by size and some of their values."""
    if hasattr(value, "getbands"):
        return [value.mode, *told(np.asarray(value))]
    if isinstance(value, np.ndarray):
        flat = value.reshape(-1)
        return [
            list(value.shape),
            str(value.dtype),
            [v.item() for v in flat[:: max(flat.size // 23, 1)]],
            round(float(flat.astype(np.float64).sum()), 2 if value.dtype.kind == "f" else 0),
        ]
    if hasattr(value, "detach") and value.numel() > 9:
        name = type(value).__name__
        return [name, list(value.shape), value.detach().reshape(-1)[:: max(value.numel() // 23, 1)]]
    if isinstance(value, (list, tuple)):
        return [told(v) for v in value]
    return {k: told(v) for k, v in value.items()} if isinstance(value, dict) else value


def names(torch: Any) -> dict[str, Any]:
    """What the expressions below mention."""
    T = module(torch, "transforms")
    v2 = importlib.import_module(f"{T.__name__}.v2")
    rgb = picture(37, 50)
    tensor = torch.from_numpy(np.array(rgb)).permute(2, 0, 1)
    return {
        "torch": torch,
        "T": T,
        "v2": v2,
        "F": T.functional,
        "V": module(torch, "tv_tensors"),
        "np": np,
        "M": T.InterpolationMode,
        "rgb": rgb,
        "grey": picture(37, 50, "L"),
        "picture": picture,
        "t": tensor,
        "f": tensor.to(torch.float32) / 255,
        "d": tensor.to(torch.float64) / 255,
        "U": module(torch, "utils"),
        "array": np.array(rgb),
        "label": 7,
        "mask": tensor[0] // 64,
    }


def answers(torch: Any, texts: str) -> dict[str, Any]:
    """Each expression's result, from the same seed."""
    known = names(torch)
    found = {}
    for text in split(texts):
        torch.manual_seed(11)
        random.seed(11)
        found[text] = attempt(lambda text=text: told(eval(text, known)))  # noqa: S307 - our own texts
    return found


@VISION
def conversions(torch: Any) -> Any:
    return answers(
        torch,
        """
        [F.to_tensor(picture(6, 7, m)) for m in ("RGB", "L", "RGBA", "1", "P", "LA", "I", "F")]
        [F.pil_to_tensor(picture(6, 7, m)) for m in ("RGB", "L", "RGBA", "1", "P", "LA", "I", "F")]
        F.to_tensor(array)
        F.to_tensor(array[..., 0])
        F.to_tensor(array.astype(np.float64))
        F.to_tensor(array[None])
        F.pil_to_tensor(array)
        F.to_pil_image(t)
        F.to_pil_image(f)
        F.to_pil_image(f[:1])
        F.to_pil_image(f[0])
        F.to_pil_image(f[:1], "F")
        F.to_pil_image(t[:2])
        F.to_pil_image(torch.cat((t, t[:1])), "CMYK")
        F.to_pil_image(torch.cat((t, t)))
        F.to_pil_image(t, "L")
        F.to_pil_image(t[:1].to(torch.int16))
        F.to_pil_image(t[:1].to(torch.int32))
        F.to_pil_image(array)
        F.to_pil_image(array[..., 0])
        F.to_pil_image(t[None])
        F.to_pil_image("no")
        [F.convert_image_dtype(t, x) for x in (torch.float32, torch.float64, torch.int32, torch.uint8, torch.int16)]
        [F.convert_image_dtype(f, x) for x in (torch.float64, torch.uint8, torch.int16)]
        F.convert_image_dtype(f, torch.int32)
        F.convert_image_dtype(d, torch.int64)
        F.convert_image_dtype(t.to(torch.int32) << 20, torch.uint8)
        F.normalize(f, (0.4, 0.5, 0.6), (0.2, 0.3, 0.4))
        F.normalize(f, 0.5, 0.5)
        F.normalize(t, (0.5,), (0.5,))
        F.normalize(f[0], (0.5,), (0.5,))
        F.normalize(f, (0.5,), (0.0,))
        F.normalize(rgb, (0.5,), (0.5,))
        F.get_dimensions(rgb), F.get_dimensions(t), F.get_image_size(rgb), F.get_image_num_channels(grey)
        F.get_dimensions(3)
    """,
    )


@VISION
def geometry(torch: Any) -> Any:
    return answers(
        torch,
        """
        [F.resize(rgb, s) for s in (20, [20], (60, 20), (37, 50))]
        [F.resize(rgb, 20, m) for m in (M.NEAREST, M.BICUBIC, M.BOX, M.HAMMING, M.LANCZOS, M.NEAREST_EXACT)]
        F.resize(rgb, 30, max_size=35), F.resize(picture(50, 37), 30, max_size=35)
        F.resize(rgb, 30, max_size=30)
        F.resize(rgb, 20, 3)
        F.resize(rgb, 20, "bilinear")
        [F.resize(d, (20, 61), m) for m in (M.NEAREST, M.BILINEAR, M.BICUBIC, M.NEAREST_EXACT)]
        F.resize(d, 20, antialias=False)
        F.resize(t, (20, 61), M.BILINEAR)
        [F.center_crop(x, s) for x in (rgb, t) for s in (20, (11, 14), (40, 20), (41, 63))]
        [F.crop(x, *w) for x in (rgb, t) for w in ((3, 4, 5, 6), (-3, -4, 20, 20), (30, 40, 20, 20))]
        F.resized_crop(rgb, 3, 4, 20, 22, (9, 9))
        [F.hflip(x) for x in (rgb, t)], [F.vflip(x) for x in (rgb, t)]
        [F.pad(x, p) for x in (rgb, grey, t) for p in (3, (1, 2), (1, 2, 3, 4))]
        [F.pad(x, (1, 2, 3, 4), padding_mode=m) for x in (rgb, grey, t) for m in ("edge", "reflect", "symmetric")]
        F.pad(rgb, 2, 9), F.pad(rgb, 2, (1, 2, 3)), F.pad(picture(5, 5, "P"), 2), F.pad(t, 2, 9)
        F.pad(rgb, (1, 2, 3))
        F.pad(rgb, 1, padding_mode="no")
        [F.rotate(x, 30.0, **k) for x in (rgb, t, d) for k in ({}, {"expand": True}, {"center": (3, 4)})]
        [F.rotate(x, -17.0, M.BILINEAR, fill=[9.0]) for x in (grey, t[:1], d[:1])]
        F.rotate(d, 40.0, M.BILINEAR, True, fill=[0.1, 0.2, 0.3]), F.rotate(rgb, 40.0, fill=(1, 2, 3))
        [F.affine(x, 20.0, [3, -4], 1.2, [5.0, -3.0], m) for x in (rgb, t, d) for m in (M.NEAREST, M.BILINEAR)]
        [F.affine(x, -20.0, [0, 2], 0.7, [5.0], center=[10, 12]) for x in (rgb, d)]
        F.affine(rgb, 0.0, [1], 1.0, [0.0])
        F.affine(rgb, 0.0, [1, 1], 0.0, [0.0])
        F.erase(t, 1, 2, 3, 4, torch.zeros(3, 1, 1, dtype=torch.uint8))
    """,
    )


@VISION
def colours(torch: Any) -> Any:
    return answers(
        torch,
        """
        [F.adjust_brightness(x, b) for x in (rgb, grey, t, d) for b in (0.0, 0.6, 1.7)]
        [F.adjust_contrast(x, b) for x in (rgb, grey, t, d, t[:1]) for b in (0.0, 0.6, 1.7)]
        [F.adjust_saturation(x, b) for x in (rgb, grey, t, d, t[:1]) for b in (0.0, 0.6, 1.7)]
        [F.adjust_hue(x, b) for x in (rgb, grey, t, d, t[:1]) for b in (-0.5, -0.1, 0.0, 0.3)]
        F.adjust_brightness(t, -1.0)
        F.adjust_hue(rgb, 0.6)
        F.adjust_hue(t, 0.6)
        [F.rgb_to_grayscale(x, n) for x in (rgb, t, d) for n in (1, 3)]
        F.rgb_to_grayscale(t, 2)
        F.to_grayscale(rgb, 3)
    """,
    )


_MAKERS = """
    {m}.RandomCrop(20)
    {m}.RandomCrop((20, 24), padding=4)
    {m}.RandomCrop(32, padding=(1, 2, 3, 4), padding_mode="reflect")
    {m}.RandomCrop((40, 60), pad_if_needed=True, fill=3)
    {m}.RandomResizedCrop(16)
    {m}.RandomResizedCrop((16, 20), (0.2, 0.4), (1.0, 1.2), M.BICUBIC)
    {m}.RandomResizedCrop(16, (1.0, 1.0), (3.0, 3.1))
    {m}.RandomHorizontalFlip()
    {m}.RandomVerticalFlip(0.6)
    {m}.ColorJitter(0.4, 0.3, 0.2, 0.1)
    {m}.ColorJitter(brightness=(0.5, 0.6))
    {m}.RandomRotation(30)
    {m}.RandomRotation((10, 40), M.BILINEAR, expand=True, fill=5)
    {m}.RandomAffine(30)
    {m}.RandomAffine((5, 10), (0.1, 0.2), (0.8, 1.2), 8)
    {m}.RandomAffine(10, shear=(1, 2, 3, 4), interpolation=M.BILINEAR)
    {m}.RandomGrayscale(0.5)
    {m}.RandomApply([{m}.ColorJitter(0.4), {m}.RandomCrop(20)], 0.6)
    {m}.RandomChoice([{m}.RandomCrop(20), {m}.RandomCrop(21), {m}.RandomCrop(22)])
    {m}.RandomChoice([{m}.RandomCrop(20), {m}.RandomCrop(21)], [0.3, 0.7])
    {m}.RandomOrder([{m}.RandomCrop(20), {m}.ColorJitter(0.4), {m}.RandomRotation(9)])
    {m}.Compose([{m}.Resize(24), {m}.CenterCrop(20), {m}.RandomHorizontalFlip()])
    {m}.Compose([{m}.RandomCrop(20, padding=4), {m}.RandomHorizontalFlip(), {m}.ToTensor()])
    {m}.Grayscale(3)
    {m}.Pad((1, 2))
"""
_TENSORS = """
    {m}.RandomErasing(1.0)
    {m}.RandomErasing(0.5, value="random")
    {m}.RandomErasing(1.0, (0.1, 0.2), (0.5, 2.0), (0.1, 0.2, 0.3))
    {m}.Normalize((0.4, 0.5, 0.6), (0.2, 0.3, 0.4))
    {m}.Compose([{m}.ConvertImageDtype(torch.float32), {m}.RandomErasing()])
"""


def _runs(torch: Any, package: str) -> Any:
    lines = [
        (line.format(m=package), x)
        for text, xs in ((_MAKERS, ("rgb", "f")), (_TENSORS, ("f",)))
        for line in split(text)
        for x in xs
        if not (x == "f" and "ToTensor" in line)
    ]
    return answers(
        torch, "\n".join(f"[(torch.manual_seed(s), ({line})({x}))[1] for s in range(3)]" for line, x in lines)
    )


@VISION
def random_transforms(torch: Any) -> Any:
    return _runs(torch, "T")


@VISION
def random_transforms_v2(torch: Any) -> Any:
    return _runs(torch, "v2")


@VISION
def reprs(torch: Any) -> Any:
    texts = [
        line.format(m="T")
        for line in split(_MAKERS + _TENSORS)
        if "RandomChoice" not in line and "RandomApply" not in line
    ]
    return answers(
        torch,
        "\n".join(
            f"repr({text})"
            for text in [
                *texts,
                "T.ToPILImage()",
                "T.ToPILImage('L')",
                "T.PILToTensor()",
                "T.Lambda(len)",
                "T.Resize(3)",
                "T.Resize((3, 4), M.BICUBIC)",
            ]
        ),
    )


@VISION
def mistakes(torch: Any) -> Any:
    return answers(
        torch,
        """
        T.RandomCrop(80)(rgb)
        T.RandomRotation(-3)
        T.ColorJitter(brightness=-1)
        T.ColorJitter(hue=0.7)
        T.ColorJitter(brightness=(2, 1))
        T.CenterCrop((1, 2, 3))
        T.RandomErasing(1.0, value=(1, 2))(d)
        T.RandomErasing(value="no")
        T.Normalize((0.5,), (0.5,))(rgb)
        T.Resize("a")
        T.Lambda(3)
        T.ToTensor()(3)
    """,
    )


@VISION
def samples(torch: Any) -> Any:
    return answers(
        torch,
        """
        v2.RandomCrop(20)(rgb, 7)
        v2.RandomCrop(20)({"image": rgb, "label": 7, "more": [t, "x"]})
        v2.RandomHorizontalFlip(1.0)(t, t)
        v2.Compose([v2.ToImage(), v2.ToDtype(torch.float32, scale=True), v2.Normalize((0.5,), (0.5,))])(rgb)
        v2.Compose([v2.ToImage(), v2.RandomRotation(30, M.BILINEAR)])(rgb, V.Mask(mask))
        v2.Compose([v2.ColorJitter(0.5), v2.RandomResizedCrop(16)])(V.Image(f), V.Mask(mask), 3)
        v2.ToDtype(torch.float64, scale=True)(V.Image(t), V.Mask(mask))
        v2.ToDtype({V.Image: torch.float32, V.Mask: torch.int64, "others": None}, scale=True)(V.Image(t), V.Mask(mask), 3)
        v2.ToDtype(torch.float32)(t)
        type(V.Image(t) + 1).__name__, type(V.Image(t).clone()).__name__, V.Image(t[0]).shape
        v2.ToPureTensor()(V.Image(t))
        v2.ToImage()(array)
        v2.ToImage()(array[..., 0])
        v2.ToPILImage()(t)
        v2.Lambda(lambda x: x)(rgb)
        v2.Identity()(rgb, 3)
        [v2.functional.get_size(rgb), v2.functional.to_image(rgb), v2.functional.horizontal_flip(t)]
        v2.functional.to_dtype(t, torch.float32, scale=True)
    """,
    )


@VISION
def grids(torch: Any) -> Any:
    return answers(
        torch,
        """
        U.make_grid(torch.stack([f] * 5))
        U.make_grid([f, f, f], nrow=2, padding=1, pad_value=0.5)
        U.make_grid(f), U.make_grid(f[0]), U.make_grid(f[:, None])
        U.make_grid(torch.stack([f - 1, f * 3]), normalize=True)
        U.make_grid(torch.stack([f - 1, f * 3]), normalize=True, scale_each=True)
        U.make_grid(torch.stack([f - 1, f * 3]), normalize=True, value_range=(-0.5, 2))
        U.make_grid("no")
    """,
    )


@VISION
def data_sets(torch: Any) -> Any:
    """Files that this function writes, read by their classes."""
    D, T = module(torch, "datasets"), module(torch, "transforms")
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as root:
        raw = os.path.join(root, "MNIST", "raw")
        os.makedirs(raw)
        for part, n in (("train", 6), ("t10k", 3)):
            images, labels = np.arange(n * 28 * 28, dtype=np.uint8), np.arange(n, dtype=np.uint8)
            for kind, sizes, data in (("images-idx3", (n, 28, 28), images), ("labels-idx1", (n,), labels)):
                with open(os.path.join(raw, f"{part}-{kind}-ubyte"), "wb") as file:
                    file.write(
                        bytes([0, 0, 8, len(sizes)]) + np.array(sizes, ">i4").tobytes() + data.tobytes()
                    )
        for train in (True, False):
            data = D.MNIST(root, train, T.ToTensor(), target_transform=T.Lambda(str))
            found[f"mnist {train}"] = told(
                [
                    data.data,
                    data.targets,
                    len(data),
                    list(data[2]),
                    data.classes,
                    repr(data).replace(root, "ROOT").split(" at 0x")[0],
                    data.class_to_idx,
                ]
            )
        found["nothing"] = attempt(lambda: D.FashionMNIST(root))
        found["no cifar"] = attempt(lambda: D.CIFAR10(root))
        folder = os.path.join(root, "folder")
        for i, name in enumerate(("b/1.png", "a/2.png", "a/x/0.jpg", "a/no.txt", "b/z.PNG")):
            os.makedirs(os.path.dirname(os.path.join(folder, name)), exist_ok=True)
            picture(9, 8, "L", i).save(os.path.join(folder, name), format="PNG")
        data = D.ImageFolder(folder, T.PILToTensor())
        found["folder"] = told(
            [
                data.classes,
                data.class_to_idx,
                [(p[len(folder) :], y) for p, y in data.samples],
                data.targets,
                list(data[1]),
                repr(data).replace(root, "ROOT"),
            ]
        )
        found["empty"] = attempt(lambda: D.DatasetFolder(folder, len, (".wav",)))
        found["no folder"] = attempt(lambda: D.ImageFolder(os.path.join(folder, "b")))
        found["valid"] = D.DatasetFolder(
            folder, len, is_valid_file=lambda p: p.endswith("txt"), allow_empty=True
        ).targets
        found["fake"] = told(
            [list(D.FakeData(9, (3, 8, 8), 10, T.ToTensor(), random_offset=2)[i]) for i in (0, 8)]
        )
    return {
        k.replace(root, "ROOT"): v.replace(root, "ROOT") if isinstance(v, str) else v
        for k, v in found.items()
    }
