"""torch.onnx: models pass onnx's checker and give onnxruntime the module's numbers, at other batch sizes
too.
"""

from __future__ import annotations

import inspect
import io
import os

import numpy as np
import pytest

import rushlight as torch
import rushlight.nn.functional as F
from rushlight import nn
from rushlight._engine.core.pytree import flatten
from rushlight.export import Dim, export, overloads
from rushlight.onnx.errors import UnsupportedOperatorError

onnx = pytest.importorskip("onnx")

from rushlight.onnx import model as models, op_forms  # noqa: E402 - needs onnx


class Of(nn.Module):
    """A function as a module."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


def same(model, args, shapes=None, sizes=(1, 5)):
    """Export, and compare with the module at the sizes."""
    torch.manual_seed(0)
    program = torch.onnx.export(model.eval(), args, dynamic_shapes=shapes, verbose=False)
    for size in (None, *sizes) if shapes else (None,):
        given = [a if size is None else a[[0] * size] for a in args]
        with torch.no_grad():
            wanted = flatten(model(*given))[0]
        for ours, theirs in zip(program(*given), wanted, strict=True):
            assert ours.dtype == theirs.dtype
            torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-5)
    return program


B = ({0: Dim("b")},)
IMAGE, WORDS = torch.randn(2, 3, 8, 8), torch.randn(2, 5, 8)
MODELS = {
    "mlp": (nn.Sequential(nn.Linear(10, 4), nn.ReLU(), nn.Linear(4, 2)), torch.randn(1, 10)),
    "cnn": (
        nn.Sequential(
            nn.Conv2d(3, 4, 3, padding=1),
            nn.BatchNorm2d(4),
            nn.ReLU(True),
            nn.MaxPool2d(2),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.Linear(4, 2),
            nn.Dropout(0.1),
            nn.LogSoftmax(1),
        ),
        IMAGE,
    ),
    "norms": (
        nn.Sequential(
            nn.GroupNorm(3, 3),
            nn.InstanceNorm2d(3),
            nn.Upsample(scale_factor=2),
            nn.ConvTranspose2d(3, 3, 2),
            nn.PReLU(),
            nn.Softmax2d(),
            nn.AvgPool2d(2),
            nn.Conv2d(3, 3, 3, padding="same", groups=3),
        ),
        IMAGE,
    ),
    "activations": (
        nn.Sequential(
            nn.GELU(),
            nn.SiLU(),
            nn.LeakyReLU(),
            nn.Hardswish(),
            nn.Softplus(),
            nn.Mish(),
            nn.ELU(),
            nn.CELU(),
            nn.SELU(),
            nn.Hardtanh(),
            nn.Hardsigmoid(),
            nn.ReLU6(),
            nn.Tanhshrink(),
            nn.Softsign(),
            nn.LogSigmoid(),
            nn.GELU("tanh"),
        ),
        IMAGE,
    ),
    "transformer": (
        nn.TransformerEncoder(
            nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2, enable_nested_tensor=False
        ),
        WORDS,
    ),
    "lstm": (nn.LSTM(8, 5, num_layers=2, bidirectional=True, batch_first=True), WORDS),
    "gru": (nn.GRU(8, 5, batch_first=True), WORDS),
    "rnn": (nn.RNN(8, 5, batch_first=True), WORDS),
    "words": (
        nn.Sequential(nn.Embedding(10, 4), nn.LayerNorm(4), nn.Linear(4, 10)),
        torch.tensor([[1, 2], [4, 5]]),
    ),
}


@pytest.mark.parametrize("name", MODELS)
def test_models(name):
    model, x = MODELS[name]
    same(model, (x,), B)


class Residual(nn.Module):
    """A block with a sum, of images of any size."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Conv2d(3, 8, 3, 2, 1, bias=False), nn.BatchNorm2d(8)
        self.c, self.d, self.skip = nn.Conv2d(8, 8, 3, 1, 1), nn.BatchNorm2d(8), nn.Conv2d(3, 8, 1, 2)
        self.out = nn.Linear(8, 5)

    def forward(self, x):
        y = self.d(self.c(F.relu(self.b(self.a(x)), inplace=True)))
        y += self.skip(x)
        return self.out(torch.flatten(F.adaptive_avg_pool2d(F.max_pool2d(y, 3, 2, 1), 1), 1))


