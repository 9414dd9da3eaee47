"""What torchvision's data sets read off small made-up files of theirs; the answers: vision_sets.json."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import json
import lzma
import os
import sys
import tarfile
import tempfile
import types
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from answers import Table, attempt
from vision_behaviours import module, told

SETS = Table("vision_sets.json")


def pixels(path: Path, k: int = 0, side: int = 4, mode: str = "RGB") -> None:
    """An image of a few pixels (as PNG, whatever its name says)."""
    from PIL import Image

    path.parent.mkdir(parents=True, exist_ok=True)
    bands = 3 if mode == "RGB" else 1
    values = (np.arange(side * side * bands) * 7 + k * 31) % 251
    Image.fromarray(values.astype(np.uint8).reshape((side, side, bands)[: 2 + (bands == 3)])).save(
        path, "PNG"
    )


def text(path: Path, content: str) -> None:
    """A file of text."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)


def matrices(path: Path, **held: Any) -> None:
    """A file of MATLAB."""
    from scipy.io import savemat

    path.parent.mkdir(parents=True, exist_ok=True)
    savemat(path, held)


def idx(array: Any) -> bytes:
    """MNIST's format."""
    kind = 12 if array.dtype.itemsize == 4 else 8
    data = array.astype(">i4") if kind == 12 else array
    return bytes([0, 0, kind, array.ndim]) + np.array(array.shape, ">i4").tobytes() + data.tobytes()


def shown(data: Any, root: Path, *attributes: str) -> Any:
    """A set's length, text, samples in order of their texts, and attributes; the folder left out."""

    def clean(value: Any) -> Any:
        if isinstance(value, (str, os.PathLike)):
            return str(value).replace(str(root), "ROOT")
        if isinstance(value, np.generic):
            return value.item()
        if isinstance(value, (list, tuple)):
            return [clean(v) for v in value]
        return {k: clean(v) for k, v in value.items()} if isinstance(value, dict) else value

    samples = [clean(told(data[k])) for k in range(len(data))]
    held = {name: clean(told(getattr(data, name))) for name in attributes}
    return {
        "length": len(data),
        "text": clean(repr(data)),
        "samples": sorted(samples, key=lambda sample: str(sample)),
        "held": held,
    }


def within(torch: Any, build: Callable[[Path], None], *makers: Callable[[Any, Path], Any]) -> list[Any]:
    """What each maker(datasets, folder) answers: first with an empty folder, then with the files built."""
    D = module(torch, "datasets")
    utils = module(torch, "datasets.utils")
    known, before = utils.check_md5, os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "root"
        root.mkdir()

        def asked(maker: Callable[[Any, Path], Any]) -> Any:
            found = attempt(lambda: maker(D, root))
            return found.replace(folder, "")[:90] if isinstance(found, str) else found

        found = [asked(maker) for maker in makers[:1]]
        build(root)
        utils.check_md5 = lambda *_, **__: True  # the files are made up
        os.chdir(folder)
        try:
            return [*found, *map(asked, makers)]
        finally:
            utils.check_md5 = known
            os.chdir(before)


@SETS
def voc(torch: Any) -> Any:
    def build(root: Path) -> None:
        home = root / "VOCdevkit" / "VOC2012"
        for k, name in enumerate(("a1", "b2")):
            pixels(home / "JPEGImages" / f"{name}.jpg", k)
            pixels(home / "SegmentationClass" / f"{name}.png", k, mode="L")
            thing = f"<object><name>cat</name><bndbox><xmin>{k}</xmin></bndbox><part><name>p</name></part></object>"
            text(
                home / "Annotations" / f"{name}.xml",
                f"<annotation><filename>{name}</filename>\n<size><width>4</width></size>{thing * (k + 1)}"
                "</annotation>",
            )
        for kind in ("Main", "Segmentation"):
            text(home / "ImageSets" / kind / "train.txt", "a1\nb2\n")

    return within(
        torch,
        build,
        lambda D, root: shown(D.VOCDetection(str(root)), root, "annotations", "images"),
        lambda D, root: shown(D.VOCSegmentation(str(root)), root, "masks"),
        lambda D, root: D.VOCSegmentation(root, transforms=lambda x, y: (x.size, y.mode))[1],
        lambda D, root: D.VOCDetection(root, year="2013"),
        lambda D, root: D.VOCDetection(root, image_set="test"),
        lambda D, root: D.VOCDetection(root, transforms=len, transform=len),
    )


