"""Ways that operands' layouts, sizes and values choose: the same results as the general ones."""

import itertools

import numpy as np
import pytest

import rushlight as torch

F = torch.nn.functional
RNG = np.random.default_rng(0)


@pytest.mark.parametrize("shape", [(64, 300), (8, 32, 28, 28), (40, 50, 60), (1, 200, 1, 100), (16, 1, 3000)])
def test_reductions_go_by_the_order_in_memory(shape):
    n = len(shape)
    for order in itertools.islice(itertools.permutations(range(n)), 0, 24, 5):
        a = RNG.standard_normal(shape).astype("f4").transpose(order)
        x = torch.from_numpy(a)
        for k in range(1, n + 1):
            for axes in itertools.combinations(range(n), k):
                for keepdim, (name, expected) in itertools.product(
                    (False, True), (("sum", np.sum), ("amax", np.max))
                ):
                    found = getattr(x, name)(axes, keepdim)
                    wanted = expected(a.astype("f8"), axes, keepdims=keepdim)
                    assert found.shape == wanted.shape and found.is_contiguous()
                    np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-4, atol=1e-3)


ROWS = {
    "sum": lambda t: t.sum(-1),
    "extremes": lambda t: torch.stack([t.amax(-1), t.amin(-1)]),
    "softmax": lambda t: t.softmax(-1),
    "log_softmax": lambda t: t.log_softmax(-1),
    "logsumexp": lambda t: t.logsumexp(-1),
    "var": lambda t: t.var(-1),
    "layer_norm": lambda t: F.layer_norm(t, t.shape[-1:]),
    "cross_entropy": lambda t: F.cross_entropy(t, torch.zeros(len(t), dtype=torch.long), reduction="none"),
}


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
@pytest.mark.parametrize("n", [2, 3, 4, 7, 8, 10, 16, 17, 33])
def test_a_short_row_has_the_bits_that_it_has_alone(name, dtype, n):
    x = torch.randn(9000 // n + 77, n).to(dtype)
    x[3], x[5, 0], x[7, 1], x[8] = float("nan"), -0.0, float("inf"), 0.0
    of, whole = ROWS[name], ROWS[name](x)
    whole = whole.t() if name == "extremes" else whole
    for rows in (1, 2, 5, len(x) // 2):
        for start in (0, 3, len(x) - rows):
            part = of(torch.stack([*x[start : start + rows]]))
            part = part.t() if name == "extremes" else part
            same = whole[start : start + rows]
            assert torch.equal(part.nan_to_num(7.0), same.nan_to_num(7.0))


def test_rows_that_lie_apart_have_the_bits_of_rows_side_by_side():
    x = torch.randn(300, 700)
    for of in (lambda t: t.softmax(-1), lambda t: F.layer_norm(t, t.shape[-1:])):
        assert torch.equal(of(x.t()), of(x.t().contiguous()))


@pytest.mark.parametrize("shape", [(8, 32, 28, 28), (4, 64, 40, 40)])
def test_elementwise_operands_may_lie_across(shape):
    x, y = torch.randn(shape), torch.randn(shape)
    last = x.contiguous(memory_format=torch.channels_last)
    found = last * y + x.mul(2)
    assert found.stride() == last.stride()
    assert torch.equal(found, x * y + x * 2)
    cut = torch.randn(600, 700)[::2, ::3]
    assert torch.equal(cut * cut + 1, cut.contiguous() * cut.contiguous() + 1)


@pytest.mark.parametrize("n", [2, 3, 16])
def test_one_number_for_each_short_row(n):
    x, y = torch.randn(100000, n), torch.rand(100000, 1) + 0.5
    expected = x.numpy() / y.numpy()
    assert torch.equal(x / y, torch.from_numpy(expected))
    assert torch.equal(x / y.expand_as(x), torch.from_numpy(expected))


def test_out_takes_what_a_call_gives():
    x, y, out = torch.randn(16), torch.randn(16), torch.empty(16)
    for _ in range(3):  # by the general way, then by a plan
        assert torch.equal(torch.add(x, y, out=out), x + y)
        assert torch.equal(torch.mul(x, 2.0, out=out), x * 2)
        assert torch.equal(torch.clamp(x, 0, 1, out=out), x.clamp(0, 1))
        assert torch.equal(torch.add(x, y, alpha=2, out=out), x + 2 * y)
        assert torch.equal(torch.add(x, y, out=torch.empty(4, 4).view(16)), x + y)
    version = out._version
    assert torch.exp(x, out=out) is out and out._version == version + 1
    square, sums = torch.randn(4, 4), torch.empty(4)
    for _ in range(3):
        assert torch.sum(square, 1, out=sums) is sums and torch.equal(sums, square.sum(1))
        assert torch.equal(torch.mm(square, square, out=torch.empty(4, 4)), square @ square)
        assert torch.equal(torch.cat([x, y], out=torch.empty(32)), torch.cat([x, y]))
    view = torch.zeros(2, 4).t()
    assert torch.equal(torch.cumsum(square[:, :2], 0, out=view), square[:, :2].cumsum(0))
    tracked = torch.randn(16, requires_grad=True)
    for _ in range(3):
        with pytest.raises(RuntimeError, match="automatic differentiation"):
            torch.add(tracked, y, out=out)
        with pytest.raises(RuntimeError, match="automatic differentiation"):
            torch.cumsum(tracked, 0, out=out)
        with pytest.raises(RuntimeError, match="can't be cast"):
            torch.add(x, y, out=torch.empty(16, dtype=torch.int64))


def test_a_row_is_written_from_another_of_its_tensor():
    x = torch.arange(20.0).reshape(5, 4)
    for i in range(4):
        x[i] = x[i + 1]
    assert torch.equal(x[:, 0], torch.tensor([4.0, 8.0, 12.0, 16.0, 16.0]))
    with pytest.raises(RuntimeError, match="overlap|same memory|refer"):
        x[0:3] = x[1:4]


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "int64"])
def test_integers(dtype):
    info = np.iinfo(dtype)
    for low, high, n in ((0, 100, 1000), (-50, 50, 1000), (0, 100, 5), (7, 8, 300), (0, 100000, 400)):
        low, high = max(low, info.min), min(high, info.max)
        a = RNG.integers(low, high, n).astype(dtype)
        x = torch.from_numpy(a)
        values, inverse, counts = torch.unique(x, return_inverse=True, return_counts=True)
        wanted = np.unique(a, return_inverse=True, return_counts=True)
        for found, expected in zip((values, inverse, counts), wanted, strict=True):
            np.testing.assert_array_equal(found.numpy(), expected)
        assert values.dtype == x.dtype
        order = torch.argsort(x, stable=True)
        np.testing.assert_array_equal(order.numpy(), a.argsort(kind="stable"))
    for high in (100, info.max):  # also where products wrap
        a, b = (RNG.integers(0, high, shape).astype(dtype) for shape in ((90, 80), (80, 70)))
        np.testing.assert_array_equal((torch.from_numpy(a) @ torch.from_numpy(b)).numpy(), a @ b)


