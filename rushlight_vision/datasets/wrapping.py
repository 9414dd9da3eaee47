"""Data sets whose samples transforms.v2 understands: boxes and masks as tv_tensors, targets as dicts."""

from __future__ import annotations

from collections.abc import Callable, Collection
from copy import copy
from typing import Any

import rushlight as torch
from rushlight_vision import datasets, tv_tensors
from rushlight_vision.datasets.vision import one_or_tuple
from rushlight_vision.pillow import needed

Wrapper = Callable[[int, Any], Any]
_VOC = (
    "__background__ aeroplane bicycle bird boat bottle bus car cat chair cow diningtable dog horse motorbike "
    "person pottedplant sheep sofa train tvmonitor"
).split()
_KITTI = "Car Van Truck Pedestrian Person_sitting Cyclist Tram Misc DontCare".split()
_PLAIN = (
    "Caltech256 CIFAR10 CIFAR100 ImageNet MNIST FashionMNIST GTSRB DatasetFolder ImageFolder Imagenette "
    "CocoCaptions"
).split()
_KEYED = ("CocoDetection", "VOCDetection", "Kitti", "WIDERFace")


def wrap_dataset_for_transforms_v2(dataset: Any, target_keys: Any = None) -> Any:
    """The set with images, boxes and masks of tv_tensors, and its `transforms` applied to these.

    target_keys: which parts of a detection's target are wanted (default: those that models take; or "all").
    """
    named = isinstance(target_keys, Collection) and all(isinstance(key, str) for key in target_keys)
    if target_keys is not None and not named:
        raise ValueError(
            "`target_keys` can be None, 'all', or a collection of strings denoting the keys to be returned, "
            f"but got {target_keys}"
        )
    kind = type(dataset)
    return type(f"Wrapped{kind.__name__}", (VisionDatasetTVTensorWrapper, kind), {})(dataset, target_keys)


class VisionDatasetTVTensorWrapper:
    """A data set behind a function of its samples."""

    def __init__(self, dataset: Any, target_keys: Any) -> None:
        kind = type(dataset)
        if not isinstance(dataset, datasets.VisionDataset):
            raise TypeError(
                "This wrapper is meant for subclasses of `torchvision.datasets.VisionDataset`, "
                f"but got a '{kind.__name__}' instead."
            )
        name = next((cls.__name__ for cls in kind.mro() if cls.__name__ in _WRAPPERS), None)
        if name is None:
            raise TypeError(
                f"No wrapper exists for dataset class {kind.__name__}. Please wrap the output yourself."
            )
        if target_keys is not None and name not in _KEYED:
            raise ValueError(
                "`target_keys` is currently only supported for `CocoDetection`, `VOCDetection`, `Kitti`, "
                f"and `WIDERFace`, but got {name}."
            )
        self._dataset, self._target_keys = dataset, target_keys
        self._wrapper = _WRAPPERS[name](dataset, target_keys)
        for part in ("transform", "target_transform", "transforms"):
            setattr(self, part, getattr(dataset, part))
            setattr(dataset, part, None)

    def __getattr__(self, name: str) -> Any:
        if name == "_dataset":
            raise AttributeError(name)
        return getattr(self._dataset, name)

    def __getitem__(self, index: int) -> Any:
        sample = self._wrapper(index, self._dataset[index])
        transforms = getattr(self, "transforms")
        return sample if transforms is None else transforms(*sample)

    def __len__(self) -> int:
        return len(self._dataset)

    def __reduce__(self) -> Any:
        dataset = copy(self._dataset)
        for part in ("transform", "target_transform", "transforms"):
            setattr(dataset, part, getattr(self, part))
        return wrap_dataset_for_transforms_v2, (dataset, self._target_keys)


# --- what each set's targets become -------------------------------------------------------------


def _refuse(description: str) -> None:
    raise RuntimeError(f"{description} is currently not supported by this wrapper.")


def _keys(given: Any, available: set[str], default: Any) -> set[str]:
    wanted = default if given is None else given
    if wanted == "all":
        return available
    more = sorted(set(wanted) - available)
    if more:
        raise ValueError(f"Target keys {more} are not available")
    return set(wanted)