class _Coco:
    """The few methods of pycocotools.coco.COCO that sets of images call."""

    def __init__(self, path: str) -> None:
        held = json.loads(Path(path).read_text())
        self.imgs = {image["id"]: image for image in held["images"]}
        self._held = held["annotations"]

    def loadImgs(self, number: int) -> list[Any]:
        return [self.imgs[number]]

    def getAnnIds(self, number: int) -> list[int]:
        return [k for k, thing in enumerate(self._held) if thing["image_id"] == number]

    def loadAnns(self, numbers: list[int]) -> list[Any]:
        return [self._held[k] for k in numbers]


@SETS
def coco(torch: Any) -> Any:
    def build(root: Path) -> None:
        images = [{"id": 9 - k, "file_name": f"{k}.jpg"} for k in range(3)]
        things = [{"image_id": 9 - k // 2, "bbox": [k, 1, 2, 3], "caption": f"c{k}"} for k in range(4)]
        for k in range(3):
            pixels(root / f"{k}.jpg", k)
        text(root / "a.json", json.dumps({"images": images, "annotations": things}))

    stand_in = types.ModuleType("pycocotools.coco")
    stand_in.COCO = _Coco  # type: ignore[attr-defined]
    before = {name: sys.modules.get(name) for name in ("pycocotools", "pycocotools.coco")}
    sys.modules.update({"pycocotools": types.ModuleType("pycocotools"), "pycocotools.coco": stand_in})
    try:
        return within(
            torch,
            build,
            lambda D, root: shown(D.CocoDetection(root, str(root / "a.json")), root, "ids"),
            lambda D, root: shown(D.CocoCaptions(root, str(root / "a.json"), target_transform=len), root),
            lambda D, root: D.CocoDetection(root, str(root / "a.json"))["x"],
        )
    finally:
        for name, module_before in before.items():
            if module_before is None:
                del sys.modules[name]
            else:
                sys.modules[name] = module_before


@SETS
def arrays(torch: Any) -> Any:
    def build(root: Path) -> None:
        home = root / "stl10_binary"
        home.mkdir()
        for name, n in (("train", 3), ("unlabeled", 2), ("test", 2)):
            data = (np.arange(n * 3 * 96 * 96) * 3 % 253).astype(np.uint8)
            data.tofile(home / f"{name}_X.bin")
            (np.arange(n) + 1).astype(np.uint8).tofile(home / f"{name}_y.bin")
        text(home / "class_names.txt", "plane\nbird\n")
        text(home / "fold_indices.txt", "0 2 \n1 \n")
        values = (np.arange(32 * 32 * 3 * 3) % 255).astype(np.uint8).reshape(32, 32, 3, 3)
        matrices(root / "train_32x32.mat", X=values, y=np.array([[1], [10], [3]]))
        rows = [f"{k + 1} " + " ".join(f"{j + 1}:{(j % 9 - 4) / 4}" for j in range(256)) for k in range(2)]
        (root / "usps.bz2").write_bytes(bz2.compress("\n".join(rows).encode()))
        line = " ".join(["1.0", "0.0"] * 128) + " "
        text(root / "semeion.data", line + "0 " * 3 + "1 " + "0 " * 6 + "\n" + line + "1 " + "0 " * 9)
        (root / "MovingMNIST").mkdir()
        np.save(
            root / "MovingMNIST" / "mnist_test_seq.npy", np.arange(20 * 2 * 64 * 64).reshape(20, 2, 64, 64)
        )

    return within(
        torch,
        build,
        lambda D, root: shown(D.STL10(root), root, "labels", "classes"),
        lambda D, root: shown(D.STL10(root, "train+unlabeled", 0), root, "labels"),
        lambda D, root: shown(D.STL10(root, "unlabeled"), root, "labels"),
        lambda D, root: shown(D.STL10(root, "test", folds=1), root),
        lambda D, root: D.STL10(root, folds=11),
        lambda D, root: D.STL10(root, folds="x"),
        lambda D, root: D.STL10(root, "no"),
        lambda D, root: shown(D.SVHN(root), root, "labels", "data"),
        lambda D, root: D.SVHN(root, "valid"),
        lambda D, root: shown(D.USPS(root), root, "targets"),
        lambda D, root: shown(D.SEMEION(root), root, "labels"),
        lambda D, root: [
            told(D.MovingMNIST(root, split=s, split_ratio=3)[1]) for s in (None, "train", "test")
        ],
        lambda D, root: D.MovingMNIST(root, split_ratio=20),
        lambda D, root: D.MovingMNIST(root, split_ratio="a"),
    )


@SETS
def digits(torch: Any) -> Any:
    images = (np.arange(3 * 4 * 4) * 5 % 251).astype(np.uint8).reshape(3, 4, 4)
    labels = np.array([2, 0, 1], np.uint8)

    def build(root: Path) -> None:
        for name in ("FashionMNIST", "KMNIST"):
            for part in ("train", "t10k"):
                for kind, array in (("images-idx3", images), ("labels-idx1", labels)):
                    path = root / name / "raw" / f"{part}-{kind}-ubyte"
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_bytes(idx(array))
        emnist = root / "EMNIST" / "raw"
        emnist.mkdir(parents=True)
        qmnist = root / "QMNIST" / "raw"
        qmnist.mkdir(parents=True)
        for part in ("train", "test"):
            (emnist / f"emnist-letters-{part}-images-idx3-ubyte").write_bytes(idx(images))
            (emnist / f"emnist-letters-{part}-labels-idx1-ubyte").write_bytes(idx(labels))
            (qmnist / f"qmnist-{part}-images-idx3-ubyte").write_bytes(idx(images))
            more = np.arange(24, dtype=np.int32).reshape(3, 8) * 70000
            (qmnist / f"qmnist-{part}-labels-idx2-int").write_bytes(idx(more))

    return within(
        torch,
        build,
        lambda D, root: shown(D.EMNIST(root, "letters"), root, "classes", "targets"),
        lambda D, root: shown(D.EMNIST(root, "letters", train=False), root),
        lambda D, root: D.EMNIST(root, "runes"),
        lambda D, root: D.EMNIST.classes_split_dict,
        lambda D, root: shown(D.QMNIST(root), root, "targets"),
        lambda D, root: shown(D.QMNIST(root, "test", compat=False), root),
        lambda D, root: shown(D.QMNIST(root, "test50k"), root),
        lambda D, root: D.QMNIST(root, "valid"),
        lambda D, root: [shown(S(root), root, "class_to_idx") for S in (D.FashionMNIST, D.KMNIST)],
        lambda D, root: (D.QMNIST.resources, D.EMNIST.url, D.EMNIST.md5, D.FashionMNIST.resources),
    )


@SETS
def celeba(torch: Any) -> Any:
    def build(root: Path) -> None:
        home = root / "celeba"
        names = [f"00000{k}.jpg" for k in range(1, 5)]
        for k, name in enumerate(names):
            pixels(home / "img_align_celeba" / name, k)
        text(home / "list_eval_partition.txt", "".join(f"{n} {k % 2}\n" for k, n in enumerate(names)))
        text(home / "identity_CelebA.txt", "".join(f"{n} {k + 40}\n" for k, n in enumerate(names)))
        for file, head, row in (
            ("list_bbox_celeba.txt", "image_id x_1 y_1 width height", "1 2  3 4"),
            ("list_landmarks_align_celeba.txt", "lx ly rx ry", "9 8 7 6"),
            ("list_attr_celeba.txt", "Bald Young ", "-1  1"),
        ):
            text(home / file, f"4\n{head}\n" + "".join(f"{n}  {row}\n" for n in names))

    kinds = ["attr", "identity", "bbox", "landmarks"]
    return within(
        torch,
        build,
        lambda D, root: shown(D.CelebA(root, target_type=kinds), root, "attr_names", "filename", "attr"),
        lambda D, root: shown(D.CelebA(root, "all"), root, "identity"),
        lambda D, root: shown(D.CelebA(root, "valid", "bbox", target_transform=abs), root),
        lambda D, root: shown(D.CelebA(root, "VALID", []), root),
        lambda D, root: D.CelebA(root, "no"),
        lambda D, root: D.CelebA(root, target_type="no")[0],
        lambda D, root: D.CelebA(root, target_type=[], target_transform=len),
        lambda D, root: D.CelebA.file_list,
    )


@SETS
def cityscapes(torch: Any) -> Any:
    def build(root: Path) -> None:
        for k, city in enumerate(("ulm", "bonn")):
            pixels(root / "leftImg8bit" / "val" / city / f"{city}_1_leftImg8bit.png", k)
            stem = root / "gtFine" / "val" / city / f"{city}_1_gtFine_"
            for name in ("instanceIds", "labelIds", "color"):
                pixels(Path(f"{stem}{name}.png"), k, mode="L")
            text(Path(f"{stem}polygons.json"), json.dumps({"imgHeight": k}))

    kinds = ["instance", "semantic", "color", "polygon"]
    return within(
        torch,
        build,
        lambda D, root: shown(D.Cityscapes(str(root), "val", target_type=kinds), root, "mode"),
        lambda D, root: shown(D.Cityscapes(str(root), "val", target_type="semantic"), root),
        lambda D, root: D.Cityscapes(root, "train_extra"),
        lambda D, root: D.Cityscapes(root, "val", "rough"),
        lambda D, root: D.Cityscapes(root, "val", target_type="no"),
        lambda D, root: [tuple(c) for c in D.Cityscapes.classes],
    )


@SETS
def folders(torch: Any) -> Any:
    def build(root: Path) -> None:
        for k, name in enumerate(("BACKGROUND_Google", "Faces", "ant")):
            for j in range(k + 1):
                pixels(root / "caltech101" / "101_ObjectCategories" / name / f"image_{j + 1:04d}.jpg", k + j)
        for name, n in (("Faces_2", 2), ("ant", 3)):
            for j in range(n):
                path = root / "caltech101" / "Annotations" / name / f"annotation_{j + 1:04d}.mat"
                matrices(path, obj_contour=np.arange(4.0).reshape(2, 2) + j)
        for k, name in enumerate(("001.ak47", "002.flag")):
            pixels(root / "caltech256" / "256_ObjectCategories" / name / f"{k + 1:03d}_0001.jpg", k)
            text(root / "caltech256" / "256_ObjectCategories" / name / "greg", "no image")
        for k, name in enumerate(("river", "sea")):
            pixels(root / "eurosat" / "2750" / name / "x.jpg", k)
            pixels(root / "country211" / "valid" / name / "x.jpg", k)
            pixels(root / "rendered-sst2" / "valid" / ("negative", "positive")[k] / "x.png", k)
            pixels(root / "plain" / name / "deep" / f"{k}.PNG", k)
            text(root / "plain" / name / "deep" / "a.txt", "t")
            pixels(root / "SUN397" / "a" / name / "indoor" / f"sun_{k}.jpg", k)
        text(root / "SUN397" / "ClassName.txt", "/a/river/indoor\n/a/sea/indoor\n")
        for k, wnid in enumerate(("n01440764", "n02102040")):
            pixels(root / "imagenette2-160" / "val" / wnid / "x.jpeg", k)
        (root / "plain2" / "empty").mkdir(parents=True)

    return within(
        torch,
        build,
        lambda D, root: shown(D.Caltech101(root), root, "categories", "annotation_categories"),
        lambda D, root: shown(D.Caltech101(root, ["category", "annotation"]), root),
        lambda D, root: D.Caltech101(root, "no"),
        lambda D, root: shown(D.Caltech256(root), root, "categories", "y"),
        lambda D, root: shown(D.EuroSAT(root), root, "class_to_idx"),
        lambda D, root: shown(D.Country211(root, "valid"), root, "classes"),
        lambda D, root: shown(D.RenderedSST2(root, "val"), root, "class_to_idx"),
        lambda D, root: shown(D.SUN397(root), root, "classes"),
        lambda D, root: shown(D.Imagenette(root, "val", "160px"), root, "classes", "class_to_idx"),
        lambda D, root: D.Imagenette(root, size="no"),
        lambda D, root: shown(D.ImageFolder(root / "plain"), root, "imgs", "targets", "extensions"),
        lambda D, root: shown(D.DatasetFolder(str(root / "plain"), str, ".txt"), root, "samples"),
        lambda D, root: D.ImageFolder(str(root / "plain2")),
        lambda D, root: len(D.ImageFolder(str(root / "plain2"), allow_empty=True)),
        lambda D, root: D.ImageFolder(str(root / "plain2" / "empty")),
        lambda D, root: [D.folder.is_image_file(n) for n in ("a.JPG", "a.webp", "a.txt")],
        lambda D, root: D.folder.make_dataset(root, {}, ".png"),
        lambda D, root: D.folder.make_dataset(root / "plain", extensions=".png", is_valid_file=len),
        lambda D, root: D.DatasetFolder.make_dataset(root, None),
        lambda D, root: [told(f(str(root / "plain/sea/deep/1.PNG"))) for f in (D.folder.pil_loader,)],
    )


@SETS
def listed(torch: Any) -> Any:
    def build(root: Path) -> None:
        for k, name in enumerate(("pie", "cake")):
            pixels(root / "food-101" / "images" / name / "1.jpg", k)
            pixels(root / "dtd" / "dtd" / "images" / name / f"{name}_1.jpg", k)
            pixels(root / "fgvc-aircraft-2013b" / "data" / "images" / f"00{k}.jpg", k)
            pixels(root / "oxford-iiit-pet" / "images" / f"big_{name}_1.jpg", k)
            pixels(root / "oxford-iiit-pet" / "annotations" / "trimaps" / f"big_{name}_1.png", k, mode="L")
            pixels(root / "gtsrb" / "GTSRB" / "Training" / f"0000{k}" / "a.ppm", k)
            pixels(root / "gtsrb" / "GTSRB" / "Final_Test" / "Images" / f"{k}.ppm", k)
            pixels(root / "flowers-102" / "jpg" / f"image_0000{k + 1}.jpg", k)
            pixels(root / "val_256" / f"Places365_val_{k}.jpg", k)
            pixels(root / "clevr" / "CLEVR_v1.0" / "images" / "val" / f"{k}.png", k)
        text(root / "food-101" / "meta" / "train.json", json.dumps({"pie": ["pie/1"], "cake": ["cake/1"]}))
        text(root / "dtd" / "dtd" / "labels" / "val3.txt", "pie/pie_1.jpg\ncake/cake_1.jpg\n")
        data = root / "fgvc-aircraft-2013b" / "data"
        text(data / "families.txt", "A 1\nB 2\n")
        text(data / "images_family_test.txt", "000 B 2\n001 A 1\n")
        text(root / "oxford-iiit-pet" / "annotations" / "trainval.txt", "big_pie_1 2 2 1\nbig_cake_1 1 1 1\n")
        text(root / "gtsrb" / "GT-final_test.csv", "Filename;Width;ClassId\n0.ppm;4;7\n1.ppm;4;3\n")
        matrices(root / "flowers-102" / "imagelabels.mat", labels=np.array([[5, 9]]))
        sets = {"trnid": np.array([[2, 1]]), "valid": np.array([[1, 2]]), "tstid": np.array([[2, 2]])}
        matrices(root / "flowers-102" / "setid.mat", **sets)
        text(root / "categories_places365.txt", "/a/airfield 0\n/b/bar 1\n")
        text(root / "places365_val.txt", "Places365_val_0.jpg 1\nPlaces365_val_1.jpg 0\n")
        text(root / "places365_test.txt", "Places365_test_0.jpg\n")
        scenes = [{"image_filename": f"{k}.png", "objects": [1] * (k + 2)} for k in range(2)]
        text(
            root / "clevr" / "CLEVR_v1.0" / "scenes" / "CLEVR_val_scenes.json", json.dumps({"scenes": scenes})
        )
        faces = "emotion,pixels\n3," + " ".join(str(k % 200) for k in range(48 * 48)) + "\n"
        text(root / "fer2013" / "train.csv", faces)

    pets = ["category", "binary-category", "segmentation"]
    return within(
        torch,
        build,
        lambda D, root: shown(D.Food101(root), root, "classes", "_image_files", "_labels"),
        lambda D, root: D.Food101(root, "val"),
        lambda D, root: shown(D.DTD(root, "val", 3), root, "class_to_idx"),
        lambda D, root: shown(D.FGVCAircraft(root, "test", "family"), root, "class_to_idx"),
        lambda D, root: shown(D.OxfordIIITPet(root, target_types=pets), root, "classes", "bin_classes"),
        lambda D, root: shown(D.OxfordIIITPet(root, target_types=[]), root),
        lambda D, root: D.OxfordIIITPet(root, target_types=["no"]),
        lambda D, root: shown(D.GTSRB(root), root),
        lambda D, root: shown(D.GTSRB(root, "test", target_transform=abs), root),
        lambda D, root: shown(D.Flowers102(root, "train"), root),
        lambda D, root: shown(D.Flowers102(root, "test"), root, "classes"),
        lambda D, root: shown(
            D.Places365(str(root), "val", small=True), root, "classes", "targets", "variant"
        ),
        lambda D, root: D.Places365(str(root), "test").imgs[0][1],
        lambda D, root: shown(D.CLEVRClassification(root, "val"), root),
        lambda D, root: shown(D.FER2013(root), root),
        lambda D, root: D.FER2013(root, "val"),
    )


@SETS
def things(torch: Any) -> Any:
    def build(root: Path) -> None:
        home = root / "Kitti" / "raw"
        line = "Car 0.00 1 -1.5 1.0 2.0 3.0 4.5 1.1 1.2 1.3 4.0 5.0 6.0 -1.25"
        for k in range(2):
            pixels(home / "training" / "image_2" / f"00000{k}.png", k)
            pixels(home / "testing" / "image_2" / f"00000{k}.png", k)
            text(home / "training" / "label_2" / f"00000{k}.txt", "\n".join([line] * (k + 1)))
            pixels(root / "img" / f"{k}.jpg", k)
            pixels(root / "widerface" / "WIDER_val" / "images" / "0--Parade" / f"{k}.jpg", k)
            for alphabet in ("Greek", "Latin"):
                pixels(
                    root / f"omniglot-py/images_background/{alphabet}/character0{k}/{k}_01.png", k, mode="L"
                )
            pixels(root / f"2021_valid/0000{k}_Animalia_p_c{k}_o_f_g_s/{k}.jpg", k)
            pixels(root / f"2018/Plantae/{k}/{k}.jpg", k)
            pixels(root / f"2017/Plantae/leaf{k}/{k}.jpg", k)
        for name in ("WIDER_train", "WIDER_test", "wider_face_split"):
            (root / "widerface" / name).mkdir()
        text(
            root / "widerface" / "wider_face_split" / "wider_face_val_bbx_gt.txt",
            "0--Parade/0.jpg\n2\n1 2 3 4 0 1 0 1 0 1 \n5 6 7 8 1 1 0 0 0 0 \n"
            "0--Parade/1.jpg\n0\n0 0 0 0 0 0 0 0 0 0 \n",
        )
        text(root / "omniglot-py" / "images_background.zip", "")
        text(root / "notes" / "a.txt", "x")

    return within(
        torch,
        build,
        lambda D, root: shown(D.Kitti(root), root),
        lambda D, root: shown(D.Kitti(root, False), root),
        lambda D, root: shown(D.WIDERFace(root, "val"), root),
        lambda D, root: D.WIDERFace(root, "dev"),
        lambda D, root: len(D.Omniglot(root)),
        lambda D, root: D.Omniglot(root, background=False, download=False) and 1,
        lambda D, root: shown(D.INaturalist(root, "2021_valid", ["full", "class"]), root, "categories_index"),
        lambda D, root: shown(D.INaturalist(root, "2018", "super"), root, "categories_map"),
        lambda D, root: shown(D.INaturalist(root, "2017"), root, "all_categories"),
        lambda D, root: D.INaturalist(root, "2021_valid").category_name("class", 1),
        lambda D, root: D.INaturalist(root, "2021_valid").category_name("class", 9),
        lambda D, root: D.INaturalist(root, "2021_valid").category_name("no", 9),
        lambda D, root: D.INaturalist(root, "2021_valid", "super"),
        lambda D, root: D.INaturalist(root, "2016"),
    )


@SETS
def boundaries(torch: Any) -> Any:
    def build(root: Path) -> None:
        from scipy.sparse import csc_matrix

        kind = [("Boundaries", "O"), ("Segmentation", "O")]
        edges = np.empty((20, 1), object)
        for k in range(20):
            edges[k, 0] = csc_matrix(np.eye(4) * (k % 2))
        held = np.array([[(edges, np.arange(16, dtype=np.uint8).reshape(4, 4))]], kind)
        for k in range(2):
            pixels(root / "img" / f"a{k}.jpg", k)
            matrices(root / "cls" / f"a{k}.mat", GTcls=held)
        text(root / "val.txt", "a0\na1\n")

    return within(
        torch,
        build,
        lambda D, root: shown(D.SBDataset(root, "val"), root),
        lambda D, root: shown(D.SBDataset(root, "val", "segmentation"), root),
        lambda D, root: D.SBDataset(root, "test"),
    )[1:]


@SETS
def faces(torch: Any) -> Any:
    def build(root: Path) -> None:
        home = root / "lfw-py"
        for name, n in (("Ann_A", 2), ("Bob_B", 3)):
            for k in range(n):
                pixels(home / "lfw" / name / f"{name}_{k + 1:04d}.jpg", k)
        text(home / "lfw.tgz", "")
        text(home / "lfw-names.txt", "Ann_A\t2\nBob_B\t3\n")
        text(home / "people.txt", "2\n1\nAnn_A\t2\n1\nBob_B\t3\n")
        text(home / "peopleDevTest.txt", "2\nBob_B\t3\nAnn_A\t1\n")
        text(home / "pairs.txt", "1\t1\nBob_B\t1\t3\nAnn_A\t1\tBob_B\t2\n")
        text(home / "pairsDevTrain.txt", "1\nAnn_A\t1\t2\nAnn_A\t2\tBob_B\t1\n")

    return within(
        torch,
        build,
        lambda D, root: shown(D.LFWPeople(root, image_set="original"), root, "class_to_idx", "targets"),
        lambda D, root: shown(D.LFWPeople(root, "test", "original"), root),
        lambda D, root: [told(D.LFWPairs(root, s, "original")[0]) for s in ("10fold", "train")],
        lambda D, root: D.LFWPairs(root, "10fold", "original").pair_names,
        lambda D, root: D.LFWPairs(root, "fold"),
    )


@SETS
def captions(torch: Any) -> Any:
    def build(root: Path) -> None:
        for k in range(2):
            pixels(root / f"10{k}_ab.jpg", k)
            pixels(root / "dataset" / f"{k}.jpg", k)
        page = "".join(
            f"<tr><td><a href='x'>http://flickr.com/u/10{k}/</a></td><td><ul><li> c{k} </li><li>d</li></ul></td></tr>"
            for k in range(2)
        )
        text(
            root / "a.html",
            f"<p><a>no</a></p><table>{page}<tr><td>Image Not Found</td><li>e</li></tr></table>",
        )
        text(root / "a.token", "101_ab.jpg#0\tone\n100_ab.jpg#0\ttwo\n101_ab.jpg#1\tthree\n")
        text(root / "SBUCaptionedPhotoDataset.tar.gz", "")
        text(
            root / "dataset/SBU_captioned_photo_dataset_urls.txt",
            "http://a/0.jpg\nhttp://a/9.jpg\nhttp://a/1.jpg\n",
        )
        text(root / "dataset/SBU_captioned_photo_dataset_captions.txt", "zero \nnine\none\n")
        for j in range(2):
            pixels(root / "liberty" / f"patches000{j}.bmp", j, 128, "L")
        text(root / "liberty" / "info.txt", "".join(f"{k // 2} 0\n" for k in range(8)))
        text(root / "liberty" / "m50_100000_100000_0.txt", "0 0 0 1 0 0 0\n2 1 0 5 2 0 0\n")

    return within(
        torch,
        build,
        lambda D, root: shown(D.Flickr8k(root, str(root / "a.html")), root, "ids"),
        lambda D, root: shown(D.Flickr30k(root, str(root / "a.token")), root, "ids"),
        lambda D, root: shown(D.SBU(str(root), download=False), root, "captions"),
        lambda D, root: [told(D.PhotoTour(str(root), "liberty")[k]) for k in (0, 3, 7)],
        lambda D, root: [told(D.PhotoTour(str(root), "liberty", train=False)[k]) for k in (0, 1)],
        lambda D, root: repr(D.PhotoTour(str(root), "liberty")).replace(str(root), ""),
        lambda D, root: [sorted(getattr(D.PhotoTour, n).items()) for n in ("means", "stds", "lens", "urls")],
    )[1:]


def _tar(path: Path, files: dict[str, bytes], mode: str = "w") -> None:
    import io

    with tarfile.open(path, mode) as archive:  # type: ignore[call-overload]
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))