def test_scattered_numbers_and_fewer_places():
    x, places = torch.zeros(64, 8), torch.randint(0, 8, (20, 1))
    x.scatter_(1, places, 1.0)
    expected = np.zeros((64, 8), np.float32)
    expected[np.arange(20), places[:, 0].numpy()] = 1
    np.testing.assert_array_equal(x.numpy(), expected)
    y = torch.randn(64, 8)
    np.testing.assert_array_equal(
        y.gather(1, places)[:, 0].numpy(), y.numpy()[np.arange(20), places[:, 0].numpy()]
    )
    with pytest.raises(RuntimeError):
        y.gather(1, places + 8)


@pytest.mark.parametrize("weighted", [False, True])
def test_group_norm_is_layer_norm_over_groups(weighted):
    x = torch.randn(3, 6, 5, 4, dtype=torch.float64, requires_grad=True)
    w, b = (torch.randn(6, dtype=torch.float64, requires_grad=True) if weighted else None for _ in "wb")
    given = [t for t in (x, w, b) if t is not None]

    def by_rows(x, w=None, b=None):
        found = F.layer_norm(x.reshape(3, 3, 40), (40,)).reshape(x.shape)
        return found if w is None else found * w[:, None, None] + b[:, None, None]

    torch.testing.assert_close(F.group_norm(x, 3, w, b), by_rows(*given))
    g = torch.randn(3, 6, 5, 4, dtype=torch.float64)
    found = torch.autograd.grad(F.group_norm(x, 3, w, b), given, g)
    torch.testing.assert_close(found, torch.autograd.grad(by_rows(*given), given, g))
    assert torch.autograd.gradcheck(lambda *t: F.group_norm(t[0], 3, *t[1:]), given)
    assert torch.autograd.gradgradcheck(lambda *t: F.group_norm(t[0], 3, *t[1:]), given)


