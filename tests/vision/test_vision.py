"""Data sets and transforms of images do what torchvision was recorded to do."""

from __future__ import annotations

import gzip
import hashlib
import inspect
import pickle
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rushlight as torch
from rushlight_vision import datasets, transforms, utils
from rushlight_vision.datasets.utils import download_url, extract_archive
from rushlight_vision.transforms import v2

pytest.importorskip("PIL")
sys.path.insert(0, str(Path(__file__).parents[1] / "goldens"))
from vision_behaviours import VISION

test_behaviour = VISION.compared(torch)


def _idx(array: Any) -> bytes:
    return bytes([0, 0, 8, array.ndim]) + np.array(array.shape, ">i4").tobytes() + array.tobytes()


def _mnist(mirror: Path) -> type:
    """A class with packed files at a mirror in a folder."""
    mirror.mkdir()
    resources = []
    for part, n in (("train", 5), ("t10k", 2)):
        images = np.arange(n * 4, dtype=np.uint8).reshape(n, 2, 2)
        for kind, array in (("images-idx3", images), ("labels-idx1", np.arange(n, dtype=np.uint8))):
            packed = gzip.compress(_idx(array))
            (mirror / f"{part}-{kind}-ubyte.gz").write_bytes(packed)
            resources.append((f"{part}-{kind}-ubyte.gz", hashlib.md5(packed).hexdigest()))
    return type(
        "Small",
        (datasets.MNIST,),
        {"mirrors": [f"{mirror.as_uri()}/none/", f"{mirror.as_uri()}/"], "resources": resources},
    )


def test_mnist_is_downloaded_once_and_read_offline(tmp_path: Path) -> None:
    Small = _mnist(tmp_path / "mirror")
    with pytest.raises(RuntimeError, match="Dataset not found. You can use download=True"):
        Small(tmp_path)
    data = Small(tmp_path, download=True)
    assert data.data.shape == (5, 2, 2) and data.targets.tolist() == [0, 1, 2, 3, 4]
    assert sorted(p.name for p in (tmp_path / "Small" / "raw").iterdir()) == sorted(
        [name for name, _ in Small.resources] + [name[:-3] for name, _ in Small.resources]
    )
    Small.mirrors = []
    assert len(Small(tmp_path, train=False, download=True)) == 2
    for path in (tmp_path / "Small" / "raw").glob("*ubyte"):
        path.unlink()
    assert Small(tmp_path).data.equal(data.data)  # from the packed files alone


def test_a_wrong_checksum_leaves_no_file(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"abc")
    with pytest.raises(RuntimeError, match="corrupted"):
        download_url((tmp_path / "a").as_uri(), tmp_path / "to", md5="0" * 32)
    assert not list((tmp_path / "to").iterdir())


