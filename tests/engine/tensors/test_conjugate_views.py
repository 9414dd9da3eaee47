"""Views that are conjugated or negated when they are read: laws over all rows, and facts that PyTorch gives."""

from __future__ import annotations

import copy
import io
import pickle

import numpy as np
import pytest

import rushlight as torch
from rushlight._engine.dispatch.dispatcher import lookup
from rushlight._engine.ops.table import NAMES
from tests.engine.ops.test_laws import ALL, IDS, call, flat, tensors_of

IN_PLACE = {
    row.name: name
    for (space, name), (row, variant) in NAMES.items()
    if space == "Tensor" and variant != "function" and row.kind != "view" and not row.options.get("is_view")
}
UNMARKED = (torch.bool, torch.uint8)


def complexly(a):
    """Floats as complex numbers."""
    return a + 0.25j * np.roll(a, 1, -1) if a.dtype == np.float64 and a.ndim else a


def lazily(t):
    """The same values, in a view that is negated, and conjugated if complex, when it is read."""
    return t if t.dtype in UNMARKED else torch._neg_view((-t.conj_physical()).conj())


def mapped(f, arguments):
    """The arguments with f(t) for each tensor."""
    return {
        name: f(v)
        if isinstance(v, torch.Tensor)
        else [f(t) for t in v]
        if isinstance(v, list) and v and isinstance(v[0], torch.Tensor)
        else v
        for name, v in arguments.items()
    }


def outcome(run):
    """What run() gives, from the same random numbers; the class of what it raises."""
    torch.manual_seed(0)
    try:
        return run()
    except Exception as error:
        return type(error)


def assert_same(plain, lazy):
    if isinstance(plain, type) or isinstance(lazy, type):
        assert plain is lazy
        return
    assert [getattr(t, "dtype", t) for t in plain] == [getattr(t, "dtype", t) for t in lazy]
    for a, b in zip(plain, lazy, strict=True):
        if isinstance(a, torch.Tensor):
            a, b = ((t.float() if t.dtype is torch.bfloat16 else t).numpy(force=True) for t in (a, b))
            np.testing.assert_allclose(b, a, rtol=1e-10, atol=1e-10)


def gradients(row, sample, transform, lazy):
    """Of all floating operands, which are leaves or lazy views of leaves."""
    leaves = []

    def operand(t):
        if not (t.is_floating_point() or t.is_complex()):
            return lazily(t) if lazy else t
        leaves.append((-t.conj_physical() if lazy else t).requires_grad_())
        return torch._neg_view(leaves[-1].conj()) if lazy else leaves[-1] * 1

    found = flat(call(row, mapped(operand, tensors_of(sample, transform))))
    outs = [o for o in found if o.requires_grad]
    if not outs:
        return []
    grads = torch.autograd.grad(outs, leaves, [torch.full_like(o, 0.5) for o in outs], allow_unused=True)
    return [-g.conj() if lazy and g is not None else g for g in grads]


def overwritten(row, sample, transform, lazy):
    """(the first operand after the op in place, what its memory means then)."""
    arguments = tensors_of(sample, transform)
    target = memory = arguments.pop(next(iter(arguments)))
    if lazy and target.dtype not in UNMARKED:
        memory = -target.conj_physical()
        target = torch._neg_view(memory.conj())
    lookup("Tensor", IN_PLACE[row.name])(target, **arguments)
    return [target, memory if memory is target else -memory.conj()]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("row", "sample"), ALL, ids=IDS)
def test_ops_read_and_write_values(row, sample):
    """Results, gradients and writes are those of ordinary tensors of these values."""
    for transform in (lambda a: a, complexly):
        given = tensors_of(sample, transform).values()
        if transform is complexly and not any(isinstance(v, torch.Tensor) and v.is_complex() for v in given):
            continue
        assert_same(
            outcome(lambda t=transform: flat(call(row, tensors_of(sample, t)))),
            outcome(lambda t=transform: flat(call(row, mapped(lazily, tensors_of(sample, t))))),
        )
        assert_same(
            *[
                outcome(lambda t=transform, lazy=lazy: gradients(row, sample, t, lazy))
                for lazy in (False, True)
            ]
        )
        if row.name in IN_PLACE:
            assert_same(
                *[
                    outcome(lambda t=transform, lazy=lazy: overwritten(row, sample, t, lazy))
                    for lazy in (False, True)
                ]
            )


X = torch.arange(12.0).view(3, 4).to(torch.complex64) * (1 + 0.5j) + 1j


def marks(t):
    return t.is_conj(), t.is_neg()


