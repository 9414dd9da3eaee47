"""What TensorBoard shows, as fields of its Summary.Value message: numbers, histograms, pictures, texts."""

from __future__ import annotations

import io
import os
import wave
from math import ceil
from typing import Any

import numpy as np

from rushlight.utils.tensorboard.wire import Array, message


def array(value: Any) -> Array:
    """A tensor, array or number as an array."""
    if hasattr(value, "detach"):
        value = value.detach().float() if value.is_floating_point() and value.itemsize < 4 else value.detach()
        value = value.cpu().numpy()
    return np.asarray(value)


def number(value: Any) -> float:
    """One number. ValueError for several."""
    found = array(value)
    if found.size != 1:
        raise ValueError(f"add_scalar: expected one number, got a shape of {found.shape}")
    return float(found.reshape(()))


def plugin(name: str, content: bytes = b"") -> dict[int, Any]:
    """Which plugin shows a value."""
    return {1: {1: name, 2: content or None}}


def text(tag: str, content: str) -> dict[int, Any]:
    """A value of the text plugin."""
    return {1: f"{tag}/text_summary", 8: {1: 7, 2: {2: {1: 1}}, 8: content}, 9: plugin("text")}


def histogram(values: Any, bins: Any, most: int | None) -> dict[int, Any]:
    """Counts between limits; `bins` as numpy.histogram's, or "tensorflow": limits that grow by tenths."""
    flat = array(values).reshape(-1).astype(float)
    if not flat.size:
        raise ValueError("The input has no element.")
    if isinstance(bins, str) and bins == "tensorflow":
        steps = 1e-12 * 1.1 ** np.arange(775)
        bins = np.concatenate([-steps[steps < 1e20][::-1], [0.0], steps[steps < 1e20]])
    counts, limits = np.histogram(flat, bins)
    if most is not None and len(counts) > most:
        every = len(counts) // most
        counts = np.add.reduceat(counts, np.arange(0, len(counts), every))
        limits = np.append(limits[:-1][::every], limits[-1])
    used = np.flatnonzero(counts)
    if not used.size:
        raise ValueError("The histogram is empty, please file a bug report.")
    # One empty bucket on the left says where the first one begins.
    counts = np.concatenate([[0], counts[used[0] : used[-1] + 1]]).astype(float)
    return {
        1: float(flat.min()),
        2: float(flat.max()),
        3: float(flat.size),
        4: float(flat.sum()),
        5: float(flat @ flat),
        6: limits[used[0] : used[-1] + 2].astype(float),
        7: counts,
    }


