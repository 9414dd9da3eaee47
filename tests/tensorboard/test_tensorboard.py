"""SummaryWriter's files, read back by an independent reader: frames bit by bit, messages by their numbers."""

import io
import os
import struct
import subprocess
import sys
import wave

import numpy as np
import pytest
from PIL import Image

import rushlight as torch
from rushlight import nn
from rushlight._engine.dispatch import interpreters
from rushlight.utils.tensorboard import SummaryWriter
from rushlight.utils.tensorboard.wire import crc32c


def slow_crc(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def masked(data):
    crc = slow_crc(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def frames(path):
    file = io.BytesIO(path.read_bytes())
    while head := file.read(8):
        assert struct.unpack("<I", file.read(4))[0] == masked(head)
        data = file.read(struct.unpack("<Q", head)[0])
        assert struct.unpack("<I", file.read(4))[0] == masked(data)
        yield data


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def fields(data):
    """{number: [values]} of a message; texts and messages inside stay bytes."""
    found, at = {}, 0
    while at < len(data):
        key, at = varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 2:
            length, at = varint(data, at)
            value, at = data[at : at + length], at + length
        else:
            assert kind in (1, 5)
            (value,) = struct.unpack_from("<d" if kind == 1 else "<f", data, at)
            at += 8 if kind == 1 else 4
        found.setdefault(key >> 3, []).append(value)
    return found


def events(folder, below=""):
    found = []
    for path in sorted((folder / below).glob("events.out.tfevents.*")):
        first, *rest = (fields(data) for data in frames(path))
        assert first[3] == [b"brain.Event:2"]
        found += rest
    return found


def values(folder, below=""):
    """{tag: (step, fields of the value)}."""
    found = {}
    for event in events(folder, below):
        if 5 in event:
            value = fields(fields(event[5][0])[1][0])
            found[value[1][0].decode()] = event.get(2, [0])[0], value
    return found


@pytest.mark.parametrize("size", [0, 1, 3, 9, 40, 1000, 5001])
def test_checksums(size):
    data = np.random.default_rng(size).bytes(size)
    assert crc32c(data) == slow_crc(data)
    assert crc32c(b"123456789") == 0xE3069283


def test_numbers(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        writer.add_scalar("loss/train", torch.tensor(0.1), 7, walltime=5.0)
        writer.add_scalar("plain", 2, 1 << 40)
        writer.add_scalar("wide", 0.1, 3, new_style=True, double_precision=True)
        writer.add_scalars("both", {"a": 1, "b": 2}, 4)
        with pytest.raises(ValueError, match="one number"):
            writer.add_scalar("many", torch.ones(2))
    event = events(tmp_path)[0]
    assert event[1] == [5.0] and event[2] == [7]
    found = values(tmp_path)
    assert found["loss/train"][1][2] == [np.float32(0.1)] and found["plain"] == (
        1 << 40,
        {1: [b"plain"], 2: [2.0]},
    )
    assert fields(found["wide"][1][8][0])[6] == [0.1]
    assert [values(tmp_path, f"both_{n}")["both"] for n in "ab"] == [
        (4, {1: [b"both"], 2: [1.0]}),
        (4, {1: [b"both"], 2: [2.0]}),
    ]


def test_histogram(tmp_path):
    data = torch.tensor([0.0, 1, 1, 2, 5])
    with SummaryWriter(tmp_path) as writer:
        writer.add_histogram("h", data, 1, bins=[-1, 0, 1, 2, 3, 10, 11])
        writer.add_histogram("grown", torch.randn(1000), bins="tensorflow", max_bins=30)
        with pytest.raises(ValueError, match="no element"):
            writer.add_histogram("none", torch.ones(0))
    histogram = fields(values(tmp_path)["h"][1][5][0])
    assert [histogram[i][0] for i in range(1, 6)] == [0.0, 5.0, 5.0, 9.0, 31.0]
    assert np.frombuffer(histogram[6][0]).tolist() == [0, 1, 2, 3, 10]
    assert np.frombuffer(histogram[7][0]).tolist() == [0, 1, 2, 1, 1]
    assert np.frombuffer(fields(values(tmp_path)["grown"][1][5][0])[7][0]).sum() == 1000


def pixels(png):
    """A PNG as an array."""
    return np.asarray(Image.open(io.BytesIO(png)))


def shown(folder, tag):
    image = fields(values(folder)[tag][1][4][0])
    found = pixels(image[4][0])
    assert list(found.shape) == [image[1][0], image[2][0], image[3][0]]
    return found


def test_images(tmp_path):
    image = torch.rand(3, 4, 5)
    many = torch.arange(9 * 6, dtype=torch.uint8).reshape(9, 1, 2, 3)
    with SummaryWriter(tmp_path) as writer:
        writer.add_image("chw", image)
        writer.add_image("hwc", image.permute(1, 2, 0).numpy(), dataformats="HWC")
        writer.add_image("hw", image[0], dataformats="HW")
        writer.add_images("grid", many)
        with pytest.raises(ValueError, match="dataformats"):
            writer.add_image("wrong", image, dataformats="HW")
    expected = (image.permute(1, 2, 0).numpy() * np.float32(255)).astype(np.uint8)
    assert (shown(tmp_path, "chw") == expected).all() and (shown(tmp_path, "hwc") == expected).all()
    assert (shown(tmp_path, "hw")[..., 1] == expected[..., 0]).all()
    grid = shown(tmp_path, "grid")
    assert (
        grid.shape == (4, 24, 3) and (grid[2:, :3, 0] == many[8, 0].numpy()).all() and not grid[2:, 3:].any()
    )


def test_figure(tmp_path):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure = pyplot.figure(figsize=(2, 1), dpi=50)
    with SummaryWriter(tmp_path) as writer:
        writer.add_figure("f", figure, 1)
    assert shown(tmp_path, "f").shape == (50, 100, 3) and not pyplot.fignum_exists(figure.number)


def test_text_hparams_and_graph(tmp_path, capsys):
    model = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Sequential(nn.Linear(3, 2)))
    with SummaryWriter(tmp_path) as writer:
        writer.add_text("note", "hällo", 2)
        writer.add_hparams(
            {"lr": 0.1, "bias": True, "kind": "sgd"},
            {"accuracy": 0.5},
            {"kind": ["sgd", "adam"]},
            run_name="one",
        )
        writer.add_graph(model, torch.randn(2, 4), verbose=True)
        with pytest.raises(TypeError, match="dictionary"):
            writer.add_hparams([], {})
    text = values(tmp_path)["note/text_summary"][1]
    assert fields(text[8][0])[8] == ["hällo".encode()]
    assert fields(fields(text[9][0])[1][0])[1] == [b"text"]
    run = values(tmp_path, "one")
    assert run["accuracy"][1][2] == [0.5]
    plugin = fields(fields(run["_hparams_/session_start_info"][1][9][0])[1][0])
    assert plugin[1] == [b"hparams"] and all(word in plugin[2][0] for word in (b"lr", b"bias", b"sgd"))
    graph = fields(next(event[4][0] for event in events(tmp_path) if 4 in event))
    nodes = {n[1][0].decode(): [i.decode() for i in n.get(3, [])] for n in map(fields, graph[1])}
    assert nodes["Sequential/Linear[0]/linear"] == ["input_0", "Sequential/0/weight", "Sequential/0/bias"]
    assert nodes["Sequential/ReLU[1]/relu"] == ["Sequential/Linear[0]/linear"]
    assert nodes["output_0"] == ["Sequential/Sequential[2]/Linear[0]/linear"]
    assert "Sequential/ReLU[1]/relu" in capsys.readouterr().out


def test_the_graph_shows_what_interpreters_below_it_see(tmp_path):
    seen = []

    class Below:
        def run(self, row, call, args, kwargs):
            seen.append(row.name)
            return interpreters.interpret(row, call, args, kwargs)

    class Mixed(torch.nn.Module):
        def forward(self, x):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                self.dtype = (x @ x).relu().dtype
            return x

    model, below, x = Mixed(), Below(), torch.randn(2, 2)
    interpreters.push(below)
    try:
        with SummaryWriter(tmp_path) as writer:
            writer.add_graph(model, x)
    finally:
        interpreters.pop(below)
    assert model.dtype is torch.bfloat16 and seen == ["matmul", "relu"]


def test_where_it_writes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    writer = SummaryWriter(comment="_x", flush_secs=1000, purge_step=4, filename_suffix=".end")
    assert writer.log_dir.startswith("runs") and writer.log_dir.endswith("_x")
    writer.add_scalar("a", 1)
    writer.flush()
    assert events(tmp_path, writer.log_dir)[0][7] and values(tmp_path, writer.log_dir)["a"]
    assert os.listdir(writer.log_dir)[0].endswith(".end")
    writer.add_scalar("b", 1)
    writer.close()
    assert values(tmp_path, writer.log_dir)["b"]


def test_tensorboard_itself_reads_it(tmp_path):
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    with SummaryWriter(tmp_path) as writer:
        writer.add_scalar("a", 1.5, 3)
    found = accumulator.EventAccumulator(str(tmp_path))
    found.Reload()
    assert [(e.step, e.value) for e in found.Scalars("a")] == [(3, 1.5)]


def test_the_package_is_not_needed(tmp_path):
    code = (
        "import sys; sys.modules['tensorboard'] = None\n"
        "from rushlight.utils.tensorboard import SummaryWriter\n"
        f"SummaryWriter({str(tmp_path)!r}).close()"
    )
    subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )


def floats(value):
    """A TensorProto of floats as an array."""
    proto = fields(value)
    shape = [fields(dim)[1][0] for dim in fields(proto[2][0])[2]]
    return np.frombuffer(proto[4][0], "<f4").reshape(shape)


def test_sounds(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        writer.add_audio("tone", torch.tensor([[0.0, 0.5, -1.0, 3.0]]), 2, sample_rate=8000)
        with pytest.raises(ValueError, match="1 dimensional"):
            writer.add_audio("two", torch.zeros(2, 5))
    step, value = values(tmp_path)["tone"]
    sound = fields(value[6][0])
    assert step == 2 and [sound[n] for n in (1, 2, 3, 5)] == [[8000.0], [1], [4], [b"audio/wav"]]
    with wave.open(io.BytesIO(sound[4][0])) as file:
        assert (file.getnchannels(), file.getsampwidth(), file.getframerate()) == (1, 2, 8000)
        assert np.frombuffer(file.readframes(9), "<i2").tolist() == [0, 16383, -32767, 32767]


def test_precision_and_recall(tmp_path):
    labels, predictions = torch.tensor([0, 1, 1, 0, 1]), torch.tensor([0.1, 0.9, 0.4, 0.6, 1.0])
    with SummaryWriter(tmp_path) as writer:
        writer.add_pr_curve("curve", labels, predictions, 1, num_thresholds=11)
        writer.add_pr_curve(
            "heavy", labels.bool(), predictions, num_thresholds=500, weights=torch.full((5,), 2.0)
        )
    found = values(tmp_path)
    table = floats(found["curve"][1][8][0])
    for i, threshold in enumerate(np.arange(11) / 10):
        above = np.floor(predictions.numpy() * 10) >= i
        true = labels.numpy() == 1
        counts = [(above & true).sum(), (above & ~true).sum(), (~above & ~true).sum(), (~above & true).sum()]
        assert table[:4, i].tolist() == counts, threshold
        assert np.allclose(table[4:, i], [counts[0] / max(1e-7, counts[0] + counts[1]), counts[0] / 3])
    heavy = floats(found["heavy"][1][8][0])
    assert heavy.shape == (6, 127) and heavy[0, 0] == 6
    plugin = fields(fields(found["heavy"][1][9][0])[1][0])
    assert plugin[1] == [b"pr_curves"] and fields(plugin[2][0])[2] == [127]


def test_meshes(tmp_path):
    points, faces = torch.rand(1, 4, 3), torch.tensor([[[0, 1, 2], [1, 2, 3]]])
    with SummaryWriter(tmp_path) as writer:
        writer.add_mesh("body", points, faces=faces, config_dict={"camera": {"fov": 75}}, global_step=5)
        with pytest.raises(ValueError, match="BxNx3"):
            writer.add_mesh("flat", points[0])
    found = values(tmp_path)
    assert sorted(found) == ["body_FACE", "body_VERTEX"]
    assert np.array_equal(floats(found["body_VERTEX"][1][8][0]), points.numpy())
    assert floats(found["body_FACE"][1][8][0]).tolist() == faces.tolist()
    plugin = fields(fields(found["body_FACE"][1][9][0])[1][0])
    about = fields(plugin[2][0])
    assert plugin[1] == [b"mesh"] and about == {
        2: [b"body"],
        3: [2],
        5: [b'{"camera": {"fov": 75}}'],
        6: [1, 2, 3],
        7: [0b110],
    }


def test_embeddings(tmp_path):
    rows = torch.randn(5, 3)
    with SummaryWriter(tmp_path) as writer:
        writer.add_embedding(rows, list("abcde"), torch.rand(5, 3, 4, 6), global_step=3, tag="x/y")
        writer.add_embedding(rows, [[n, n * n] for n in range(5)], metadata_header=["n", "square"])
        for wrong in (
            {"mat": rows[0]},
            {"mat": rows, "metadata": ["a"]},
            {"mat": rows, "label_img": torch.rand(2, 3, 4, 4)},
        ):
            with pytest.raises(ValueError, match="should"):
                writer.add_embedding(**wrong)
    first, second = (tmp_path / "projector_config.pbtxt").read_text().splitlines()
    assert first == (
        'embeddings { tensor_name: "x/y:00003" tensor_path: "00003/x%2Fy/tensors.tsv" metadata_path: '
        '"00003/x%2Fy/metadata.tsv" sprite { image_path: "00003/x%2Fy/sprite.png" single_image_dim: 6 '
        "single_image_dim: 4 } }"
    )
    assert 'tensor_name: "default:00000"' in second
    told = (tmp_path / "00000/default/tensors.tsv").read_text().splitlines()
    assert np.array_equal(np.array([line.split("\t") for line in told], np.float32), rows.numpy())
    assert (tmp_path / "00003/x%2Fy/metadata.tsv").read_text() == "a\nb\nc\nd\ne\n"
    assert (tmp_path / "00000/default/metadata.tsv").read_text().splitlines()[:3] == [
        "n\tsquare",
        "0\t0",
        "1\t1",
    ]
    sprite = (tmp_path / "00003/x%2Fy/sprite.png").read_bytes()
    assert struct.unpack(">II", sprite[16:24]) == (18, 12)  # three in a row, three rows