@SETS
def imagenet(torch: Any) -> Any:
    def build(root: Path) -> None:
        import io

        from PIL import Image

        def image(k: int) -> bytes:
            held = io.BytesIO()
            Image.fromarray(np.full((4, 4, 3), k, np.uint8)).save(held, "PNG")
            return held.getvalue()

        kind = [(n, "O") for n in ("ILSVRC2012_ID", "WNID", "words", "gloss", "num_children")]
        rows = np.array(
            [(1, "n1", "cat, kitty", "", 0), (2, "n2", "dog", "", 0), (3, "n3", "pet", "", 2)], kind
        )
        matrices(root / "made" / "meta.mat", synsets=rows)
        folder = "ILSVRC2012_devkit_t12/data"
        kit = {
            f"{folder}/meta.mat": (root / "made" / "meta.mat").read_bytes(),
            f"{folder}/ILSVRC2012_validation_ground_truth.txt": b"2\n1\n2\n",
        }
        _tar(root / "ILSVRC2012_devkit_t12.tar.gz", kit, "w:gz")
        _tar(root / "ILSVRC2012_img_val.tar", {f"v{k}.JPEG": image(k) for k in range(3)})
        for k in (1, 2):
            _tar(root / f"n{k}.tar", {f"n{k}_{j}.JPEG": image(k * 9 + j) for j in range(k)})
        inner = {f"n{k}.tar": (root / f"n{k}.tar").read_bytes() for k in (1, 2)}
        _tar(root / "ILSVRC2012_img_train.tar", inner)

    return within(
        torch,
        build,
        lambda D, root: shown(D.ImageNet(root, "val"), root, "classes", "class_to_idx", "wnids"),
        lambda D, root: shown(D.ImageNet(root), root, "targets"),
        lambda D, root: D.imagenet.load_meta_file(root),
        lambda D, root: D.ImageNet(root, "test"),
        lambda D, root: (D.imagenet.ARCHIVE_META, D.imagenet.META_FILE),
    )