def image(value: Any, order: str, most: int = 8, rows: int = 0) -> dict[int, Any]:
    """A PNG of pixels in the order that `order` names: CHW, HWC, HW, or with N: a grid.

    It has `most` in a row, and `rows` or more of them.

    Floating values are in 0 .. 1, integers in 0 .. 255.
    """
    pixels, order = array(value), order.upper()
    if pixels.ndim != len(order) or set(order) - set("NCHW") or len(set(order)) != len(order):
        raise ValueError(
            f"add_image: the tensor has {pixels.ndim} dims, dataformats={order!r} names "
            f"{len(order)}; expected one of CHW, HWC, HW, NCHW, NHWC, ... to fit the tensor"
        )
    for missing in {"N", "C"} - set(order):
        pixels, order = pixels[None], missing + order
    pixels = pixels.transpose([order.index(axis) for axis in "NHWC"])
    n, h, w, c = pixels.shape
    across = min(n, most)
    grid = np.zeros((max(-(-n // across), rows) * across, h, w, c), pixels.dtype)
    grid[:n] = pixels
    pixels = grid.reshape(-1, across, h, w, c).transpose(0, 2, 1, 3, 4).reshape(-1, across * w, c)
    if pixels.dtype != np.uint8:
        scale = 255 if pixels.dtype.kind == "f" else 1
        pixels = np.clip(pixels.astype(np.float32) * scale, 0, 255).astype(np.uint8)
    if c == 1:
        pixels = np.repeat(pixels, 3, -1)
    height, width, colors = pixels.shape
    if not 1 <= colors <= 4:
        raise ValueError(f"add_image: expected 1 to 4 channels, got {c}")
    return {1: height, 2: width, 3: colors, 4: png(pixels)}


def png(pixels: Array) -> bytes:
    """A (height, width, channels) array of bytes as a PNG file, by Pillow."""
    try:
        from PIL import Image
    except ImportError as error:
        raise ImportError(
            "TensorBoard's images need Pillow, which is not installed; "
            "pip install 'rushlight[vision]' brings it"
        ) from error
    file = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(pixels)).save(file, "PNG")
    return file.getvalue()


def figure(figures: Any, close: bool) -> Array:
    """matplotlib figures as (height, width, 3) pixels, several as (N, height, width, 3)."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    def drawn(f: Any) -> Array:
        canvas: Any = FigureCanvasAgg(f)
        canvas.draw()
        if close:
            from matplotlib import pyplot

            pyplot.close(f)
        return np.asarray(canvas.buffer_rgba())[:, :, :3]

    return np.stack([drawn(f) for f in figures]) if isinstance(figures, list) else drawn(figures)


def tensor(value: Array) -> dict[int, Any]:
    """An array as a TensorProto of floats."""
    return {1: 1, 2: {2: [{1: size} for size in value.shape]}, 4: value.astype("<f4").tobytes()}


def audio(value: Any, rate: int) -> dict[int, Any]:
    """A WAV file of samples in -1 .. 1. ValueError for several channels."""
    samples = array(value).squeeze().clip(-1, 1)
    if samples.ndim != 1:
        raise ValueError(f"input tensor should be 1 dimensional: expected (1, L), got {np.shape(value)}")
    with io.BytesIO() as file:
        with wave.open(file, "wb") as out:
            out.setparams((1, 2, rate, 0, "NONE", ""))
            out.writeframes((samples * 32767).astype("<i2").tobytes())
        return {1: np.float32(rate), 2: 1, 3: len(samples), 4: file.getvalue(), 5: "audio/wav"}


def pr_curve(labels: Any, predictions: Any, count: int, weights: Any) -> Array:
    """True and false positives, true and false negatives, precision, recall: (6, `count` even thresholds)."""
    truth, predicted = array(labels).astype(float).ravel(), array(predictions).ravel()
    shares = np.broadcast_to(1.0 if weights is None else array(weights), truth.shape)
    place = np.floor(predicted * (count - 1)).astype(int)
    found, wrong = (
        np.bincount(place, share, count)[::-1].cumsum()[::-1]
        for share in (truth * shares, (1 - truth) * shares)
    )
    precision, recall = found / np.maximum(1e-7, found + wrong), found / max(1e-7, found[0])
    return np.stack([found, wrong, wrong[0] - wrong, found[0] - found, precision, recall])


def mesh(name: str, parts: tuple[Any, Any, Any], config: str) -> list[dict[int, Any]]:
    """A value for each of (vertices, faces, colors) that is there."""
    given = [(i, array(part)) for i, part in enumerate(parts, 1) if part is not None]
    if wrong := [a.shape for _, a in given if a.ndim != 3]:
        raise ValueError(f"Tensor shape should be of shape BxNx3, but got {wrong[0]}.")
    about = {2: name, 5: config, 7: sum(1 << i for i, _ in given)}
    return [
        {
            1: f"{name}_{('VERTEX', 'FACE', 'COLOR')[i - 1]}",
            8: tensor(a),
            9: plugin("mesh", message({**about, 3: i, 6: list(a.shape)})),
        }
        for i, a in given
    ]


def embedding(path: str, name: str, given: tuple[Any, Any, Any, Any]) -> str:
    """Write the projector's files to `path`, whose last two parts its configuration names; that, as text."""
    rows, labels, pictures, header = array(given[0]), *given[1:]
    if rows.ndim != 2:
        raise ValueError(f"mat should be 2D, where mat.size(0) is the number of data points: {rows.shape}")
    for what, more in (("labels", labels), ("images", pictures)):
        if more is not None and len(more) != len(rows):
            raise ValueError(f"#{what} should equal with #data points: expected {len(rows)}, got {len(more)}")
    os.makedirs(path, exist_ok=True)
    files = {"tensor_path": ("tensors.tsv", _lines(rows.tolist()))}
    if labels is not None:
        files["metadata_path"] = "metadata.tsv", _lines([*[header] * bool(header), *labels])
    if pictures is not None:
        side = ceil(len(rows) ** 0.5)
        pixels = image(pictures, "NCHW", side, side)
        files["sprite { image_path"] = "sprite.png", pixels[4]
    config = f'tensor_name: "{name}"'
    for field, (file, content) in files.items():
        with open(os.path.join(path, file), "wb") as out:
            out.write(content)
        config += f' {field}: "{"/".join(path.split(os.sep)[-2:])}/{file}"'
    if pictures is not None:
        config += "".join(f" single_image_dim: {n}" for n in pictures.shape[:1:-1]) + " }"
    return f"embeddings {{ {config} }}\n"


def _lines(rows: Any) -> bytes:
    cells = ("\t".join(map(str, row if isinstance(row, list) else [row])) for row in rows)
    return "".join(f"{line}\n" for line in cells).encode()


def hparams(given: dict[str, Any], metrics: dict[str, Any], domains: dict[str, Any]) -> list[dict[int, Any]]:
    """The three values that the HPARAMS plugin wants: experiment, start and end of the session."""

    def typed(v: Any) -> tuple[int, dict[int, Any]]:
        if isinstance(v, str):
            return 1, {3: v}
        if isinstance(v, bool):
            return 2, {4: v}
        return 3, {2: number(v)}

    allowed = {name: {1: [typed(v)[1] for v in domain]} for name, domain in domains.items()}
    infos = [{1: name, 4: typed(v)[0], 5: allowed.get(name)} for name, v in given.items()]
    parts: dict[str, dict[int, Any]] = {
        "experiment": {2: {4: infos, 5: [{1: {2: name}} for name in metrics]}},
        "session_start_info": {3: {1: [{1: name, 2: typed(v)[1]} for name, v in given.items()]}},
        "session_end_info": {4: {1: 1}},
    }
    return [{1: f"_hparams_/{name}", 9: plugin("hparams", message(part))} for name, part in parts.items()]
