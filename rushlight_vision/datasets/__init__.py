"""Data sets of images (torchvision.datasets), from torchvision's files and folders.

Those of videos, of stereo vision and of optical flow are not here.
"""

from __future__ import annotations

from rushlight._engine.lazy import lazy_names, public

_HOMES = {
    **dict.fromkeys(
        (
            "Caltech101",
            "Caltech256",
        ),
        "caltech",
    ),
    "CelebA": "celeba",
    **dict.fromkeys(
        (
            "CIFAR10",
            "CIFAR100",
        ),
        "cifar",
    ),
    "Cityscapes": "cityscapes",
    "CLEVRClassification": "clevr",
    **dict.fromkeys(
        (
            "CocoDetection",
            "CocoCaptions",
        ),
        "coco",
    ),
    "Country211": "country211",
    "DTD": "dtd",
    "EuroSAT": "eurosat",
    "FER2013": "fer2013",
    "FGVCAircraft": "fgvc_aircraft",
    **dict.fromkeys(
        (
            "Flickr8k",
            "Flickr30k",
        ),
        "flickr",
    ),
    "Flowers102": "flowers102",
    **dict.fromkeys(
        (
            "DatasetFolder",
            "ImageFolder",
        ),
        "folder",
    ),
    "Food101": "food101",
    "GTSRB": "gtsrb",
    "ImageNet": "imagenet",
    "Imagenette": "imagenette",
    "INaturalist": "inaturalist",
    "Kitti": "kitti",
    **dict.fromkeys(
        (
            "LFWPeople",
            "LFWPairs",
        ),
        "lfw",
    ),
    **dict.fromkeys(
        (
            "LSUNClass",
            "LSUN",
        ),
        "lsun",
    ),
    **dict.fromkeys(
        (
            "MNIST",
            "FashionMNIST",
            "KMNIST",
            "EMNIST",
            "QMNIST",
        ),
        "mnist",
    ),
    "MovingMNIST": "moving_mnist",
    "Omniglot": "omniglot",
    "OxfordIIITPet": "oxford_iiit_pet",
    "PCAM": "pcam",
    "PhotoTour": "phototour",
    "Places365": "places365",
    "RenderedSST2": "rendered_sst2",
    "SBDataset": "sbd",
    "SBU": "sbu",
    "SEMEION": "semeion",
    "StanfordCars": "stanford_cars",
    "STL10": "stl10",
    "wrap_dataset_for_transforms_v2": "wrapping",
    "SUN397": "sun397",
    "SVHN": "svhn",
    "USPS": "usps",
    **dict.fromkeys(
        (
            "VisionDataset",
            "FakeData",
        ),
        "vision",
    ),
    **dict.fromkeys(
        (
            "VOCSegmentation",
            "VOCDetection",
        ),
        "voc",
    ),
    "WIDERFace": "widerface",
    **dict.fromkeys(
        (
            "caltech",
            "celeba",
            "cifar",
            "cityscapes",
            "clevr",
            "coco",
            "country211",
            "dtd",
            "eurosat",
            "fakedata",
            "fer2013",
            "fgvc_aircraft",
            "flickr",
            "flowers102",
            "folder",
            "food101",
            "gtsrb",
            "imagenet",
            "imagenette",
            "inaturalist",
            "kitti",
            "lfw",
            "lsun",
            "mnist",
            "moving_mnist",
            "omniglot",
            "oxford_iiit_pet",
            "pcam",
            "phototour",
            "places365",
            "rendered_sst2",
            "sbd",
            "sbu",
            "semeion",
            "stanford_cars",
            "stl10",
            "sun397",
            "svhn",
            "usps",
            "utils",
            "vision",
            "voc",
            "widerface",
        ),
        ".",
    ),
}
__getattr__, __dir__ = lazy_names(globals(), _HOMES)
__all__ = public(_HOMES)