VIEWS = {  # PyTorch's answers: (is_conj, is_neg), strides
    "c": (True, False, (4, 1)),
    "x.mH": (True, False, (1, 4)),
    "x.H": (True, False, (1, 4)),
    "x.adjoint()": (True, False, (1, 4)),
    "torch.conj(x)": (True, False, (4, 1)),
    "c.conj()": (False, False, (4, 1)),
    "c.mH": (False, False, (1, 4)),
    "c.imag": (False, True, (8, 2)),
    "c.real": (False, False, (8, 2)),
    "torch._neg_view(x)": (False, True, (4, 1)),
    "torch._neg_view(x).conj()": (True, True, (4, 1)),
    "torch._neg_view(x).conj().imag": (False, False, (8, 2)),
    "torch._neg_view(torch._neg_view(x))": (False, False, (4, 1)),
    "torch.view_as_real(torch._neg_view(x))": (False, True, (8, 2, 1)),
    "c[1:]": (True, False, (4, 1)),
    "torch.view_as_complex(torch._neg_view(torch.view_as_real(x)))": (False, True, (4, 1)),
    "c[0]": (True, False, (1,)),
    "c[None]": (True, False, (12, 4, 1)),
    "c.reshape(12)": (True, False, (1,)),
    "c.flatten()": (True, False, (1,)),
    "c.expand(2, 3, 4)": (True, False, (0, 4, 1)),
    "c.unbind(0)[1]": (True, False, (1,)),
    "c.split(2)[0]": (True, False, (4, 1)),
    "c.T": (True, False, (1, 4)),
    "c.as_strided((2,), (1,))": (True, False, (1,)),
    "c.diagonal()": (True, False, (5,)),
    "c.unfold(0, 2, 1)": (True, False, (4, 1, 4)),
    "c.detach()": (True, False, (4, 1)),
    "c.data": (True, False, (4, 1)),
    "torch.asarray(c)": (True, False, (4, 1)),
    "c.resolve_neg()": (True, False, (4, 1)),
    "torch.nn.Parameter(c)": (True, False, (4, 1)),
    "c.contiguous()": (True, False, (4, 1)),
    "c.to(torch.complex64)": (True, False, (4, 1)),
}
COPIES = {  # these have their own memory, and no mark
    "c[[0, 1]]": (4, 1),
    "c[torch.ones(3, 4, dtype=torch.bool)]": (1,),
    "c.t().reshape(12)": (1,),
    "c.clone()": (4, 1),
    "c.t().clone()": (1, 4),
    "c.t().contiguous()": (3, 1),
    "c.to(torch.complex128)": (4, 1),
    "c.to(torch.complex64, copy=True)": (4, 1),
    "c.imag.clone()": (4, 1),
    "c.imag.double()": (4, 1),
    "torch.empty_like(c)": (4, 1),
    "c.new_zeros(3)": (1,),
    "c.resolve_conj()": (4, 1),
    "c.conj_physical()": (4, 1),
    "c.imag.resolve_neg()": (4, 1),
    "torch._neg_view(c).resolve_conj()": (4, 1),
    "c + 0": (4, 1),
    "-c": (4, 1),
    "-c.imag": (4, 1),
    "c @ x.mT": (3, 1),
    "torch.cat([c, c])": (4, 1),
    "copy.deepcopy(c)": (4, 1),
    "copy.deepcopy(c.imag)": (4, 1),
    "torch.tensor(c.tolist())": (4, 1),
    "torch.view_as_real_copy(c)": (8, 2, 1),
}


@pytest.mark.parametrize("code", VIEWS)
def test_views(code):
    x = X.clone()
    found = eval(code, {"torch": torch, "x": x, "c": x.conj()})
    assert (*marks(found), found.stride()) == VIEWS[code]
    assert found.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()


@pytest.mark.parametrize("code", COPIES)
def test_copies(code):
    x = X.clone()
    found = eval(code, {"torch": torch, "copy": copy, "x": x, "c": x.conj()})
    assert marks(found) == (False, False) and found.stride() == COPIES[code]
    assert found.untyped_storage().data_ptr() != x.untyped_storage().data_ptr()