def test_batch_norm_by_running_moments():
    x = torch.randn(3, 4, 5, dtype=torch.float64, requires_grad=True)
    w, b = (torch.randn(4, dtype=torch.float64, requires_grad=True) for _ in "wb")
    mean, variance = torch.randn(4, dtype=torch.float64), torch.rand(4, dtype=torch.float64) + 0.5

    def of(x, w, b):
        return F.batch_norm(x, mean, variance, w, b)

    expected = (x - mean[:, None]) / (variance[:, None] + 1e-5).sqrt() * w[:, None] + b[:, None]
    torch.testing.assert_close(of(x, w, b), expected)
    assert torch.autograd.gradcheck(of, (x, w, b)) and torch.autograd.gradgradcheck(of, (x, w, b))


@pytest.mark.parametrize("name", ["LSTMCell", "GRUCell", "RNNCell"])
def test_cells_are_one_step_of_layers(name):
    cell = getattr(torch.nn, name)(5, 7).double()
    layer = getattr(torch.nn, name.removesuffix("Cell"))(5, 7).double()
    layer.load_state_dict({f"{k}_l0": v for k, v in cell.state_dict().items()})
    x = torch.randn(3, 5, dtype=torch.float64, requires_grad=True)
    states = tuple(
        torch.randn(3, 7, dtype=torch.float64, requires_grad=True) for _ in "hc"[: 1 + ("L" in name)]
    )
    found = cell(x, states if len(states) > 1 else states[0])
    _, expected = layer(x[None], tuple(s[None] for s in states) if len(states) > 1 else states[0][None])
    for one, other in zip(*[v if isinstance(v, tuple) else (v,) for v in (found, expected)], strict=True):
        torch.testing.assert_close(one, other[0])
        gradients = [torch.autograd.grad(t.sum(), (x, *states), retain_graph=True) for t in (one, other)]
        torch.testing.assert_close(*gradients)


@pytest.mark.parametrize(("shifts", "dims"), [(1, 0), (-2, 1), ((1, 2), (1, 1)), ((7, 0), (2, 3)), (5, ())])
def test_roll(shifts, dims):
    x = torch.randn(3, 4, 5, 6)
    expected = np.roll(x.numpy(), shifts, None if dims == () else dims)
    np.testing.assert_array_equal(torch.roll(x, shifts, dims).numpy(), expected)
    last = x.contiguous(memory_format=torch.channels_last)
    assert last.roll(1, 2).stride() == last.stride()


def test_angles_of_float32_are_rounded_once():
    special = np.array([0.0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 3e38, -3e38, 2.5], "f4")
    y, x = (a.ravel().copy() for a in np.meshgrid(special, special))
    found = torch.atan2(torch.from_numpy(y), torch.from_numpy(x)).numpy()
    expected = np.arctan2(y.astype("f8"), x.astype("f8")).astype("f4")
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(np.signbit(found[~np.isnan(found)]), np.signbit(expected[~np.isnan(found)]))