@SETS
def archives(torch: Any) -> Any:
    def build(root: Path) -> None:
        files = {"in/a.txt": b"one", "b.txt": b"two"}
        for name, mode in (("a.tar", "w"), ("a.tgz", "w:gz"), ("a.tar.bz2", "w:bz2"), ("a.tar.xz", "w:xz")):
            _tar(root / name, files, mode)
        with zipfile.ZipFile(root / "a.zip", "w") as archive:
            for name, data in files.items():
                archive.writestr(name, data)
        for name, packed in (("c.txt.gz", gzip.compress), ("d.xz", lzma.compress), ("e.bz2", bz2.compress)):
            (root / name).write_bytes(packed(b"three"))
        text(root / "none", "")
        text(root / "f.rar", "")

    def unpacked(U: Any, root: Path, name: str) -> Any:
        to = root / f"to_{name}"
        found = (
            U.extract_archive(str(root / name), str(to)) if "." in name[2:] or to.mkdir() is None else None
        )
        if to.is_dir():
            return sorted(str(p.relative_to(to)) for p in to.rglob("*")), found.replace(str(root), "")
        return found.replace(str(root), "")

    return within(
        torch,
        build,
        lambda D, root: 0,
        lambda D, root: [
            unpacked(D.utils, root, name) for name in ("a.tar", "a.tgz", "a.tar.bz2", "a.tar.xz", "a.zip")
        ],
        lambda D, root: D.utils.extract_archive(str(root / "c.txt.gz")).replace(str(root), ""),
        lambda D, root: D.utils.extract_archive(root / "d.xz").read_bytes(),
        lambda D, root: type(D.utils.extract_archive(root / "a.tar", root / "x")).__name__,
        lambda D, root: D.utils.extract_archive(str(root / "none")),
        lambda D, root: D.utils.extract_archive(str(root / "f.rar")).replace(str(root), ""),
        lambda D, root: D.utils.calculate_md5(root / "f.rar") == hashlib.md5(b"").hexdigest(),
        lambda D, root: (
            sorted(D.utils.list_files(root, ".gz")) + sorted(D.utils.list_files(root, (".xz", ".zip")))
        ),
        lambda D, root: [sorted(D.utils.list_dir(root)), len(D.utils.list_dir(root, prefix=True)[0]) > 5],
        lambda D, root: D.utils.iterable_to_str(["a", 2]),
        lambda D, root: D.utils.verify_str_arg(3, "x"),
        lambda D, root: D.utils.verify_str_arg(3),
        lambda D, root: D.utils.verify_str_arg("a", "x", ("b", "c")),
        lambda D, root: D.utils.verify_str_arg("a", valid_values=("b",), custom_msg="mine"),
        lambda D, root: D.utils.verify_str_arg("a", "x", ("a",)),
        lambda D, root: D.utils.check_integrity(root / "nowhere"),
    )
