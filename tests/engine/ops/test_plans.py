"""Plans of views and composites (dispatch/runners/plans.py): later calls give what the first one gave."""

import threading
import warnings

import pytest

import rushlight as torch
from rushlight._engine.core.recording import TAPE
from rushlight._engine.dispatch.runners import plans
from rushlight._engine.ops.table import ROWS
from rushlight.profiler import profile

F = torch.nn.functional


def thrice(call):
    """The results of a plain call, of one that is recorded, and of one by the plan."""
    return [call() for _ in range(3)]


CALLS = {
    "var": lambda x: torch.var(x, 1),
    "var_mean": lambda x: torch.var_mean(x)[0],
    "norm": lambda x: torch.norm(x),
    "addmm": lambda x: torch.addmm(x, x, x),
    "twice": lambda x: torch.baddbmm(x[None], x[None], x[None]),
    "max": lambda x: torch.max(x, 1).values,
    "stack": lambda x: torch.stack((x, x), 1),
    "interpolate": lambda x: F.interpolate(x[None], scale_factor=1.5, mode="linear"),
    "sizes as a list": lambda x: F.interpolate(x[None], [6], mode="linear", align_corners=True),
    "fft": lambda x: torch.fft.fft(x, dim=0, norm="ortho").real,
    "rfft2": lambda x: torch.fft.rfft2(x).imag,
    "irfft": lambda x: torch.fft.irfft(x, 5),
    "group_norm": lambda x: F.group_norm(x[None], 2),
    "pool": lambda x: F.max_pool1d(x[None], 2),
    "cross_entropy": lambda x: F.cross_entropy(x, torch.arange(4)),
    "diff": lambda x: torch.diff(x),
    "reflect": lambda x: F.pad(x[None], (1, 1), mode="reflect"),
    "logsumexp": lambda x: torch.logsumexp(x, 0),
    "tensordot": lambda x: torch.tensordot(x, x, 1),
    "lp_pool": lambda x: F.lp_pool1d(x[None], 2, 2),
    "corrcoef": lambda x: torch.corrcoef(x),
    "renorm": lambda x: torch.renorm(x, 2, 0, 1.0),
    "gradient": lambda x: torch.gradient(x, dim=1)[0],
    "bilinear": lambda x: F.bilinear(x, x, torch.ones(2, 4, 4)),
    "cdist": lambda x: torch.cdist(x, x, p=1.0),
    "take_along_dim": lambda x: torch.take_along_dim(x, torch.argsort(x), 1),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_plan_gives_the_same_bits(name):
    x, y = torch.randn(4, 4), torch.randn(4, 4)
    call = CALLS[name]
    plain, recorded, planned = thrice(lambda: call(x))
    assert torch.equal(plain, recorded) and torch.equal(plain, planned) and plain.stride() == planned.stride()
    tracked = call(y.clone().requires_grad_())  # which goes by the body
    assert tracked.requires_grad and torch.equal(call(y), tracked)


def test_a_plan_of_a_list_is_for_numbers_of_such_classes():
    x = torch.randn(1, 2, 4)
    for _ in range(3):
        assert F.interpolate(x, [8]).shape == (1, 2, 8)
    with pytest.raises(TypeError):
        F.interpolate(x, [8.0])


def test_a_tracked_convolution_with_a_bias_goes_by_a_plan(monkeypatch):
    x, w, b = torch.randn(2, 3, 5, 5), torch.randn(4, 3, 3, 3), torch.randn(4)
    wanted = F.conv2d(x, w, padding=1) + b.reshape(-1, 1, 1)
    w.requires_grad_()
    for found in thrice(lambda: F.conv2d(x, w, b, padding=1)):
        assert torch.equal(found, wanted) and found.grad_fn.name() == "ConvolutionBackward0"
    monkeypatch.setattr("rushlight._engine.ops.nn.convolution._convolve", None)  # what the body calls
    found = F.conv2d(x, w, b, padding=1)
    (grad,) = torch.autograd.grad(found.sum(), w)
    assert torch.equal(found, wanted) and grad.shape == w.shape


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_a_bias_of_few_elements_is_added_with_the_same_bits(dtype):
    x, w, b = (
        torch.randn(40, 3, 9, 9, dtype=dtype),
        torch.randn(8, 3, 3, 3, dtype=dtype),
        torch.randn(8, dtype=dtype),
    )
    assert torch.equal(F.conv2d(x, w, b), torch.cat([F.conv2d(part, w, b) for part in x.split(1)]))


def test_a_convolution_with_a_bias_is_its_rows_on_other_devices():
    x, w, b = (torch.ones(shape, device="meta") for shape in ((2, 3, 5, 5), (4, 3, 3, 3), (4,)))
    with profile() as seen:
        assert F.conv2d(x, w, b, padding=1).shape == (2, 4, 5, 5)
    assert "aten::_convolution" in {event.key for event in seen.key_averages()}


def test_derivatives_along_no_dims_are_none():
    assert torch.gradient(torch.ones(2, 2), dim=()) == () == torch.gradient(torch.ones(1), dim=[])


def test_what_looks_at_values_has_no_plan():
    x = torch.arange(6.0).reshape(2, 3)
    for last in (2, 2, 2, -1):
        assert torch.take_along_dim(x, torch.tensor([[0], [last]]), 1).tolist() == [[0.0], [5.0]]


@pytest.mark.parametrize("groups", [1, 2, 4])
def test_shuffled_channels_have_memory_of_their_own(groups):
    for x in (torch.randn(2, 4, 1, 1), torch.randn(2, 4, 3, 3).to(memory_format=torch.channels_last)):
        for y in thrice(lambda x=x: F.channel_shuffle(x, groups)):
            assert y.data_ptr() != x.data_ptr() and y.stride() == x.stride()


def test_planned_views_share_memory_and_version():
    x = torch.zeros(4, 6)
    for view in thrice(lambda: x.transpose(0, 1).reshape(6, 2, 2).flatten(1)):
        assert view._base is not None
    for part in thrice(lambda: x.chunk(2)[1]):
        version = x._version
        part.fill_(version + 1)
        assert x[2:].eq(version + 1).all() and x[:2].eq(0).all() and x._version > version
    assert all(v is x for v in thrice(lambda: torch.flatten(x, 1, 1)))


def test_gradients_pass_through_views_that_were_planned_before():
    x = torch.ones(2, 3)
    views = thrice(lambda: x.movedim(0, 1))
    w = torch.full((3, 2), 2.0, requires_grad=True)
    views[2].mul_(w)
    x.sum().backward()
    assert w.grad.eq(1).all()


def test_operands_given_twice_and_apart():
    a, b, c = (torch.randn(3, 3) for _ in "abc")
    thrice(lambda: torch.addmm(a, a, a))
    assert torch.equal(torch.addmm(a, b, c), a + b @ c)


def test_zeros_of_both_signs_and_kinds_of_numbers_are_apart():
    x = torch.tensor([[3.0, -4.0]])
    thrice(lambda: torch.norm(x, 1))
    assert torch.norm(x, 1.0).item() == 7.0 and torch.norm(x, 2).item() == 5.0
    thrice(lambda: F.cross_entropy(x, torch.tensor([0]), label_smoothing=0.0))
    assert F.cross_entropy(x, torch.tensor([0]), label_smoothing=0.5) > 1


def test_a_call_that_warns_has_no_plan():
    for _ in range(4):
        with pytest.warns(UserWarning, match="target size"):
            F.mse_loss(torch.ones(2, 1), torch.ones(1, 2))


def test_errors_stay():
    for _ in range(4):
        with pytest.raises(RuntimeError, match="shape"):
            torch.ones(2, 3).view(4)
        with pytest.raises(IndexError):
            F.nll_loss(torch.zeros(2, 3), torch.tensor([0, 3]))
    thrice(lambda: F.nll_loss(torch.zeros(2, 3), torch.tensor([0, 2])))
    with pytest.raises(IndexError):
        F.nll_loss(torch.zeros(2, 3), torch.tensor([0, 3]))


def test_the_default_dtype_is_part_of_a_plan():
    x = torch.arange(4)
    assert thrice(lambda: torch.logsumexp(x, 0))[2].dtype is torch.float32
    torch.set_default_dtype(torch.float64)
    try:
        assert torch.logsumexp(x, 0).dtype is torch.float64
    finally:
        torch.set_default_dtype(torch.float32)


def test_interpreters_see_what_a_planned_op_runs():
    x = torch.randn(4, 4)
    thrice(lambda: torch.var(x, 0))
    with profile(record_shapes=True) as seen:
        torch.var(x, 0)
    assert {"aten::var", "aten::mean"} <= {event.key for event in seen.key_averages()}
    assert torch.vmap(lambda r: torch.var(r, 0))(x).shape == (4,)


def test_recording_beside_another_thread():
    x, stop = torch.randn(5, 5), threading.Event()

    def busy():
        while not stop.is_set():
            torch.exp(x) + torch.tanh(x)

    thread = threading.Thread(target=busy)
    thread.start()
    try:
        for n in range(2, 12):
            y = torch.randn(n, n)
            plain, *others = thrice(lambda y=y: torch.var(y, 1))
            assert all(torch.equal(plain, other) for other in others)
    finally:
        stop.set()
        thread.join()


def test_planned_rows_say_so():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert ROWS["var"].options["planned"] and "planned" not in ROWS["nonzero"].options


def test_what_other_threads_do_while_a_plan_is_made_is_done():
    p = torch.nn.Parameter(torch.ones(2))
    optimizer, script = torch.optim.SGD([p], 0.5), plans.Script()

    def other():
        p.sum().backward()
        optimizer.step()

    TAPE.append(script)
    try:
        thread = threading.Thread(target=other)
        thread.start()
        thread.join(0.2)
    finally:
        TAPE.remove(script)
    thread.join()
    assert p.grad.tolist() == [1.0, 1.0] and p.tolist() == [0.5, 0.5] and not script.failed


def test_plans_of_lists_and_windows_give_what_the_first_call_gave() -> None:
    x, y, v = torch.randn(2, 3), torch.randn(3, 1), torch.randn(3)
    columns, spd = torch.randn(1, 8, 9), torch.eye(3) * 4 + 1
    for call in (
        lambda: torch.block_diag(x, y, v),
        lambda: torch.broadcast_tensors(x, v)[1],
        lambda: torch.nn.functional.fold(columns, (4, 4), 2),
        lambda: torch.histogram(x, torch.tensor([-1.0, 0.0, 9.0]), weight=x.abs()).hist,
        lambda: torch.cholesky_solve(y, spd),
        lambda: torch.linalg.solve_triangular(spd, y, upper=True),
        lambda: torch.linalg.qr(spd).R,
        lambda: torch.linalg.det(spd),
        lambda: torch.linalg.lu_solve(*torch.linalg.lu_factor(spd), y),
    ):
        first = call()
        assert all(torch.equal(first, call()) for _ in range(3))
    wanted = torch.zeros(6, 7)
    wanted[:2, :3], wanted[2:5, 3:4], wanted[5:, 4:] = x, y, v
    assert torch.equal(torch.block_diag(x, y, v), wanted)
    assert torch.histogram(torch.tensor([-2.0, -1, 0, 1, 2, 3]), 2, range=(-1.0, 1.0)).hist.tolist() == [1, 2]


def test_solvers_of_several_results_are_planned_alike() -> None:
    a, b = torch.randn(5, 3, dtype=torch.float64), torch.randn(5, 2, dtype=torch.float64)
    square = a[:3] + 4 * torch.eye(3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for call in (
            lambda driver: torch.linalg.lstsq(a, b, driver=driver)[::2],
            lambda driver: torch.triangular_solve(b[:3], square, upper=driver is None),
        ):
            for driver in (None, "gelsy", "gelsd"):
                first = call(driver)
                for found in (call(driver), call(driver), call(driver)):
                    assert all(
                        x.equal(y) and x.stride() == y.stride() for x, y in zip(found, first, strict=True)
                    )
    assert torch.linalg.lstsq(a, b, driver="gelsd").residuals.shape == (2,)


def test_long_tensors_are_equal_to_the_last_element() -> None:
    x = torch.zeros(5000)
    for place in (0, 63, 64, 4999):
        y = x.clone()
        assert torch.equal(x, y)
        y[place] = 1
        assert not torch.equal(x, y) and not torch.equal(y, x)
