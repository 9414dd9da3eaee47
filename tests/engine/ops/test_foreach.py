"""torch._foreach_*: what each does is what the op does to each tensor."""

import numpy as np
import pytest

import rushlight as torch
from rushlight._engine.dispatch import foreach

UNARY = sorted(n for n, places in foreach._PLACES.items() if not places and n not in ("zero", "max", "clone"))
BINARY = sorted(n for n, places in foreach._PLACES.items() if places in ("D", "N"))


def lists(count=2):
    """Lists of tensors of several shapes, all within the domain of every op."""
    torch.manual_seed(1)
    return [
        [torch.rand(shape, dtype=torch.float64) * 0.8 + 0.1 for shape in ((3, 2), (), (0,), (4,))]
        for _ in range(count)
    ]


def agree(found, wanted):
    assert len(found) == len(wanted)
    for a, b in zip(found, wanted, strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=0, equal_nan=True)


def both(name, first, *rest, **options):
    """The results of the plain and the in-place form."""
    plain = getattr(torch, f"_foreach_{name}")(first, *rest, **options)
    written = [t.clone() for t in first]
    assert getattr(torch, f"_foreach_{name}_")(written, *rest, **options) is written
    assert isinstance(plain, tuple)
    agree(plain, written)
    return plain


@pytest.mark.parametrize("name", UNARY)
def test_unary(name):
    (xs,) = lists(1)
    agree(both(name, xs), [getattr(x, name)() for x in xs])


@pytest.mark.parametrize("name", BINARY)
def test_binary(name):
    xs, ys = lists()
    op = {"maximum": "clamp_min", "minimum": "clamp_max"}.get(name, name)
    agree(both(name, xs, ys), [getattr(x, name)(y) for x, y in zip(xs, ys, strict=True)])
    agree(both(name, xs, 0.5), [getattr(x, op)(0.5) for x in xs])
    numbers = [0.5, 2, 1.5, 3]
    agree(both(name, xs, numbers), [getattr(x, op)(n) for x, n in zip(xs, numbers, strict=True)])
    if foreach._PLACES[name] == "D":
        half = torch.tensor(0.5, dtype=torch.float64)
        agree(both(name, xs, half), [getattr(x, name)(half) for x in xs])


def test_ternary():
    xs, ys, zs = lists(3)
    triples = list(zip(xs, ys, zs, strict=True))
    agree(both("lerp", xs, ys, zs), [x.lerp(y, z) for x, y, z in triples])
    agree(both("lerp", xs, ys, 0.3), [x.lerp(y, 0.3) for x, y, _ in triples])
    numbers = torch.tensor([1.0, 2.0, 3.0, 4.0])
    for name in ("addcmul", "addcdiv"):
        agree(both(name, xs, ys, zs), [getattr(x, name)(y, z) for x, y, z in triples])
        agree(
            both(name, xs, ys, zs, numbers),
            [getattr(x, name)(y, z, value=v) for (x, y, z), v in zip(triples, (1, 2, 3, 4), strict=True)],
        )


def test_others():
    xs, ys = lists()
    agree(both("add", xs, ys, alpha=2), [x + 2 * y for x, y in zip(xs, ys, strict=True)])
    agree(torch._foreach_norm(xs, 1), [x.abs().sum() for x in xs])
    agree(torch._foreach_powsum(xs, 3), [(x**3).sum() for x in xs])
    agree(torch._foreach_pow(2.0, xs), [2.0**x for x in xs])
    agree(torch._foreach_max([x + 1 for x in xs if x.numel()]), [(x + 1).max() for x in xs if x.numel()])
    agree(
        torch._foreach_mm([x.reshape(-1, 1) for x in xs], [x.reshape(1, -1) for x in xs]),
        [x.reshape(-1, 1) @ x.reshape(1, -1) for x in xs],
    )
    copies = torch._foreach_clone(xs)
    agree(torch._foreach_copy_(copies, ys), ys)
    assert all((c == 0).all() for c in torch._foreach_zero_(copies))


