"""__torch_dispatch__: modes and classes hear PyTorch's ops below autograd, and may answer for them."""

from __future__ import annotations

from typing import Any

import pytest

import rushlight as torch
from rushlight._engine.dispatch.interpreters import MODES, STACK
from rushlight.nn import functional as F
from rushlight.utils._mode_utils import no_dispatch
from rushlight.utils._python_dispatch import (
    TorchDispatchMode,
    _disable_current_modes,
    _get_current_dispatch_mode,
    is_traceable_wrapper_subclass,
    transform_subclass,
)
from rushlight.utils._pytree import tree_map

HEARD: list[str] = []


class Logged(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        HEARD.append(str(func))
        return func(*args, **(kwargs or {}))


class Wrapped(torch.Tensor):
    """All results are wrapped again."""

    @staticmethod
    def __new__(cls, inner, requires_grad=False):
        made = torch.Tensor._make_wrapper_subclass(
            cls,
            inner.size(),
            strides=inner.stride(),
            dtype=inner.dtype,
            device=inner.device,
            requires_grad=requires_grad,
        )
        made.inner = inner.detach()
        return made

    def __repr__(self):
        return f"Wrapped({self.inner.tolist()})"

    def __tensor_flatten__(self):
        return ["inner"], None

    @classmethod
    def __tensor_unflatten__(cls, inner, context, size, stride):
        return cls(inner["inner"])

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        HEARD.append(str(func))
        args, kwargs = tree_map(lambda t: t.inner if isinstance(t, Wrapped) else t, (args, kwargs or {}))
        return tree_map(lambda t: Wrapped(t) if isinstance(t, torch.Tensor) else t, func(*args, **kwargs))


class Scaled(torch.Tensor):
    """Integers and a scale: what a quantised weight is."""

    @staticmethod
    def __new__(cls, integers, scale):
        return torch.Tensor._make_wrapper_subclass(cls, integers.shape, dtype=torch.float32)

    def __init__(self, integers, scale):
        self.integers, self.scale = integers, scale

    __torch_function__ = torch._C._disabled_torch_function_impl

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        if func in (torch.ops.aten.detach.default, torch.ops.aten.t.default):
            return cls(func(args[0].integers), args[0].scale)
        return func(
            *tree_map(lambda t: t.integers.float() * t.scale if isinstance(t, Scaled) else t, args),
            **(kwargs or {}),
        )


@pytest.fixture(autouse=True)
def silence():
    HEARD.clear()
    yield
    assert not MODES and not STACK.modes


def test_ops_come_as_pytorch_decomposes_them():
    x, w, b = torch.rand(3, 4), torch.rand(4, 4), torch.rand(4)
    cases = {
        lambda: F.linear(x, w, b): ["t.default", "addmm.default"],
        lambda: x @ w: ["mm.default"],
        lambda: torch.matmul(x, b): ["mv.default"],
        lambda: x + 1: ["add.Tensor"],
        lambda: x > 0: ["gt.Scalar"],
        lambda: F.softmax(x, -1): ["_softmax.default"],
        lambda: x.sum(): ["sum.default"],
        lambda: x.sum(0): ["sum.dim_IntList"],
        lambda: x.reshape(2, 6): ["view.default"],
        lambda: x.t(): ["t.default"],
        lambda: F.layer_norm(x, (4,)): ["native_layer_norm.default"],
        lambda: F.cross_entropy(x, torch.arange(3)): [
            "arange.default",
            "_log_softmax.default",
            "nll_loss_forward.default",
        ],
        lambda: x[1:, None, 0]: ["slice.Tensor", "unsqueeze.default", "select.int"],
        lambda: x[x > 2]: ["gt.Scalar", "index.Tensor"],
        lambda: x.to(torch.float64): ["_to_copy.default"],
        lambda: x.float(): [],
        lambda: x.detach(): ["detach.default"],
        lambda: x.sum().item(): ["sum.default", "_local_scalar_dense.default"],
        lambda: torch.zeros(2): ["zeros.default"],
        lambda: x.add_(0): ["add_.Tensor"],
        lambda: x.zero_(): ["zero_.default"],
        lambda: F.conv2d(torch.ones(1, 1, 3, 3), torch.ones(1, 1, 2, 2)): [
            "ones.default",
            "ones.default",
            "convolution.default",
        ],
    }
    for run, names in cases.items():
        HEARD.clear()
        with Logged():
            run()
        assert [name.removeprefix("aten.") for name in HEARD] == names


def test_arguments_are_pytorchs():
    seen = []

    class Seen(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append((args[1:], kwargs))
            return func(*args, **(kwargs or {}))

    x = torch.ones(2, 3)
    with Seen():
        x.sum(0), x.mean(-1, keepdim=True), x.permute(1, 0), x.std(0), torch.zeros(2, dtype=torch.int64)
    assert seen == [
        (([0],), {}),
        (([-1], True), {}),
        (([1, 0],), {}),
        (([0],), {"correction": 1}),
        ((), {"dtype": torch.int64, "device": torch.device("cpu"), "pin_memory": False}),
    ]


def test_gradients_pass_and_backward_is_heard():
    x = torch.ones(2, 3, requires_grad=True)
    with Logged():
        y = torch.sigmoid(x * 2).sum()
        HEARD.clear()
        y.backward()
    assert "aten.sigmoid_backward.default" in HEARD and "aten.ones_like.default" in HEARD
    assert torch.allclose(x.grad, torch.full((2, 3), 0.20998716354370117))


def test_modes_lie_in_each_other_and_can_be_left():
    with Logged() as outer, Logged() as inner:
        assert _get_current_dispatch_mode() is inner
        torch.ones(2)
        with _disable_current_modes() as modes:
            torch.ones(2)
        with no_dispatch():
            torch.ones(2)
        assert modes == [outer, inner]
    assert HEARD == ["aten.ones.default"] * 2


@pytest.mark.parametrize(
    "function",
    [
        lambda a: (a * a).sum(),
        lambda a: torch.sigmoid(a).mean(),
        lambda a: F.relu(a @ a.t()).sum(),
        lambda a: F.softmax(a, -1)[0, 0],
        lambda a: a.exp().log().sum(),
        lambda a: F.gelu(a).sum(),
        lambda a: a.std(),
        lambda a: F.layer_norm(a, (3,)).pow(2).sum(),
        lambda a: torch.cat([a, a])[1:].sum(),
        lambda a: F.cross_entropy(a, torch.tensor([0, 1])),
    ],
)
def test_wrappers_have_gradients_of_their_class(function):
    base = torch.tensor([[1.0, 2.0, 3.0], [0.5, 0.25, -1.0]])
    plain, wrapped = base.clone().requires_grad_(), Wrapped(base.clone(), requires_grad=True)
    function(plain).backward()
    found = function(wrapped)
    found.backward()
    assert type(found) is Wrapped and type(wrapped.grad) is Wrapped
    assert torch.allclose(wrapped.grad.inner, plain.grad, atol=1e-6)


def test_wrappers_say_what_they_were_made_as():
    a = Wrapped(torch.ones(2, 3).t())
    assert a.shape == (3, 2) and a.stride() == (1, 3) and a.device == torch.device("cpu")
    assert repr(a.add_(1)) == "Wrapped([[2.0, 2.0], [2.0, 2.0], [2.0, 2.0]])" and a.sum().item() == 12
    assert is_traceable_wrapper_subclass(a) and not is_traceable_wrapper_subclass(torch.ones(1))
    assert transform_subclass(a, lambda name, t: t * 2).inner.sum() == 24
    with Logged():
        a + 1
    assert HEARD[-2:] == ["aten.add.Tensor"] * 2
    with pytest.raises(RuntimeError, match="Expected subclass of Tensor to define __torch_dispatch__"):
        torch.Tensor._make_wrapper_subclass(type("Plain", (torch.Tensor,), {}), (2,))


def test_a_quantised_weight():
    w = Scaled(torch.tensor([[1, 2, 3], [4, 5, 6]], dtype=torch.int8), 0.5)
    x = torch.ones(2, 3, requires_grad=True)
    y = F.linear(x, w)
    y.sum().backward()
    assert y.tolist() == [[3, 7.5], [3, 7.5]] and x.grad.tolist() == [[2.5, 3.5, 4.5]] * 2
    assert w.dtype is torch.float32 and w.t().shape == (3, 2) and w[0].tolist() == [0.5, 1, 1.5]
    assert isinstance(torch.nn.Parameter(w, requires_grad=False), Scaled)


def test_overloads_are_complete():
    aten = torch.ops.aten
    assert "out" in aten.add.overloads() and "Tensor" in aten.add.overloads()
    assert str(aten.addmm.default._schema).startswith("aten::addmm(Tensor self, Tensor mat1, Tensor mat2")
    assert torch.Tag.core in aten.add.Tensor.tags and aten.add.Tensor.overloadpacket is aten.add
    assert aten.add.Tensor.name() == "aten::add.Tensor" and aten.relu.default.name() == "aten::relu"
    assert aten.linear.default.is_composite and not aten.addmm.default.is_composite
    assert aten._softmax.default(torch.zeros(2), 0, False).tolist() == [0.5, 0.5]
    out, mean, rstd = aten.native_layer_norm.default(torch.tensor([[1.0, 3.0]]), [2], None, None, 0.0)
    assert out.tolist() == [[-1, 1]] and mean.item() == 2 and rstd.item() == 1


class Slotted(torch.Tensor):
    """A wrapper that keeps what it wraps in a slot."""

    __slots__ = ["inner"]

    @staticmethod
    def __new__(cls, inner, requires_grad=False):
        made = torch.Tensor._make_wrapper_subclass(
            cls, inner.size(), dtype=inner.dtype, requires_grad=requires_grad
        )
        made.inner = inner
        return made

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        plain = torch.utils._pytree.tree_map(lambda a: a.inner if isinstance(a, cls) else a, args)
        found = func(*plain, **(kwargs or {}))
        return cls(found) if isinstance(found, torch.Tensor) else found


def test_slots_of_wrappers_live_in_the_graph():
    x = Slotted(torch.tensor([1.0, 2.0, 3.0]), requires_grad=True)
    (g,) = torch.autograd.grad(x.exp().sum(), x, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), x)
    assert torch.allclose(h.inner, torch.tensor([1.0, 2.0, 3.0]).exp())
    (g,) = torch.autograd.grad((x.narrow(0, 0, 2) ** 3).sum(), x, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), x)
    assert h.inner.tolist() == [6, 12, 0]
    assert type(x.data) is Slotted and x.data.inner.tolist() == [1, 2, 3]


