"""torch._numpy: NumPy's functions over tensors, and in the graphs of compile()'s back ends."""

from __future__ import annotations

import ctypes
import pickle
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import rushlight as torch
import rushlight._numpy as tnp
from rushlight._numpy._readers import reads_memory
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


@pytest.mark.parametrize(
    "program",
    [
        lambda x: np.asarray(x * 2).sum(),
        lambda x: bytes(x * 2),
        lambda x: list(memoryview(x * 2).cast("B")),
        lambda x: np.frombuffer(x * 2).tolist(),
        lambda x: (x * 2).ctypes.data_as(ctypes.POINTER(ctypes.c_double))[3],
        lambda x: (x * 2).__array_interface__["shape"],
        lambda x: pickle.loads(pickle.dumps(x * 2)).sum(),
        lambda x: sum((x * 2).flat),
        lambda x: np.frompyfunc(lambda v: v + 1, 1, 1)(x * 2).sum(),
    ],
)
def test_memory_that_is_read_holds_the_values(program: Any) -> None:
    compiled = torch.compile(program, backend=lambda module, inputs: module)
    for x in (np.arange(6.0).reshape(2, 3), np.ones((2, 3))):
        assert compiled(x.copy()) == program(x)


def test_functions_that_name_other_extensions_get_numpys_arrays() -> None:
    extension = ModuleType("extension")
    kind = type("Function", (), {"__module__": "extension", "__call__": len})
    extension.own = kind()  # type: ignore[attr-defined]

    def helper(x: Any) -> Any:
        return extension.own(x)

    def program(x: Any) -> Any:
        return helper(x)

    assert reads_memory(program)
    assert not reads_memory(lambda x: np.sin(x).sum() + torch.ones(1))


def test_arguments_stay_the_callers() -> None:
    def compiled(program: Any) -> Any:
        return torch.compile(program, backend=lambda module, inputs: module)

    x = np.arange(3.0)
    held = [x]
    compiled(lambda many: many.append(many[0] * 2))(held)
    assert len(held) == 2
    assert compiled(lambda x: (x * 2, x))(x)[1] is x

    def written(x: Any) -> Any:
        x[::-1] = np.arange(3.0)
        return x * 2

    assert compiled(written)(x).tolist() == [4, 2, 0]
    assert compiled(written)(x[::-1]).tolist() == [4, 2, 0]
    assert x.tolist() == [0, 1, 2]
    x.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        compiled(written)(x)
    assert compiled(lambda m: m * 2)(np.ma.array([1, 2], mask=[False, True])).tolist() == [2, None]
    assert compiled(lambda x: x[0])(np.ones(2, ">f8")) == compiled(lambda x: x[0])(np.ones(2, "g")) == 1


@pytest.mark.parametrize(
    "call",
    [
        lambda a: a < 300,
        lambda a: a >= -1,
        lambda a: np.clip(a, -1, 5),
        lambda a: np.sum(a, dtype=bool),
        lambda a: np.roll(a, 1, axis=(0, 1)),
        lambda a: np.triu(a[0]),
        lambda a: np.unique(a / 0),
        lambda a: a // 0,
        lambda a: abs(a != 0),
        lambda a: (a != 0) @ (a != 0).T,
        lambda a: np.dot(a, a),
        lambda a: a + 300,
        lambda a: a**-1,
    ],
)
def test_what_tensors_ops_refuse_is_numpys(call: Any) -> None:
    a = np.array([[1, 0, 200], [3, 3, 7]], np.uint8)
    with np.errstate(all="ignore"):
        try:
            wanted = call(a)
        except Exception as error:
            with pytest.raises(type(error)):
                call(tnp.asarray(a))
            return
        found = np.asarray(call(tnp.asarray(a)))
    assert found.dtype == wanted.dtype
    np.testing.assert_array_equal(found, wanted)


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


def test_backward_passes_under_the_context_for_compiled_autograd() -> None:
    x = torch.ones(2, requires_grad=True)
    with torch._dynamo.utils.maybe_enable_compiled_autograd(True, fullgraph=False, dynamic=False):
        torch.compile(lambda x: (x * 3).sum())(x).backward()
    assert x.grad.tolist() == [3.0, 3.0]