def test_gradients_flow():
    x = torch.ones(2, requires_grad=True)
    torch._foreach_mul([x], 3.0)[0].sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]
    with pytest.raises(RuntimeError, match="leaf"):
        torch._foreach_add_([x], 1)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda f, a: f("add")([], 1), RuntimeError, "at least one tensor"),
        (lambda f, a: f("add")(a, a[:1]), RuntimeError, "same number of tensors, got 2 and 1"),
        (lambda f, a: f("add")(a, [1.0]), RuntimeError, "same number of elements as scalar list"),
        (
            lambda f, a: f("add")(a, torch.ones(1)),
            RuntimeError,
            "0 dim but it has 1 dimensions and 1 elements",
        ),
        (lambda f, a: f("add")(a, 1, alpha=2), TypeError, "invalid combination"),
        (lambda f, a: f("add")(a, "x"), TypeError, "invalid combination"),
        (lambda f, a: f("add")(a), TypeError, "invalid combination"),
        (lambda f, a: f("exp")(a[0]), TypeError, "must be tuple of Tensors, not Tensor"),
        (lambda f, a: f("addcmul")(a, a, a, torch.ones(2, 1)), RuntimeError, "of dimension 1. Got 2"),
        (
            lambda f, a: f("addcmul")(a, a, a, torch.ones(3)),
            RuntimeError,
            "input of length 2 but got 3 instead",
        ),
        (lambda f, a: f("add_")([torch.ones(2, dtype=torch.int64)], 1.5), RuntimeError, "can't be cast"),
        (lambda f, a: f("frexp")(a), AttributeError, "_foreach_frexp"),
    ],
)
def test_errors(call, error, text):
    with pytest.raises(error, match=text):
        call(lambda name: getattr(torch, f"_foreach_{name}"), [torch.ones(2), torch.ones(3)])


@pytest.mark.parametrize("number", [np.float32(0.5), np.float64(0.5), np.int64(2), np.bool_(True)])
def test_numbers_of_numpy_are_numbers(number):
    xs, _ = lists()
    for name in ("add", "mul", "div", "pow", "maximum", "clamp_max"):
        agree(both(name, xs, number), both(name, xs, number.item()))
    agree(both("addcmul", xs, xs, xs, value=number), both("addcmul", xs, xs, xs, value=number.item()))
    agree(both("add", xs, [number] * 4), both("add", xs, [number.item()] * 4))
    agree(torch._foreach_pow(number, xs), torch._foreach_pow(number.item(), xs))


def test_tensors_without_dims_are_numbers():
    xs, ys = lists()
    for name in ("pow", "minimum", "clamp_min"):
        agree(both(name, xs, torch.tensor(0.5)), both(name, xs, 0.5))
    agree(both("lerp", xs, ys, torch.tensor(0.5)), both("lerp", xs, ys, 0.5))
    with pytest.raises(RuntimeError, match="packed scalar Tensor to be of dimension 1. Got 0 instead"):
        torch._foreach_addcdiv(xs, ys, ys, torch.tensor(2.0))
    agree(torch._foreach_norm(xs[:2], torch.tensor(1)), torch._foreach_norm(xs[:2], 1))
    with pytest.raises(TypeError):
        torch._foreach_pow(xs, torch.tensor(0.5, requires_grad=True))


def test_a_tensor_without_dims_is_a_number() -> None:
    of = torch.tensor(2.5, dtype=torch.float64)
    for name, dtype in {"add": torch.float32, "sub": torch.float32, "mul": torch.float64}.items():
        (found,) = getattr(torch, f"_foreach_{name}")([torch.arange(3)], of)
        assert found.dtype is dtype  # a product takes it as a tensor
    with pytest.raises(TypeError):
        torch._foreach_sub([torch.ones(2)], torch.tensor([2.0]))