def test_gradcheck_of_wrappers():
    x = Slotted(torch.tensor([0.5, 0.2], dtype=torch.float64), requires_grad=True)
    assert torch.autograd.gradcheck(lambda t: t.exp().sum(), (x,))


def test_factories_keep_requires_grad():
    class Quiet(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    like = torch.ones(2)
    with Quiet():
        made = [
            torch.rand(2, requires_grad=True),
            torch.zeros(2, requires_grad=True),
            torch.ones_like(like, requires_grad=True),
            like.new_zeros(2, requires_grad=True),
            torch.zeros(2),
        ]
        assert [t.requires_grad for t in made] == [True] * 4 + [False]
        (made[0] ** 2).sum().backward()
    assert torch.equal(made[0].grad, 2 * made[0].detach())


def test_a_class_hears_under_vmap_what_is_not_batched():
    held = Wrapped(torch.arange(6.0).view(2, 3))
    met = []

    def each(x):
        met.extend([held.mT, held.view(6), held[0], held.expand(4, 2, 3), held.cos()])
        return x

    torch.vmap(each)(torch.ones(2, 2))
    assert {type(t) for t in met} == {Wrapped}
    assert torch.equal(met[0].inner, held.inner.mT)


@pytest.mark.parametrize("strategy", ["reverse-mode", "forward-mode"])
def test_jacobians_of_a_class_by_vmap(strategy):
    def product(x, y):
        return (x.cos() * x) @ y.sin()

    plain = torch.arange(6.0).view(2, 3), torch.arange(15.0).view(3, 5)
    expected = torch.autograd.functional.jacobian(product, plain)
    found = torch.autograd.functional.jacobian(
        product, tuple(map(Wrapped, plain)), vectorize=True, strategy=strategy
    )
    for f, e in zip(found, expected, strict=True):
        torch.testing.assert_close(getattr(f, "inner", f), e)


class _Holder(torch.Tensor):
    """A wrapper that says how it answers, and has no `__torch_function__`."""

    @staticmethod
    def __new__(cls, held: Any) -> Any:
        return torch.Tensor._make_wrapper_subclass(cls, held.shape, dtype=held.dtype)

    def __init__(self, held: Any) -> None:
        self.held = held

    @classmethod
    def __torch_dispatch__(cls, op: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        plain = torch.utils._pytree.tree_map_only(cls, lambda t: t.held, args)
        return op(*plain, **(kwargs or {}))


def test_what_a_handler_answers_is_not_given_the_class() -> None:
    assert _Holder.__torch_function__ is torch._C._disabled_torch_function_impl
    x = torch.tensor([1.0, 2.0])
    held = _Holder(x)
    for run in (lambda t: t * 2, lambda t: t.pow(2), torch.sigmoid, torch.sum, lambda t: t[0]):
        got = run(held)
        assert type(got) is torch.Tensor and got.equal(run(x))
    got = torch.nn.functional.cosine_similarity(held, x, dim=0)
    assert type(got) is torch.Tensor and got.item() == pytest.approx(1)
    assert not torch.overrides.has_torch_function((held,))


def test_a_class_that_asks_for_functions_is_asked_for_them() -> None:
    class Asking(torch.Tensor):
        @classmethod
        def __torch_function__(cls, *args: Any, **kwargs: Any) -> Any:
            return super().__torch_function__(*args, **kwargs)

    class Both(Asking):
        __torch_dispatch__ = _Holder.__dict__["__torch_dispatch__"]

    assert Both.__torch_function__.__func__ is Asking.__torch_function__.__func__


def test_ops_with_more_parameters_than_the_public_function() -> None:
    aten = torch.ops.aten
    x = torch.tensor([[-2.0, 1.0]])
    assert aten._softmax(x, 1, False).equal(x.softmax(1))
    assert aten._log_softmax(x, 1, False).equal(x.log_softmax(1))
    wanted = torch.where(x > 0, 2 * x, torch.expm1(x * 0.5) * 3)
    assert aten.elu(x, 1.5, 2.0, 0.5).equal(wanted) and aten.elu_(x.clone(), 1.5, 2.0, 0.5).equal(wanted)
    assert aten.elu(x, 1.5, 2.0)[0, 1].item() == 2
    assert aten.rsub(x, 2, 3).equal(2 - 3 * x)
    image, kernel = torch.ones(1, 1, 3, 3), torch.ones(1, 1, 2, 2)
    sizes = ([1, 1], [0, 0], [1, 1], False, [0, 0], 1, False, False, False, True)
    assert aten._convolution(image, kernel, None, *sizes).equal(torch.full((1, 1, 2, 2), 4.0))
    assert aten.to.dtype(x, torch.float32) is x and aten.to.dtype(x, torch.float32, False, True) is not x
    assert aten.to.other(x, x.double()).dtype is torch.float64
    assert torch._subclasses.fake_tensor.FakeTensor is torch._subclasses.FakeTensor


def test_too_many_arguments_by_position() -> None:
    x = torch.ones(2)
    with pytest.raises(
        RuntimeError, match=r"aten::add\(\) takes 2 positional argument\(s\) but 3 was/were given"
    ):
        torch.ops.aten.add.Tensor(x, x, 3)
    with pytest.raises(RuntimeError, match=r"aten::add\(\) expected at most 3 argument\(s\) but received 4"):
        torch.ops.aten.add.Tensor(x, x, 3, 4)


def test_an_instance_of_a_wrapper_by_position():
    class Wrapper(torch.Tensor):
        __torch_dispatch__ = torch._C._disabled_torch_dispatch_impl

    made = torch.Tensor._make_wrapper_subclass(Wrapper, (2, 3), (1, 2), 0, None, torch.float16)
    assert (made.shape, made.stride(), made.dtype) == ((2, 3), (1, 2), torch.float16)


def test_ops_that_rows_of_another_name_run_are_heard_once() -> None:
    image, grid = torch.rand(1, 2, 6, 6), torch.rand(1, 3, 3, 2)
    wanted = F.grid_sample(image, grid, align_corners=False)
    HEARD.clear()
    with Logged():
        found = F.grid_sample(image, grid, align_corners=False)
        assert found.equal(wanted)
        distances = torch.ops.aten._cdist_forward(grid[0], grid[0], 2.0, None)
    assert [op for op in HEARD if "equal" not in op] == [
        "aten.grid_sampler_2d.default",
        "aten.select.int",
        "aten.select.int",
        "aten._cdist_forward.default",
    ]
    assert distances.equal(torch.cdist(grid[0], grid[0]))
    image.requires_grad_()
    F.grid_sample(image, grid, align_corners=False).sum().backward()
    plain, image.grad = image.grad, None
    with Logged():
        F.grid_sample(image, grid, align_corners=False).sum().backward()
    assert image.grad.equal(plain)


@pytest.mark.parametrize(
    ("make", "names"),
    [
        (lambda: torch.arange(1, 5), ["arange.start"]),
        (lambda: torch.arange(2, -3, -1), ["arange.start_step"]),
        (lambda: torch.arange(5), ["arange.default"]),
        (lambda: torch.eye(2, 3), ["eye.m"]),
        (lambda: torch.eye(2), ["eye.default"]),
        (lambda: torch.randint(3, (2,)), ["randint.default"]),
        (lambda: torch.randint(1, 3, (2,)), ["randint.low"]),
    ],
)
def test_a_factorys_overload_takes_all_that_is_given(make, names):
    HEARD.clear()
    torch.manual_seed(0)
    with Logged():
        found = make()
    assert [f"aten.{name}" for name in names] == HEARD
    torch.manual_seed(0)
    assert found.equal(make())


def test_lazy_conjugates_are_heard_by_pytorchs_name():
    HEARD.clear()
    z = torch.randn(2, 2, dtype=torch.complex64)
    with Logged():
        found = z.conj()
    assert HEARD == ["aten._conj.default"]
    assert found.is_conj() and found.equal(z.conj())
