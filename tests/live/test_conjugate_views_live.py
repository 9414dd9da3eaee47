"""Views that are conjugated or negated when they are read, side by side with PyTorch's."""

from __future__ import annotations

import copy
import io
import warnings

import pytest

import rushlight
from tests.engine.tensors.test_conjugate_views import COPIES, VIEWS

torch = pytest.importorskip("torch")
BOTH = (torch, rushlight)
MORE = """c.new_empty(2); c.view_as(c); torch.empty(2, dtype=torch.complex64).set_(c); x.conj().set_(x)
x.conj().resize_(2); x.conj().transpose_(0, 1); c.squeeze(); c.movedim(0, 1); c.ravel(); c.swapaxes(0, 1); c.narrow(0, 1, 2)
c.view(12); c.unsqueeze(0); c.select(0, 1); c.chunk(2)[1]; c.index_select(0, torch.tensor([0])); c.to(torch.float64)
c.imag.t(); c.imag[0]; c.imag.reshape(12); c.imag.to(torch.float16); c.real.resolve_neg(); c.abs(); c.angle(); c.sgn()
c.sum(); c.cumsum(0); c.flip(0); c.roll(1); c.tril(); torch.where(c.abs() > 1, c, x); torch.stack([c, x]); c.exp(); c * 2
c == x.conj(); torch.complex(c.imag, c.real); torch.polar(c.abs(), c.angle()); torch.linalg.norm(c); c.mH @ c; x.mH @ c
torch.einsum("ij,kj->ik", c, x); torch.linalg.svdvals(c); torch.linalg.qr(c.mT)[1]; torch.fft.fft(c); torch.fft.ifft2(c)
torch.vdot(c[0], x[0]); torch.inner(c, c); torch.tensordot(c, x.mH, 1); torch.linalg.pinv(c); c.masked_fill(c.abs() > 1, 0)
torch.linalg.inv(c[:, :3] + torch.eye(3)); torch.view_as_complex(c.imag.reshape(6, 2).clone()); c.diff(); c.nan_to_num()
torch.vmap(torch.conj)(x); torch.ones(3).conj(); torch._conj(x); torch.addmm(c, c[:, :3], c); torch._conj_physical(c)
c.scatter(0, torch.zeros(1, 4, dtype=torch.int64), x); c.index_put((torch.tensor([0]),), x[0]); c.repeat(2, 1); c.tile(2)
torch.linalg.eigvals(c[:, :3]); torch.linalg.solve(c[:, :3] + 3 * torch.eye(3), x); torch.meshgrid(c[0], x[0])[0]"""
CALLS = [*VIEWS, *COPIES, *(call.strip() for line in MORE.splitlines() for call in line.split(";"))]
WRITES = """c.add_(1j); c.mul_(x + 0); c[0].fill_(2j); c.imag.copy_(c.real.clone()); c.real.zero_(); c[1:] = 3 + 1j; c[[0]] = x[:1] + 0
c[x.abs() > 2] = 1j; torch.mul(x + 0, 2j, out=c); c.mT[:2].sub_(c.mT[1:3] + 0); c.sigmoid_(); c.conj_physical_(); c.neg_()
c.index_add_(0, torch.tensor([1]), x[:1] + 0); c.masked_fill_(x.abs() > 2, 5j); c.tril_(); c.copy_(x.real + 1); c.imag += 2
c.scatter_(0, torch.zeros(1, 4, dtype=torch.int64), x + 0); torch._neg_view(x).add_(1); torch._neg_view(c.imag)[0] = 4
c.index_fill_(0, torch.tensor([0]), 2j); c.addmm_(x[:, :3] + 0, x + 0); torch.matmul(x[:, :3] + 0, x + 0, out=c)"""
WRITES = [call.strip() for line in WRITES.splitlines() for call in line.split(";")]
REFUSED = """c.numpy(); c.imag.numpy(); torch.view_as_real(c); c.view(torch.float32); c.imag.view(torch.int32)
c.clone().requires_grad_().conj().mul_(2); c.__dlpack__()"""


def operands(framework):
    x = framework.arange(12.0).view(3, 4) * 0.5 + 1j * framework.arange(12.0).view(3, 4).cos()
    x = x.to(framework.complex64)
    return {"torch": framework, "copy": copy, "x": x, "c": x.conj()}


def told(t):
    """Everything about a tensor."""
    return t.is_conj(), t.is_neg(), str(t.dtype), tuple(t.shape), t.stride(), t.storage_offset()


def assert_close(one, other):
    assert torch.allclose(
        torch.tensor(other.tolist()).to(one.dtype), one.resolve_conj().resolve_neg(), 1e-4, 1e-5
    )


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("code", CALLS)
def test_calls(code):
    one, other = (eval(code, operands(framework)) for framework in BOTH)
    assert told(one) == told(other)
    if "empty" not in code:
        assert_close(one, other)


@pytest.mark.parametrize("code", WRITES)
def test_writes(code):
    one, other = (operands(framework) for framework in BOTH)
    for given in (one, other):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(code, given)
    for name in ("x", "c"):
        assert told(one[name]) == told(other[name])
        assert_close(one[name], other[name])
    assert one["x"]._version == other["x"]._version == other["c"]._version


@pytest.mark.parametrize("code", [call.strip() for line in REFUSED.splitlines() for call in line.split(";")])
def test_refusals(code):
    with pytest.raises(Exception) as one:
        eval(code, operands(torch))
    with pytest.raises(type(one.value)) as other:
        eval(code, operands(rushlight))
    assert str(other.value)[:40] == str(one.value)[:40]


@pytest.mark.parametrize(
    "code",
    [
        "w.conj()",
        "w.conj().conj()",
        "w.mH.mT",
        "w.conj().imag",
        "w.conj() * w",
        "w.conj().resolve_conj() * 2",
        "w.mH @ w",
        "torch._neg_view(w)",
        "w.conj()[1:].reshape(-1)",
        "(w * 1).conj().mul_(2j)",
        "(w * 1).mH.imag.exp_()",
        "w.conj().abs()",
    ],
)
def test_gradients(code):
    found = []
    for framework in BOTH:
        given = operands(framework)
        w = given["w"] = given["x"].clone().requires_grad_()
        y = eval(code, given)
        y.backward(framework.ones_like(y) * (0.5 if y.is_complex() else 2))
        found.append(w.grad)
    one, other = found
    assert one.is_conj() == other.is_conj() and one.stride() == other.stride()
    assert_close(one, other)


@pytest.mark.parametrize(
    "code", ["c", "c[1:]", "c.imag", "torch._neg_view(c)", "torch._neg_view(x)", "torch.nn.Parameter(c)"]
)
@pytest.mark.parametrize("new", [True, False])
def test_files_both_ways(code, new):
    for writer, reader in (BOTH, BOTH[::-1]):
        given, file = eval(code, operands(writer)), io.BytesIO()
        writer.save(given, file, _use_new_zipfile_serialization=new)
        file.seek(0)
        one, other = (given, reader.load(file)) if writer is torch else (reader.load(file), given)
        assert told(one) == told(other)
        assert_close(one.detach(), other.detach())