def _columns(rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for row in rows:
        for key, value in row.items():
            found.setdefault(key, []).append(value)
    return found


def _boxes(numbers: Any, format: str, image: Any) -> Any:
    """Boxes XYXY on an image."""
    from rushlight_vision.transforms.v2 import functional as F

    found = tv_tensors.BoundingBoxes(numbers, format=format, canvas_size=tuple(F.get_size(image)))
    return F.convert_bounding_box_format(found, new_format="XYXY")


def _by_kind(target: Any, kinds: list[str], image: Any, meant: dict[str, Callable[..., Any]]) -> Any:
    """One target or several, each as its kind says."""
    several = target if isinstance(target, (tuple, list)) else [target]
    return one_or_tuple([meant[k](t, image) if k in meant else t for k, t in zip(kinds, several)])


def _mask(target: Any, image: Any) -> Any:
    return tv_tensors.Mask(target)


def _plain(dataset: Any, target_keys: Any) -> Wrapper:
    return lambda index, sample: sample


def _caltech(dataset: Any, target_keys: Any) -> Wrapper:
    if "annotation" in dataset.target_type:
        _refuse("Caltech101 dataset with `target_type=['annotation', ...]`")
    return _plain(dataset, target_keys)


def _segmentation(dataset: Any, target_keys: Any) -> Wrapper:
    if getattr(dataset, "mode", None) == "boundaries":
        _refuse("SBDataset with mode='boundaries'")
    return lambda index, sample: (sample[0], tv_tensors.Mask(sample[1]))


def _celeba(dataset: Any, target_keys: Any) -> Wrapper:
    if {"attr", "landmarks"} & set(dataset.target_type):
        _refuse("`CelebA` dataset with `target_type=['attr', 'landmarks', ...]`")
    meant = {"bbox": lambda target, image: _boxes(target, "XYWH", image)}
    return lambda index, sample: (sample[0], _by_kind(sample[1], dataset.target_type, sample[0], meant))


def _pets(dataset: Any, target_keys: Any) -> Wrapper:
    def wrapper(index: int, sample: Any) -> Any:
        image, target = sample
        if target is None:
            return sample
        return image, _by_kind(target, dataset._target_types, image, {"segmentation": _mask})

    return wrapper


def _cityscapes(dataset: Any, target_keys: Any) -> Wrapper:
    if {"polygon", "color"} & set(dataset.target_type):
        _refuse("`Cityscapes` dataset with `target_type=['polygon', 'color', ...]`")

    def instances(target: Any, image: Any) -> dict[str, Any]:
        numbers = tv_tensors.Mask(target).as_subclass(torch.Tensor)
        each = numbers.unique()
        labels = torch.where(each >= 1000, each // 1000, each)
        masks = torch.stack([numbers == number for number in each])
        return {"masks": tv_tensors.Mask(masks), "labels": labels}

    meant = {"instance": instances, "semantic": _mask}
    return lambda index, sample: (sample[0], _by_kind(sample[1], dataset.target_type, sample[0], meant))


def _coco(dataset: Any, target_keys: Any) -> Wrapper:
    said = {"segmentation", "area", "iscrowd", "image_id", "bbox", "category_id"}
    keys = _keys(target_keys, said | {"boxes", "masks", "labels"}, {"image_id", "boxes", "labels"})

    def wrapper(index: int, sample: Any) -> Any:
        image, rows = sample
        if not rows:
            return image, {"image_id": dataset.ids[index]}
        held, target = _columns(rows), {}
        made: dict[str, Callable[[], Any]] = {
            "image_id": lambda: dataset.ids[index],
            "boxes": lambda: _boxes(held["bbox"], "XYWH", image),
            "masks": lambda: _coco_masks(held["segmentation"], image),
            "labels": lambda: torch.tensor(held["category_id"]),
        }
        for key in [*(k for k in made if k in keys), *sorted(keys - made.keys())]:
            target[key] = made[key]() if key in made else held[key]
        return image, target

    return wrapper


def _coco_masks(segmentations: list[Any], image: Any) -> Any:
    coding = needed("pycocotools.mask", "pycocotools")
    size = image.height, image.width
    found = []
    for given in segmentations:
        if isinstance(given, list):
            given = coding.merge(coding.frPyObjects(given, *size))
        elif not isinstance(given, dict):
            raise ValueError(f"COCO segmentation expected to be a dict or a list, got {type(given)}")
        elif not isinstance(given["counts"], str):
            given = coding.frPyObjects(given, *size)
        found.append(torch.from_numpy(coding.decode(given)))
    return tv_tensors.Mask(torch.stack(found))


def _voc(dataset: Any, target_keys: Any) -> Wrapper:
    keys = _keys(target_keys, {"annotation", "boxes", "labels"}, {"boxes", "labels"})

    def wrapper(index: int, sample: Any) -> Any:
        image, given = sample
        held = _columns(given["annotation"]["object"])
        target = given if "annotation" in keys else {}
        if "boxes" in keys:
            sides = ("xmin", "ymin", "xmax", "ymax")
            target["boxes"] = _boxes([[int(box[s]) for s in sides] for box in held["bndbox"]], "XYXY", image)
        if "labels" in keys:
            target["labels"] = torch.tensor([_VOC.index(name) for name in held["name"]])
        return image, target

    return wrapper


def _kitti(dataset: Any, target_keys: Any) -> Wrapper:
    said = "type truncated occluded alpha bbox dimensions location rotation_y".split()
    keys = _keys(target_keys, {*said, "boxes", "labels"}, {"boxes", "labels"})

    def wrapper(index: int, sample: Any) -> Any:
        image, rows = sample
        if rows is None:
            return sample
        held, target = _columns(rows), {}
        if "boxes" in keys:
            target["boxes"] = _boxes(held["bbox"], "XYXY", image)
        if "labels" in keys:
            target["labels"] = torch.tensor([_KITTI.index(name) for name in held["type"]])
        return image, {**target, **{key: held[key] for key in said if key in keys}}

    return wrapper


def _faces(dataset: Any, target_keys: Any) -> Wrapper:
    said = "bbox blur expression illumination occlusion pose invalid".split()
    keys = _keys(target_keys, set(said), "all")

    def wrapper(index: int, sample: Any) -> Any:
        image, held = sample
        if held is None:
            return sample
        target = {key: held[key] for key in said if key in keys}
        if "bbox" in target:
            target["bbox"] = _boxes(target["bbox"], "XYWH", image)
        return image, target

    return wrapper


_WRAPPERS: dict[str, Callable[[Any, Any], Wrapper]] = {
    **dict.fromkeys(_PLAIN, _plain),
    "Caltech101": _caltech,
    "VOCSegmentation": _segmentation,
    "SBDataset": _segmentation,
    "CelebA": _celeba,
    "OxfordIIITPet": _pets,
    "Cityscapes": _cityscapes,
    "CocoDetection": _coco,
    "VOCDetection": _voc,
    "Kitti": _kitti,
    "WIDERFace": _faces,
}
