"""Images are drawn in, read and written, and data sets wrapped, as torchvision was recorded to do."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import rushlight as torch
from rushlight_vision import io, tv_tensors
from rushlight_vision.transforms import v2

pytest.importorskip("PIL")
pytest.importorskip("scipy")
sys.path.insert(0, str(Path(__file__).parents[1] / "goldens"))
from vision_files import FILES

test_behaviour = FILES.compared(torch, 2e-5)


def test_files_are_read_and_written(tmp_path: Path) -> None:
    image = (torch.arange(3 * 5 * 7) % 256).to(torch.uint8).view(3, 5, 7)
    io.write_png(image, tmp_path / "a.png")
    assert torch.equal(io.read_image(str(tmp_path / "a.png")), image)
    io.write_jpeg(image, tmp_path / "a.jpg", 95)
    assert io.read_image(tmp_path / "a.jpg").shape == (3, 5, 7)
    io.write_file(str(tmp_path / "b"), io.read_file(tmp_path / "a.png"))
    assert (tmp_path / "b").read_bytes() == (tmp_path / "a.png").read_bytes()
    with pytest.raises(RuntimeError, match="No such file"):
        io.read_file(tmp_path / "none")
    with pytest.raises(RuntimeError, match="no image"):
        io.decode_image(torch.zeros(9, dtype=torch.uint8))
    with pytest.raises(RuntimeError, match="pillow-heif"):
        io.decode_heic(torch.zeros(9, dtype=torch.uint8))


def test_frames_of_a_gif(tmp_path: Path) -> None:
    from PIL import Image

    frames = [Image.new("RGB", (4, 3), colour) for colour in ("red", "blue")]
    frames[0].save(tmp_path / "a.gif", save_all=True, append_images=frames[1:])
    found = io.decode_gif(io.read_file(tmp_path / "a.gif"))
    assert found.shape == (2, 3, 3, 4) and found[:, :, 0, 0].tolist() == [[255, 0, 0], [0, 0, 255]]


def test_jpeg_and_png_are_pillows() -> None:
    from io import BytesIO

    from PIL import Image

    image = (torch.arange(3 * 16 * 18) * 7 % 256).to(torch.uint8).view(3, 16, 18)
    held = BytesIO()
    Image.fromarray(image.permute(1, 2, 0).numpy()).save(held, "JPEG", quality=30)
    assert bytes(io.encode_jpeg(image, 30).tolist()) == held.getvalue()
    assert [x.shape for x in io.decode_jpeg(io.encode_jpeg([image, image[:1]]))] == [(3, 16, 18), (1, 16, 18)]
    assert io.decode_png(io.encode_png(image, 0), "gray_alpha").shape == (2, 16, 18)
    assert io.decode_png(io.encode_png(image), "RGBA")[3].unique().tolist() == [255]
    assert torch.equal(v2.functional.jpeg(image, 30), io.decode_jpeg(io.encode_jpeg(image, 30)))
    assert type(v2.JPEG((20, 30))(tv_tensors.Video(image[None]))) is tv_tensors.Video
    for wrong, error, text in (
        (lambda: io.encode_jpeg(image, 0), ValueError, "between 1 and 100"),
        (lambda: io.encode_jpeg(image.float()), RuntimeError, "uint8"),
        (lambda: io.encode_png(image[:2]), RuntimeError, "number of channels"),
        (lambda: io.encode_png(image, 11), RuntimeError, "between 0 and 9"),
        (lambda: io.decode_jpeg([]), ValueError, "at least one"),
        (lambda: io.decode_jpeg(io.encode_png(image)), RuntimeError, "no image of JPEG"),
    ):
        with pytest.raises(error, match=text):
            wrong()