def test_offline_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="could not download .* put the file at"):
        download_url("http://127.0.0.1:9/x.gz", tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_broken_idx_file_is_named(tmp_path: Path) -> None:
    from rushlight_vision.datasets.mnist import read_sn3_pascalvincent_tensor as read

    for data in (b"", b"abcdefgh", _idx(np.zeros(9, np.uint8))[:-1]):
        (tmp_path / "x").write_bytes(data)
        with pytest.raises(ValueError, match="x: expected"):
            read(tmp_path / "x")
    (tmp_path / "y").write_bytes(bytes([0, 0, 12, 1, 0, 0, 0, 2, 0, 0, 1, 0, 255, 255, 255, 255]))
    assert read(tmp_path / "y").tolist() == [256, -1]


@pytest.mark.parametrize(("base", "key"), [(datasets.CIFAR10, "labels"), (datasets.CIFAR100, "fine_labels")])
def test_cifar(tmp_path: Path, base: type, key: str) -> None:
    folder = tmp_path / "made" / base.base_folder
    folder.mkdir(parents=True)
    sums, kinds = {}, ["train_list", "test_list"]
    for k, name in enumerate([n for kind in kinds for n, _ in getattr(base, kind)]):
        content = {"data": np.full((2, 3072), k, np.uint8), key: [0, 1]}
        (folder / name).write_bytes(pickle.dumps(content))
    (folder / base.meta["filename"]).write_bytes(pickle.dumps({base.meta["key"]: ["cat", "dog"]}))
    for path in folder.iterdir():
        sums[path.name] = hashlib.md5(path.read_bytes()).hexdigest()
    with tarfile.open(tmp_path / base.filename, "w:gz") as archive:
        archive.add(folder, base.base_folder)
    known = {kind: [[n, sums[n]] for n, _ in getattr(base, kind)] for kind in kinds}
    packed = tmp_path / base.filename
    Small = type(
        "Small",
        (base,),
        {
            **known,
            "url": packed.as_uri(),
            "tgz_md5": hashlib.md5(packed.read_bytes()).hexdigest(),
            "meta": {**base.meta, "md5": sums[base.meta["filename"]]},
        },
    )
    data = Small(tmp_path / "to", transform=transforms.ToTensor(), download=True)
    assert len(data) == 2 * len(base.train_list) and data.classes == ["cat", "dog"]
    assert data[1][0].shape == (3, 32, 32) and data[1][1] == 1 and data.data.shape[1:] == (32, 32, 3)
    (tmp_path / "to" / base.base_folder / base.train_list[0][0]).write_bytes(b"broken")
    with pytest.raises(RuntimeError, match="not found or corrupted"):
        Small(tmp_path / "to")


def test_archives_stay_in_their_folder(tmp_path: Path) -> None:
    (tmp_path / "evil").write_text("x")
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        archive.add(tmp_path / "evil", "../evil2")
    with pytest.raises(tarfile.TarError):
        extract_archive(tmp_path / "a.tar", tmp_path / "in")


def test_save_image(tmp_path: Path) -> None:
    from PIL import Image

    images = torch.rand(3, 1, 5, 4)
    utils.save_image(images, tmp_path / "x.png", nrow=2, padding=1)
    with Image.open(tmp_path / "x.png") as found:
        assert (found.size, found.mode) == ((11, 13), "RGB")
        assert np.array_equal(
            np.asarray(found)[1:6, 1:5, 0], (images[0, 0] * 255 + 0.5).to(torch.uint8).numpy()
        )


def test_transforms_travel_to_workers() -> None:
    steps = transforms.Compose(
        [
            transforms.RandomCrop(6, padding=1),
            transforms.RandomHorizontalFlip(),
            transforms.ToTensor(),
            transforms.Normalize((0.5,), (0.5,)),
        ]
    )
    assert repr(pickle.loads(pickle.dumps(steps))) == repr(steps)
    data = datasets.FakeData(8, (3, 8, 8), transform=steps)
    loader = torch.utils.data.DataLoader(data, 4, num_workers=1)
    assert [x.shape for x, _ in loader] == [(4, 3, 6, 6)] * 2


def test_tensors_are_differentiable_through_transforms() -> None:
    x = torch.rand(3, 9, 8, requires_grad=True)
    transforms.Compose(
        [
            transforms.Resize(6),
            transforms.RandomRotation(20, transforms.InterpolationMode.BILINEAR),
            transforms.Normalize((0.5,), (0.5,)),
        ]
    )(x).sum().backward()
    assert x.grad.abs().sum() > 0


def test_own_transforms_of_samples() -> None:
    class Double(v2.Transform):
        def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
            return {"factor": 2 * len(flat_inputs)}

        def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
            return inpt * params["factor"]

    image, label = Double()(torch.ones(3, 2, 2), torch.tensor(1))
    assert image.sum() == 24 and label == 1


def test_without_pillow(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['PIL'] = None\nimport rushlight as torch\n"
        "from rushlight_vision import transforms as T\nx = torch.rand(3, 8, 8)\n"
        "print(T.Compose([T.Resize(4), T.RandomCrop(3), T.ColorJitter(0.1, 0.1, 0.1, 0.1)])(x).shape)\n"
        "T.ToPILImage()(x)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert "torch.Size([3, 3, 3])" in done.stdout and "pip install 'rushlight[vision]'" in done.stderr


def test_programs_import_torchvision(tmp_path: Path) -> None:
    (tmp_path / "p.py").write_text("""
import importlib.metadata, subprocess, sys
import torchvision
import torchvision.transforms.functional as TF
from torchvision import datasets, transforms
from torchvision.transforms import v2
print(transforms.__name__, importlib.metadata.version("torchvision"), datasets.FakeData(2)[0][0].size)
print(subprocess.run([sys.executable, "-c", "import torchvision; print(torchvision.__name__)"],
                     capture_output=True, text=True).stdout)
import torchvision.models.segmentation.deeplabv3
import torchvision.models.detection
import torchvision.models.optical_flow
torchvision.models.optical_flow.raft_large()
""")
    done = subprocess.run(
        [sys.executable, "-m", "rushlight", "p.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        env={"PYTHONPATH": str(Path(torch.__file__).parents[1]), "PATH": ""},
    )
    assert done.stdout.split() == [
        "rushlight_vision.transforms",
        "0.28.0+rushlight",
        "(224,",
        "224)",
        "torchvision",
    ]
    assert "torchvision.models.optical_flow.raft_large can be imported but is not there" in done.stderr


@pytest.mark.parametrize("name", transforms.__all__)
def test_a_transform_can_be_opened(name: str) -> None:
    cls = getattr(transforms, name)
    assert inspect.getsource(cls).startswith(f"class {name}(") and cls.__doc__
