"""F.interpolate through ONNX: where its elements are read, by scales and by sizes."""

import pytest

import rushlight as torch
import rushlight.nn.functional as F
from rushlight import nn

pytest.importorskip("onnxruntime")

MODES = {
    "linear": 1,
    "bilinear": 2,
    "bicubic": 2,
    "trilinear": 3,
    "nearest": 2,
    "nearest-exact": 3,
}
SIZES = [
    {"scale_factor": 1.7},
    {"scale_factor": 0.7},
    {"scale_factor": (2.3, 0.5, 1.0)},
    {"scale_factor": 1.7, "recompute_scale_factor": True},
    {"size": (7, 3, 9)},
    {"size": (1, 2, 1)},
]


def check(call, *args):
    model = type("Calls", (nn.Module,), {"forward": lambda self, *given: call(*given)})().eval()
    found = torch.onnx.export(model, args, verbose=False)(*args)
    torch.testing.assert_close(found, list(call(*args)), atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("mode", MODES)
def test_modes(mode):
    dims = MODES[mode]
    x = torch.randn(1, 2, *(10, 5, 6)[:dims])
    corners = (None,) if "nearest" in mode else (False, True)

    def all_of_it(x):
        for told in SIZES:
            given = {k: v[:dims] if isinstance(v, tuple) else v for k, v in told.items()}
            for align in corners:
                yield F.interpolate(x, mode=mode, align_corners=align, **given)

    check(lambda x: tuple(all_of_it(x)), x)


def test_antialias():
    x = torch.randn(1, 2, 10, 9)
    check(
        lambda x: (
            F.interpolate(x, scale_factor=0.4, mode="bilinear", antialias=True),
            F.interpolate(x, size=(4, 15), mode="bicubic", antialias=True),
        ),
        x,
    )


def test_ops_with_a_scale_of_each_dim():
    ops = torch.ops.aten
    check(
        lambda x: (
            ops.upsample_bilinear2d.default(x, [6, 8], False, 1.6, 1.7),
            ops.upsample_nearest2d.default(x, [6, 8], None, 1.7),
            ops.upsample_nearest1d.default(x[0], [8], 1.7),
        ),
        torch.randn(1, 2, 4, 5),
    )
