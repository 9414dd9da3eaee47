"""torch._numpy: NumPy's functions over tensors, and in the graphs of compile()'s back ends."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rushlight as torch
import rushlight._numpy as tnp
from rushlight.testing import assert_close


@pytest.mark.parametrize("dtype", ["bool", "int32", "int64", "uint8", "float32", "float64", "complex64"])
@pytest.mark.parametrize("name", ["add", "multiply", "divide", "maximum", "less", "power", "sin", "square"])
def test_promotion_is_numpys(name: str, dtype: str) -> None:
    a = np.arange(1, 4).astype(dtype)
    for other in (a, np.ones(3, np.int64), np.float32(2), 3, 2.5):
        given = (a, other)[: getattr(np, name).nin]
        try:
            wanted = getattr(np, name)(*given)
        except TypeError:
            with pytest.raises(TypeError):
                getattr(tnp, name)(*map(_ours, given))
            continue
        found = getattr(tnp, name)(*map(_ours, given))
        assert found.dtype == wanted.dtype
        np.testing.assert_allclose(np.asarray(found), wanted, rtol=1e-6)


def _ours(value: Any) -> Any:
    return tnp.asarray(value) if isinstance(value, np.ndarray) else value


@pytest.mark.parametrize(
    "call",
    [
        lambda n, a: n.sum(a, axis=(0, 2), keepdims=True),
        lambda n, a: n.mean(a > 3, axis=-1),
        lambda n, a: n.std(a, ddof=1),
        lambda n, a: n.max(a, axis=1),
        lambda n, a: n.argmin(a, axis=0, keepdims=True),
        lambda n, a: n.cumsum(a),
        lambda n, a: n.concatenate([a, a.astype("float32")], axis=1),
        lambda n, a: n.stack([a, a], axis=-1),
        lambda n, a: n.where(a > 3, a, 0.5),
        lambda n, a: n.take(a, [0, 5]),
        lambda n, a: n.transpose(a, (2, 0, 1)),
        lambda n, a: n.expand_dims(a, (0, -1)),
        lambda n, a: n.split(a, 2, axis=1)[1],
        lambda n, a: n.einsum("ijk,ijk->i", a, a),
        lambda n, a: n.dot(a, a[0, 0]),
        lambda n, a: n.percentile(a, 30),
        lambda n, a: n.linalg.norm(a[0]),
        lambda n, a: n.divmod(a, 4)[1],
        lambda n, a: a[:, ::-1],
        lambda n, a: (a @ a.T.transpose(2, 1, 0).swapaxes(1, 2)) % 7,
    ],
)
def test_functions_of_whole_arrays_are_numpys(call: Any) -> None:
    a = np.arange(12).reshape(2, 2, 3)
    wanted, found = call(np, a), call(tnp, tnp.asarray(a.copy()))
    assert np.asarray(found).dtype == wanted.dtype
    assert np.asarray(found).shape == wanted.shape
    np.testing.assert_allclose(np.asarray(found), wanted, rtol=1e-6)


def test_numpys_own_functions_take_them() -> None:
    a = tnp.asarray([3.0, 4.0])
    assert isinstance(a, np.ndarray)
    assert type(np.add(a, 1)) is type(np.sort(a)) is type(1 + a) is tnp.ndarray
    assert np.linalg.norm(a) == 5
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    np.sum(np.square(tnp.asarray(x))).tensor.backward()
    assert_close(x.grad, torch.tensor([2.0, 4.0]))


def test_tensors_of_them_are_their_own() -> None:
    a = tnp.zeros(2)
    assert torch.from_numpy(a) is a.tensor is torch.as_tensor(a)
    assert (torch.ones(2) + a).tolist() == torch.tensor(a + 1).tolist() == [1, 1]


def test_a_back_end_sees_numpys_functions() -> None:
    seen = []

    def backend(module: Any, inputs: Any) -> Any:
        seen.extend(n.name for n in module.graph.nodes if n.op.startswith("call"))
        return module

    def program(x: Any) -> Any:
        return np.sin(x).sum(axis=0) * 2

    compiled, x = torch.compile(program, backend=backend), np.arange(6.0).reshape(2, 3)
    for _ in range(3):
        found = compiled(x)
        assert type(found) is np.ndarray
        np.testing.assert_allclose(found, program(x))
    assert seen == ["sin", "sum_1", "mul"]
    with torch._dynamo.config.patch(trace_numpy=False):
        assert torch.compile(lambda a: type(a) is np.ndarray, backend=backend)(x)


def test_what_is_written_into_an_argument_is_seen() -> None:
    def program(x: Any) -> Any:
        x += 1
        x[0] = 7
        return x

    x = np.zeros(3)
    torch.compile(program, backend=lambda module, inputs: module)(x)
    assert x.tolist() == [7, 1, 1]


def test_a_graph_for_each_set_of_marked_dims() -> None:
    made = []

    def backend(module: Any, inputs: Any) -> Any:
        made.append(module)
        return module

    compiled, counts = torch.compile(lambda x: x.cos(), backend=backend), []
    for dims in ((0,), (), (1,), (0, 1), (1,)):
        x = torch.randn(3, 3)
        for d in dims:
            torch._dynamo.mark_dynamic(x, d)
        compiled(x)
        counts.append(len(made))
    assert counts == [1, 1, 2, 3, 3]


def test_same_broadcasts() -> None:
    same = torch._dynamo.utils.same
    assert same(torch.zeros(1, 1), torch.zeros(1))
    assert not same(torch.zeros(2), torch.zeros(3))
    assert not same(torch.zeros(2), torch.zeros(2, dtype=torch.int64))