class Causal(nn.Module):
    """Attention written out, for any number of words."""

    def __init__(self):
        super().__init__()
        self.e, self.p = nn.Embedding(50, 16), nn.Embedding(64, 16)
        self.qkv, self.norm, self.out = nn.Linear(16, 48), nn.LayerNorm(16), nn.Linear(16, 50)

    def forward(self, x):
        b, t = x.shape
        y = self.e(x) + self.p(torch.arange(t))
        q, k, v = (p.view(b, t, 4, -1).transpose(1, 2) for p in self.qkv(self.norm(y)).chunk(3, -1))
        mask = torch.tril(torch.ones(t, t)) == 0
        a = ((q @ k.transpose(-2, -1)) * 0.5).masked_fill(mask, float("-inf")).softmax(-1)
        return self.out(y + (a @ v).transpose(1, 2).reshape(b, t, -1))


@pytest.mark.parametrize(
    ("model", "x", "dims", "others"),
    [
        (Residual(), torch.randn(2, 3, 32, 32), (0, 2, 3), ((1, 3, 40, 24), (3, 3, 17, 33))),
        (Causal(), torch.randint(0, 50, (2, 7)), (0, 1), ((1, 5), (3, 12))),
    ],
)
def test_several_sizes_may_change(model, x, dims, others):
    shapes = ({d: Dim(f"d{d}", min=2 if d else 1, max=64) for d in dims},)
    ep = export(model.eval(), (x,), dynamic_shapes=shapes)
    program = torch.onnx.export(model, (x,), dynamic_shapes=shapes, verbose=False)
    for size in others:
        given = torch.randn(size) if x.is_floating_point() else torch.randint(0, 50, size)
        torch.testing.assert_close(ep.module()(given), model(given))
        torch.testing.assert_close(program(given)[0], model(given).detach(), rtol=1e-5, atol=1e-5)


