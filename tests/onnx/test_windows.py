"""Windows, columns and writes into parts of tensors through ONNX."""

import pytest

import rushlight as torch
import rushlight.nn.functional as F
from rushlight import nn

pytest.importorskip("onnx")


def written(x):
    y = x.clone()
    y[:, 1:3] += x[:, :2]
    y[0] = 2.0
    y[..., ::2].mul_(3)
    return y


def filled(x):
    z = torch.zeros(2, 3, 8, 8)
    z[:, :, 2:5] = x[:, :, :3]
    z[:, 0, 1] = 7
    return z


def pieces(x):
    y = x.clone()
    y.split(1)[0].add_(1)
    first, second = y.chunk(2, -1)
    first.mul_(second + 1)
    y.unbind(1)[-1][0].neg_()
    y.split([3, 5], 2)[1].tensor_split(2, -1)[1].sin_()
    return y, first, second


def parts(x):
    y = x.clone()
    y.movedim(1, -1).narrow(0, -1, 1).mul_(2)
    y.narrow(2, 1, 3).add_(3)
    y.ravel()[2:4].neg_()
    y.expand_as(y).cos_()
    return y


def read_later(x):
    y = x.clone()
    row, rows, all_of_it = y[0], y.split(1), y.detach()
    copy = y.transpose(0, 1).reshape(-1)
    y.add_(1)
    copy.mul_(2)
    return row, *rows, all_of_it, copy, y


CALLS = {
    "pieces": pieces,
    "parts": parts,
    "read later": read_later,
    "written": written,
    "filled": filled,
    "unfold": lambda x: x.unfold(-1, 2, 1).unfold(2, 4, 4),
    "columns": lambda x: F.unfold(x, (2, 3), dilation=(2, 1), padding=(1, 0), stride=2),
    "columns of one": lambda x: F.unfold(x[0], 2),
    "fold": lambda x: F.fold(F.unfold(x, 3, padding=1, stride=2), (8, 8), 3, padding=1, stride=2),
    "fold of one": lambda x: F.fold(F.unfold(x[0], 3), 8, 3),
    "eye": lambda x: x[0, 0].long() + torch.eye(8, dtype=torch.long),
    "greater": lambda x: torch.max(x, x * 2),
    "less": lambda x: torch.min(x, x.flip(0)),
}


@pytest.mark.parametrize("name", CALLS)
def test_calls(name):
    call = CALLS[name]
    model = type("Calls", (nn.Module,), {"forward": lambda self, x: call(x)})().eval()
    x = torch.randn(2, 3, 8, 8)
    found = torch.onnx.export(model, (x,), verbose=False)(x)
    wanted = call(x)
    several = wanted if isinstance(wanted, tuple) else (wanted,)
    assert [t.dtype for t in found] == [t.dtype for t in several]
    torch.testing.assert_close(found, list(several))