def test_a_view_of_the_same_memory():
    x = X.clone()
    c = x.conj()
    assert type(c) is torch.Tensor and c._is_view() and c._base is x and c.data_ptr() == x.data_ptr()
    assert torch.is_conj(c) and torch.is_neg(c.imag) and c.is_contiguous() and c.storage_offset() == 0
    assert c.imag.storage_offset() == 1 and c.tolist() == [[v.conjugate() for v in row] for row in x.tolist()]
    assert c[0, 1].item() == x[0, 1].item().conjugate() and "-1.5000j" in repr(c)
    assert x.resolve_conj() is x and x.resolve_neg() is x and c.resolve_neg() is c and c.contiguous() is c
    r = torch.ones(3)
    assert (
        r.conj() is r
        and r.resolve_conj() is r
        and not torch._neg_view(torch.ones(2, dtype=torch.int64)).sum() + 2
    )
    assert torch.ones(2, dtype=torch.complex64, device="meta").conj().is_conj()


def test_writes_reach_the_base_and_back():
    x = torch.ones(2, dtype=torch.complex64) * (1 + 2j)
    c, before = x.conj(), x._version
    c.add_(1j)
    assert x.tolist() == [1 + 1j] * 2 and x._version == c._version == before + 1
    c[0] = 5 + 5j
    c[torch.tensor([1])] = torch.tensor([2j])
    assert x.tolist() == [5 - 5j, -2j]
    c.imag.mul_(2)
    assert x.tolist() == [5 - 10j, -4j]
    c.copy_(torch.tensor([1 + 1j, 2 + 2j]))
    assert x.tolist() == [1 - 1j, 2 - 2j]
    x[0] = 3j
    assert c[0].item() == -3j
    torch.add(torch.ones(2) * 1j, 1, out=c)
    assert x.tolist() == [1 - 1j] * 2 and c.is_conj()
    c.fill_(1j)
    assert x.tolist() == [-1j] * 2
    c.numpy(force=True)[0] = 0
    assert c.zero_().is_conj() and x.tolist() == [0, 0]
    x.copy_(x.conj() + 1j)
    x.mul_(x.conj())
    assert x.tolist() == [1, 1]
    assert c.conj_physical_().is_conj() and c.transpose_(0, 0).is_conj()
    c.resize_(1)
    assert c.shape == (1,) and c.is_conj() and c.set_(X).is_conj() and c.data_ptr() == X.data_ptr()


def test_large_memory():
    """What machine code writes to."""
    x = torch.randn(300, 301, dtype=torch.complex64)
    before, c = x.clone(), x.conj()
    c.mul_(2).add_(before).sub_(before.conj())
    expected = 2 * before.conj_physical() + before - before.conj_physical()
    assert torch.allclose(x, expected.conj()) and torch.equal(c, x.conj_physical())
    assert torch.allclose(x.mH @ x, x.mT.conj_physical() @ x)
    v = torch._neg_view(torch.randn(1 << 17))
    total = -v.resolve_neg().sum()
    v.neg_()
    assert torch.allclose(v.sum(), total)


def test_refusals():
    c = X.conj()
    for run, error, words in (
        (c.numpy, RuntimeError, "conjugate bit set.*resolve_conj"),
        (c.imag.numpy, RuntimeError, "negative bit set.*resolve_neg"),
        (c.__dlpack__, BufferError, "conjugate bit"),
        (lambda: np.asarray(c), RuntimeError, "resolve_conj"),
        (lambda: torch.view_as_real(c), RuntimeError, "unresolved conjugated tensors"),
        (lambda: c.view(torch.float32), RuntimeError, "not supported for conjugate view tensors"),
        (lambda: c.imag.view(torch.int32), RuntimeError, "tensors with negative bit set"),
    ):
        with pytest.raises(error, match=words):
            run()
    leaf = X.clone().requires_grad_()
    with pytest.raises(RuntimeError, match="view of a leaf"):
        leaf.conj().mul_(2)
    p = torch.nn.Parameter(c.clone().conj())
    p.grad = torch.ones_like(p)
    with pytest.raises(NotImplementedError, match="resolve_conj"):
        torch.optim.SGD([p], 0.1).step()


def test_code_that_knows_nothing_of_it_cannot_write():
    """The array of values is a copy, so that writing to it must not pass unnoticed."""
    with pytest.raises(ValueError, match="read-only"):
        X.conj()._array[0] = 0