FUNCTIONS = {
    "arithmetic": lambda x: (
        (1 - x) * 2 / (x + 9),
        x**2 + x.abs().sqrt(),
        -x,
        x.add(x, alpha=2),
        x % 2,
        x // 0.5,
    ),
    "integers": lambda x: (x.long() // 2, x.long() % 3, -x.long(), x.int() & 3, ~(x > 0)),
    "comparisons": lambda x: (
        (x > 0) & (x < 1) | (x == 0),
        torch.where(x > 0, x, 0.0),
        x.clamp(-1, 1),
        x.maximum(-x),
    ),
    "elementary": lambda x: (
        x.sin(),
        x.exp(),
        x.abs().log1p(),
        x.expm1(),
        x.erf(),
        x.sigmoid(),
        x.tanh(),
        x.floor(),
        x.round(),
        x.sign(),
        x.atan(),
        x.abs().rsqrt(),
        x.isnan(),
    ),
    "reductions": lambda x: (
        x.sum(1),
        x.mean((2, 3)),
        x.amax(1),
        x.max(1),
        x.argmax(1),
        x.max(),
        x.std(),
        x.var(1),
        x.norm(),
        x.logsumexp(1),
        (x > 0).any(1),
        (x > 0).all(),
        x.prod(1),
        x.cumsum(1),
    ),
    "shapes": lambda x: (
        x.view(x.size(0), -1),
        x.permute(0, 2, 3, 1),
        x.transpose(1, 2),
        x[:, 0],
        x[..., 1:3],
        x[:, None],
        x.flatten(1),
        x.unsqueeze(0).squeeze(0),
        x.repeat(1, 2, 1, 1),
        x.roll(1, 2),
        x.flip(1),
        x.movedim(1, 2),
        x.expand(2, 3, 8, 8),
        x[:, :, -1],
    ),
    "joining": lambda x: (
        torch.cat([x, x], 1),
        torch.stack([x, x]),
        x.chunk(3, 1),
        x.split(2, 1),
        x.unbind(1),
    ),
    "attention": lambda x: (
        F.scaled_dot_product_attention(x, x, x),
        F.scaled_dot_product_attention(x, x, x, is_causal=True),
        F.softmax(x, -1),
    ),
    "padding": lambda x: (F.pad(x, (1, 2)), F.pad(x, (1, 1, 1, 1), mode="reflect")),
    "resampling": lambda x: (
        F.interpolate(x, scale_factor=2),
        F.interpolate(x, size=(5, 5), mode="bilinear"),
        F.interpolate(x, size=(16, 16), mode="bilinear", align_corners=True),
    ),
    "masks": lambda x: (x.masked_fill(x > 0, 0.0), torch.tril(x), torch.triu(x, 1)),
    "creation": lambda x: (
        x + torch.zeros(8),
        x * torch.ones_like(x),
        torch.arange(8) + x,
        x + torch.tensor(2.0),
    ),
    "places": lambda x: (
        x.topk(2),
        x.sort(-1),
        x[:, torch.tensor([0, 2])],
        x.index_select(1, torch.tensor([0])),
        F.one_hot(x.argmax(1), 3),
    ),
    "casts": lambda x: (x.double(), x.int(), x.to(torch.float16).float(), x.bool()),
    "products": lambda x: (
        x @ x.mT,
        torch.bmm(x[0], x[1]),
        torch.einsum("bchw,bcwk->bchk", x, x),
        x[0, 0].mv(x[0, 0, 0]),
    ),
    "losses": lambda x: (
        F.mse_loss(x, x * 2),
        F.cross_entropy(x[:, :, 0, 0], torch.tensor([1, 2])),
        F.normalize(x),
    ),
    "pools": lambda x: (
        F.avg_pool2d(x, 3, 2, 1),
        F.adaptive_avg_pool2d(x, 4),
        F.max_pool2d(x, 3, 2, 1, ceil_mode=True),
    ),
    "writes": lambda x: x.clone().add_(1).mul_(2),
    "gates": lambda x: (F.glu(x, -1), F.rms_norm(x, (8,))),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name):
    same(Of(FUNCTIONS[name]), (IMAGE,))


def test_the_guides_export(tmp_path):
    path = tmp_path / "model.onnx"
    model = nn.Sequential(nn.Linear(10, 128), nn.ReLU(), nn.Linear(128, 4)).eval()
    axes = {"features": {0: "batch_size"}, "logits": {0: "batch_size"}}
    torch.onnx.export(
        model,
        torch.randn(1, 10),
        str(path),
        opset_version=17,
        input_names=["features"],
        output_names=["logits"],
        dynamic_axes=axes,
    )
    onnx.checker.check_model(str(path), full_check=True)
    read = onnx.load(str(path))
    assert read.opset_import[0].version == 17 and sorted(os.listdir(tmp_path)) == [
        "model.onnx",
        "model.onnx.data",
    ]
    assert [v.type.tensor_type.shape.dim[0].dim_param for v in (*read.graph.input, *read.graph.output)] == [
        "batch_size"
    ] * 2
    runtime = pytest.importorskip("onnxruntime").InferenceSession(str(path))
    for n in (1, 3, 9):
        x = torch.randn(n, 10)
        np.testing.assert_allclose(
            runtime.run(["logits"], {"features": x.numpy()})[0],
            model(x).detach().numpy(),
            rtol=1e-5,
            atol=1e-6,
        )


def test_one_file_and_programs(tmp_path):
    ep = export(nn.Linear(40, 20), (torch.randn(2, 40),), dynamic_shapes=({0: Dim("b")},))
    program = torch.onnx.export(ep, f=tmp_path / "m.onnx", external_data=False, verify=True)
    assert os.listdir(tmp_path) == ["m.onnx"] and "Gemm" in repr(program)
    assert len(onnx.load(tmp_path / "m.onnx").graph.initializer) == 2
    assert (
        torch.onnx.export(nn.Linear(2, 2).eval(), (torch.ones(1, 2),), tmp_path / "n.onnx", dynamo=False)
        is None
    )


def test_what_has_no_form_is_named_with_its_line():
    class Values(nn.Module):
        def forward(self, x):
            return torch.linalg.eigvalsh(x)

    with pytest.raises(
        UnsupportedOperatorError, match=r"(?s)'aten::linalg_eigvalsh.*torch.linalg.eigvalsh\(x\)"
    ):
        torch.onnx.export(Values().eval(), (torch.eye(3),))

    class Writes(nn.Module):
        def forward(self, x):
            y = x.clone()
            y.unfold(0, 1, 2).add_(1)
            return y

    with pytest.raises(torch.onnx.OnnxExporterError, match="writes through a view"):
        torch.onnx.export(Writes().eval(), (torch.eye(3),))


def test_export_knows_that_it_runs():
    seen = []

    class Looks(nn.Module):
        def forward(self, x):
            seen.append(torch.onnx.is_in_onnx_export())
            return x + 1

    with pytest.warns(UserWarning, match="training mode"):
        torch.onnx.export(Looks(), (torch.ones(2),))
    assert set(seen) == {True} and not torch.onnx.is_in_onnx_export()


@pytest.mark.parametrize("op", op_forms.FORMS)
def test_a_form_is_of_its_ops_arguments(op):
    """What a form names is an argument of its op, or has a default."""
    form = op_forms.FORMS[op]
    named = {*models._DEFAULTS, "self", "input"}
    signatures = overloads.overloads(op).values()
    for found in signatures:
        named |= {argument.name for argument in found._schema.arguments}
    _, *names = inspect.signature(form).parameters
    assert not signatures or set(names) <= named
    assert inspect.getsource(form).startswith("@form_of(")


@pytest.mark.parametrize("swap", [torch.swapaxes, torch.swapdims, torch.transpose], ids=lambda f: f.__name__)
def test_swapped_dims(swap):
    same(Of(lambda x: swap(x, 0, -1)), (torch.rand(2, 3, 4),))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: torch.nn.functional.avg_pool2d(x, 3, 2, divisor_override=4),
        lambda x: torch.nn.functional.interpolate(x, scale_factor=1.7, mode="nearest"),
        lambda x: torch.scatter(x[0, 0], 0, torch.tensor([[0, 1, 2, 0]]), x[0, 0] * 2),
        lambda x: torch.scatter(x[0, 0], 0, torch.tensor([[0, 1, 2, 0]]), x[0, 0] * 2, reduce="add"),
    ],
)
def test_arguments_that_change_the_numbers(function):
    x = torch.randn(1, 2, 7, 7)
    file = io.BytesIO()
    onnxruntime = pytest.importorskip("onnxruntime")
    torch.onnx.export(
        type("Calls", (torch.nn.Module,), {"forward": lambda self, x: function(x)})(), (x,), file
    )
    session = onnxruntime.InferenceSession(file.getvalue(), providers=["CPUExecutionProvider"])
    (found,) = session.run(None, {session.get_inputs()[0].name: x.numpy()})
    assert torch.allclose(torch.from_numpy(found), function(x), atol=1e-5)


@pytest.mark.parametrize(
    "moment",
    [
        lambda x: x.var(True),
        lambda x: x.std(False),
        lambda x: torch.var_mean(x, 1, keepdim=True),
        lambda x: torch.std_mean(x, False),
        lambda x: torch.var_mean(x, (0, 1), correction=0),
        lambda x: x[:1].var(0),
        lambda x: x[:0].var(True),
    ],
)
def test_moments_of_all_elements_and_of_too_few(moment) -> None:
    x = torch.randn(3, 4)
    found = torch.onnx.export(Of(moment).eval(), (x,), verbose=False)(x)
    wanted = moment(x)
    for a, b in zip(found, wanted if isinstance(wanted, tuple) else (wanted,), strict=True):
        assert a.shape == b.shape and torch.allclose(a, b, atol=1e-6, equal_nan=True)


def test_a_shape_given_in_place_is_refused() -> None:
    with pytest.raises(Exception, match=r"resize_\(\)"):
        torch.onnx.export(Of(lambda x: x.clone().resize_(4, 3)).eval(), (torch.randn(3, 4),), verbose=False)