def test_gradients_and_their_marks():
    w, ones = X.clone().requires_grad_(), torch.ones(3, 4, dtype=torch.complex64)
    for run, conj in ((lambda: w.conj(), True), (lambda: w.conj().conj(), False), (lambda: w.mH.T, True)):
        w.grad = None
        run().backward(ones)
        assert w.grad.is_conj() is conj and torch.equal(w.grad, ones)
    w.grad.zero_()
    assert ones.sum() == 12, "a gradient's memory is the leaf's own"
    w.conj().backward(ones)
    w.conj().backward(1j * ones)
    assert w.grad.tolist() == ((1 - 1j) * ones).tolist()
    w.grad = None
    w.conj().imag.sum().backward()
    assert w.grad.tolist() == [[-1j] * 4] * 3 and not w.grad.is_conj()
    assert (
        w.conj().grad_fn.name() == "ConjBackward0" and torch._neg_view(w).grad_fn.name() == "NegViewBackward0"
    )
    assert w.conj().resolve_conj().grad_fn.name() == "CloneBackward0"
    y = w * 1
    z = y.conj()
    z.mul_(2j)
    assert y.grad_fn.name() == "torch::autograd::CopySlices" and z.grad_fn.name() == "ConjBackward0"
    assert torch.autograd.grad(y, w, ones)[0].tolist() == (2j * ones).tolist()
    square = (w * w.conj()).real.sum()
    (g,) = torch.autograd.grad(square, w, create_graph=True)
    assert torch.allclose(g, 2 * w)
    assert torch.allclose(torch.autograd.grad(g.abs().square().sum(), w)[0], 8 * w)


@pytest.mark.parametrize("name", ["SGD", "Adam", "Adagrad", "RMSprop", "Rprop", "LBFGS"])
def test_optimizers_take_lazy_gradients(name):
    found = []
    for conj in (torch.conj, torch.conj_physical):
        p = X.clone().requires_grad_()
        optimizer = getattr(torch.optim, name)([p], lr=0.1)
        for _ in range(2):
            p.grad = None
            conj(p).backward(X)
            optimizer.step(lambda: 1.0)
        found.append(p.detach())
    assert torch.allclose(*found)


def test_saved_versions():
    w = X.clone().requires_grad_()
    y = w * 1
    out = (w * y.conj()).abs().sum()
    y.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.backward()


@pytest.mark.parametrize("legacy", [False, True])
def test_files_keep_the_marks(legacy):
    x = X.clone()
    given = {"x": x, "c": x.conj(), "both": torch._neg_view(x.conj()), "i": X.clone().conj().imag}
    file = io.BytesIO()
    torch.save(given, file, _use_new_zipfile_serialization=not legacy)
    file.seek(0)
    for found in (torch.load(file), pickle.loads(pickle.dumps(given))):
        for name, t in given.items():
            assert marks(found[name]) == marks(t) and torch.equal(found[name], t), name
        found["c"].zero_()
        assert not found["x"].any(), "they share a storage"


def test_transforms():
    v = torch.randn(3, 4, dtype=torch.complex64)
    assert torch.vmap(torch.conj)(v).is_conj()
    assert torch.allclose(
        torch.vmap(lambda t: t.conj() * t.conj().shape[0] @ t)(v), (4 * v.conj() * v).sum(1)
    )
    value, tangent = torch.func.jvp(lambda t: t.conj().imag * 2, (v,), (1j * torch.ones_like(v),))
    assert torch.equal(value, -2 * v.imag) and (tangent == -2).all()
    w = v.clone().requires_grad_()
    (expected,) = torch.autograd.grad((w.mH @ w).abs().sum(), w)
    assert torch.allclose(torch.func.grad(lambda t: (t.mH @ t).abs().sum())(v), expected)


def test_compiled_functions():
    x, w = X.clone(), (X * 2).requires_grad_()

    def step(a):
        loss = ((a.mH @ w) * (w.mH @ a).mT).abs().sum() + w.conj().imag.sum()
        w.grad = None
        loss.backward()
        return loss

    compiled = torch.compile(step)
    expected = step(x).item()
    kept = w.grad.clone()
    for _ in range(5):
        assert compiled(x).item() == pytest.approx(expected) and torch.allclose(w.grad, kept)
    later = torch.compile(lambda a: (a.mH @ w).abs())
    for _ in range(5):
        w.grad = None
        later(x).sum().backward()
        result, mine = w.grad.clone(), torch.autograd.grad((x.mH @ w).abs().sum(), w)[0]
        assert torch.allclose(result, mine)
    viewed = torch.compile(lambda a: (a.conj(), a.is_conj()))
    for given in (x, x.conj()):
        for _ in range(5):
            c, asked = viewed(given)
            assert (
                c.is_conj() is not given.is_conj()
                and asked is given.is_conj()
                and torch.equal(c, given.conj())
            )

    def through(a):
        b = a * 1
        b.conj().mul_(2j)
        return b

    compiled = torch.compile(through)
    for i in range(5):
        assert torch.allclose(compiled(x + i), (x + i) * -2j)
