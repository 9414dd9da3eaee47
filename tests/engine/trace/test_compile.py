"""compile(): replayed calls equal eager ones bit by bit; what cannot be replayed says why."""

import copy
import gc
import threading
from functools import partial
from types import SimpleNamespace

import pytest

import rushlight as torch
from rushlight import nn
from rushlight._engine.core.settings import settings
from rushlight._engine.trace import recorder
from rushlight.nn import functional as F


@pytest.fixture(autouse=True)
def machine_code_from_the_start():
    """Eager and compiled calls use the same kernels, so that their bits can be compared."""
    with settings.using(kernels="llvm"):
        yield


def mlp():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Dropout(0.25), nn.Linear(64, 5))


def cnn():
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Unflatten(1, (1, 20)),
        nn.Conv1d(1, 4, 3),
        nn.BatchNorm1d(4),
        nn.GELU(),
        nn.Flatten(),
        nn.Linear(72, 5),
    )


def attention():
    torch.manual_seed(0)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm, self.head = nn.LayerNorm(5), nn.Linear(20, 5)
            self.attention = nn.MultiheadAttention(5, 1, batch_first=True)

        def forward(self, x):
            x = self.norm(x.view(-1, 4, 5))
            x = x + self.attention(x, x, x, need_weights=False)[0]
            return self.head(x.flatten(1))

    return Net()


def adamw(model):
    return torch.optim.AdamW(model.parameters(), lr=0.01)


def sgd(model):
    return torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)


def batches(count, size=8):
    torch.manual_seed(1)
    return [(torch.randn(size, 20), torch.randint(0, 5, (size,))) for _ in range(count)]


def trained(make, optimizer, compiled, after=None, data=None):
    model = make()
    opt = optimizer(model)
    first = torch.optim.lr_scheduler.StepLR(opt, 3, 0.5)
    scheduler = torch.optim.lr_scheduler.SequentialLR(
        opt, [first, torch.optim.lr_scheduler.ExponentialLR(opt, 0.9)], [7]
    )

    def step(x, y):
        opt.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        scheduler.step()
        return loss

    run = torch.compile(step, mode="reduce-overhead") if compiled else step
    torch.manual_seed(2)
    losses = []
    for number, (x, y) in enumerate(data or batches(20)):
        if after:
            after(number, model, opt)
        losses.append(run(x, y))
    return [loss.item() for loss in losses], [p.tolist() for p in model.parameters()], run


@pytest.mark.parametrize("make", [mlp, cnn, attention])
@pytest.mark.parametrize("optimizer", [adamw, sgd])
def test_a_whole_step_gives_eagers_bits(make, optimizer):
    losses, weights, _ = trained(make, optimizer, False)
    found, own, run = trained(make, optimizer, True)
    assert found == losses and own == weights
    (plan,) = run._runner.plans.values()
    assert plan.ready and plan.replays == 17, torch.explain(run)


def double_rate(number, model, opt):
    if number == 10:
        opt.param_groups[0]["lr"] *= 2


def evaluate(number, model, opt):
    model.train(number % 10 < 5)


def replace_memory(number, model, opt):
    if number == 12:
        for p in model.parameters():
            p.data = p.data * 0.5


def keep_gradients(number, model, opt):
    if number == 9:
        for p in model.parameters():
            p.grad = torch.ones_like(p)


@pytest.mark.parametrize("after", [double_rate, evaluate, replace_memory, keep_gradients])
def test_changes_between_calls_are_seen(after):
    assert trained(mlp, adamw, True, after)[:2] == trained(mlp, adamw, False, after)[:2]


def test_batches_of_several_sizes():
    data = [b for pair in zip(batches(12), batches(12, 3), strict=True) for b in pair]
    expected = trained(mlp, adamw, False, data=data)
    found = trained(mlp, adamw, True, data=data)
    assert found[:2] == expected[:2] and len(found[2]._runner.plans) == 2


def test_gradients_accumulate_over_calls():
    def run(compiled):
        model = mlp()
        backward = lambda x, y: F.cross_entropy(model(x), y).backward()  # noqa: E731
        backward = torch.compile(backward, mode="reduce-overhead") if compiled else backward
        torch.manual_seed(2)
        for number, (x, y) in enumerate(batches(12)):
            backward(x, y)
            if number % 4 == 3:
                model.zero_grad()
        backward(x, y)
        return [p.grad.tolist() for p in model.parameters()]

    assert run(True) == run(False)


def test_a_gradient_that_is_also_returned():
    def run(compiled):
        w = nn.Parameter(torch.ones(3))
        optimizer = torch.optim.SGD([w], lr=0.1)

        def step(x):
            optimizer.zero_grad()
            g = x * 2
            (w + 0).backward(g)
            optimizer.step()
            return g

        step = torch.compile(step, mode="reduce-overhead") if compiled else step
        return [step(torch.full((3,), float(k))).tolist() for k in range(6)], w.tolist()

    assert run(True) == run(False)


def test_inference_returns_memory_of_its_own():
    model = mlp().eval()
    compiled = torch.compile(model, mode="reduce-overhead")
    data = [x for x, _ in batches(8)]
    with torch.no_grad():
        found = [compiled(x) for x in data]
        assert all(torch.equal(a, model(x)) for a, x in zip(found, data, strict=True))
    assert "replayed 5 times" in str(torch.explain(compiled))


def test_trees_of_arguments_and_results():
    @torch.compile(mode="max-autotune")
    def f(pair, *, scale, flags):
        return {"sum": pair[0] + pair[1], "same": pair[0], "rest": [scale, (pair[1] * scale,)]}

    for k in range(6):
        a, b = torch.full((3,), float(k)), torch.ones(3)
        found = f((a, b), scale=2.0, flags=(True, None))
        assert found["sum"].tolist() == [k + 1.0] * 3 and found["same"] is a
        assert found["rest"][0] == 2.0 and found["rest"][1][0].tolist() == [2.0] * 3


def test_in_place_writes_to_a_modules_memory():
    class Counter(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("total", torch.zeros(3))

        def forward(self, x):
            self.total.add_(x)
            self.total[1] = 0
            return self.total * 2

    eager, compiled = Counter(), Counter()
    run = torch.compile(compiled, mode="reduce-overhead")
    for k in range(7):
        assert torch.equal(eager(torch.full((3,), k / 3)), run(torch.full((3,), k / 3)))
    assert torch.equal(eager.total, compiled.total)


def branch(x):
    return x * 2 if x.sum() > 0 else x


def printed(x):
    return len(str(x)) * x


def written(x):
    return x.add_(1)


def shaped_by_values(x):
    return x[x > 0]


def from_numpy(x):
    return x + torch.from_numpy((x.detach().numpy() > 0).astype("float32"))


outside = [torch.ones(3)]


def from_a_list_in_a_closure():
    holder = SimpleNamespace(tensor=torch.ones(3))
    return lambda x: x + holder.tensor


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (branch, "a branch on data"),
        (printed, "printing"),
        (written, "argument is written"),
        (shaped_by_values, "depends on values"),
        (from_numpy, ".numpy()"),
        (from_a_list_in_a_closure(), "neither an argument"),
    ],
)
def test_what_cannot_be_replayed_stays_eager_and_says_why(function, why):
    compiled = torch.compile(function, mode="reduce-overhead")
    for k in range(5):
        x, y = torch.tensor([1.0, -2.0, k]), torch.tensor([1.0, -2.0, k])
        assert torch.equal(compiled(x), function(y))
    report = str(torch.explain(compiled))
    assert why in report and "eager: " in report


def test_a_module_whose_backward_comes_later():
    plain, model = mlp(), mlp()
    model.load_state_dict(plain.state_dict())
    compiled = torch.compile(model, mode="reduce-overhead")
    optimizers = [torch.optim.Adam(m.parameters(), lr=1e-2) for m in (plain, model)]
    for x, y in batches(8):
        losses = []
        for call, optimizer in zip((plain, compiled), optimizers):
            torch.manual_seed(5)
            optimizer.zero_grad()
            losses.append(F.cross_entropy(call(x), y))
            losses[-1].backward()
            optimizer.step()
        assert losses[0].item() == losses[1].item()
    assert all(torch.equal(a, b) for a, b in zip(plain.parameters(), model.parameters()))
    assert "replayed 5 times" in str(torch.explain(compiled))


def test_gradients_of_arguments_and_of_several_results():
    w = torch.randn(6, 6, requires_grad=True)

    def f(x, scale):
        h = torch.tanh(x @ w)
        return h.sum(1), {"twice": h * scale, "input": x}

    compiled = torch.compile(f, mode="reduce-overhead")
    for k in range(6):
        x = torch.randn(4, 6, requires_grad=True)
        found = []
        for call in (f, compiled):
            sums, rest = call(x, 2.0)
            assert rest["input"] is x
            loss = rest["twice"].square().mean() if k % 2 else sums.sum() + rest["twice"].sum()
            found.append(torch.autograd.grad(loss, (x, w)))
        assert all(torch.equal(a, b) for a, b in zip(*found))
    assert "replayed 3 times" in str(torch.explain(compiled))


def test_two_graphs_at_a_time():
    model = mlp()
    compiled = torch.compile(model, mode="reduce-overhead")
    (x, _), (z, _) = batches(2)
    for _ in range(4):
        model.eval()
        first, second = compiled(x), compiled(z)
        expected = [torch.autograd.grad(model(v).sum(), model[0].weight)[0] for v in (x, z)]
        found = [torch.autograd.grad(r.sum(), model[0].weight)[0] for r in (first, second)]
        assert all(torch.equal(a, b) for a, b in zip(expected, found))


def test_what_a_compiled_backward_refuses():
    w = torch.ones(3, requires_grad=True)
    compiled = torch.compile(lambda x: (x * w * w).sum(), mode="reduce-overhead")
    x = torch.ones(3)
    for _ in range(4):
        compiled(x).backward()
    with pytest.raises(RuntimeError, match="does not currently support double backward"):
        torch.autograd.grad(compiled(x), w, create_graph=True)
    result = compiled(x)
    result.backward(retain_graph=True)
    result.backward()
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        result.backward()
    result = compiled(x)
    with torch.no_grad():
        w.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        result.backward()


def test_values_that_the_recorder_does_not_see_are_found_out():
    def hidden(x):
        return x + torch.tensor(float(x._array.sum()))  # around everything that tells the recorder

    compiled = torch.compile(hidden, mode="reduce-overhead")
    for k in range(5):
        x = torch.full((3,), float(k))
        assert torch.equal(compiled(x), hidden(x))


scale = 2.0


def test_variables_of_the_function_are_guarded():
    global scale
    compiled = torch.compile(lambda x: x * scale, mode="reduce-overhead")
    for scale in (2.0, 2.0, 2.0, 2.0, 3.0, 3.0, 3.0, 3.0, 3.0):
        assert compiled(torch.ones(2)).tolist() == [scale] * 2


def test_errors_are_the_programs_own():
    compiled = torch.compile(lambda x, y: F.cross_entropy(x, y), mode="reduce-overhead")
    x = torch.randn(4, 3)
    for _ in range(4):
        compiled(x, torch.tensor([0, 1, 2, 0]))
    with pytest.raises(IndexError, match="out of bounds"):
        compiled(x, torch.tensor([0, 1, 3, 0]))
    assert compiled(x, torch.tensor([0, 1, 2, 0])).ndim == 0


def test_whole_graphs_are_asked_for():
    for mode in ("default", "reduce-overhead"):
        with pytest.raises(RuntimeError, match="test_compile.py"):
            torch.compile(branch, mode=mode, fullgraph=True)(torch.ones(3))
        torch.compile(lambda x: x * 2, mode=mode, fullgraph=True)(torch.ones(3))


def test_disabled_functions_end_a_recording():
    @torch.compiler.disable(reason="it talks to a server")
    def called(x):
        return x + 1

    compiled = torch.compile(lambda x: called(x) * 2, mode="reduce-overhead")
    assert [compiled(torch.ones(1)).item() for _ in range(4)] == [4.0] * 4
    assert "it talks to a server" in str(torch.explain(compiled))


def test_other_threads_are_not_recorded():
    stop, counted = threading.Event(), []

    def work():
        while not stop.is_set():
            counted.append((torch.ones(3) + 1).sum().item())

    thread = threading.Thread(target=work)
    thread.start()
    found = trained(mlp, adamw, True)
    stop.set()
    thread.join()
    assert found[:2] == trained(mlp, adamw, False)[:2] and set(counted) == {6.0}


def test_memory_is_freed_with_the_callable():
    import weakref

    compiled = torch.compile(lambda x: x * 2, mode="reduce-overhead")
    for _ in range(4):
        compiled(torch.ones(3))
    (plan,) = compiled._runner.plans.values()
    reference = weakref.ref(plan.program)
    del compiled, plan
    gc.collect()
    assert reference() is None


def test_any_number_of_threads_gives_the_same_bits():
    before = torch.get_num_threads()
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(256, 512), nn.GELU(), nn.LayerNorm(512), nn.Linear(512, 64))
    x, y = torch.randn(300, 256), torch.randint(0, 64, (300,))
    found = []
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            compiled = torch.compile(model)
            for _ in range(4):
                model.zero_grad()
                F.cross_entropy(compiled(x), y).backward()
            assert "replayed 1 times" in str(torch.explain(compiled))
            found.append([p.grad.clone() for p in model.parameters()])
    finally:
        torch.set_num_threads(before)
    assert all(torch.equal(a, b) for other in found[1:] for a, b in zip(found[0], other, strict=True))


def test_calls_from_several_threads():
    model = mlp().eval()
    compiled, inputs = torch.compile(model), [torch.randn(8, 20) for _ in range(8)]
    with torch.no_grad():
        expected = [model(x) for x in inputs]
        for _ in range(4):
            compiled(inputs[0])
    wrong = []

    def work(number):
        with torch.no_grad():
            for _ in range(200):
                if not torch.equal(compiled(inputs[number]), expected[number]):
                    wrong.append(number)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_a_program_keeps_no_memory_of_the_recorded_calls():
    big = nn.Sequential(*[nn.Linear(256, 256) for _ in range(6)])
    compiled, x = torch.compile(big), torch.randn(512, 256)
    for _ in range(5):
        compiled(x).sum().backward()
    gc.collect()
    program = next(iter(compiled._compiled._runner.plans.values())).program
    kept = {id(a): a for a in map(recorder.root, (o for e in program.entries for o in e.outs))}
    gradients = sum(p._array.nbytes for p in big.parameters())
    assert sum(a.nbytes for a in kept.values()) <= program.plan.size + gradients + 64


def test_gradients_that_are_held_stay_as_they_are():
    model = nn.Sequential(nn.Linear(64, 128), nn.Tanh(), nn.Linear(128, 64))
    other, compiled, held = copy.deepcopy(model), torch.compile(model), []
    for step in range(24):
        x = torch.randn(8, 64)
        if step % 7 not in (2, 3, 4):  # else they are added up
            for p in (*model.parameters(), *other.parameters()):
                p.grad = None
        for m in (compiled, other):
            m(x).pow(2).sum().backward()
        held += [(p.grad, p.grad.clone()) for p in model.parameters()] if step in (5, 8, 14) else []
        assert all(torch.equal(*pair) for pair in held[: 4 * (step > 5 and step % 7 not in (2, 3, 4))])
        for p, q in zip(model.parameters(), other.parameters()):
            assert torch.equal(p.grad, q.grad)
    assert next(iter(compiled._runner.plans.values())).replays > 15


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        return 2 * ctx.saved_tensors[0] * grad


def plain(model, optimizer, scaler, x, y):
    F.cross_entropy(model(x), y).backward()
    optimizer.step()


def with_function(model, optimizer, scaler, x, y):
    F.cross_entropy(Square.apply(model(x)), y).backward()
    optimizer.step()


def with_autocast(model, optimizer, scaler, x, y):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()


def with_checkpoint(model, optimizer, scaler, x, y):
    hidden = torch.utils.checkpoint.checkpoint(model[:2], x, use_reentrant=False)
    F.cross_entropy(model[2:](hidden), y).backward()
    optimizer.step()


def with_accumulation(model, optimizer, scaler, x, y):
    for part, labels in zip(x.chunk(4), y.chunk(4)):
        (F.cross_entropy(model(part), labels) / 4).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
    optimizer.step()


def with_scaler(model, optimizer, scaler, x, y):
    scaler.scale(F.cross_entropy(model(x), y)).backward()
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
    scaler.step(optimizer)
    scaler.update()


@pytest.mark.parametrize(
    "body", [plain, with_function, with_autocast, with_checkpoint, with_accumulation, with_scaler]
)
@pytest.mark.parametrize("mode", ["default", "reduce-overhead"])
def test_what_a_step_may_hold(body, mode):
    found = []
    for compiled in (False, True):
        model = mlp()
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        scaler = torch.amp.GradScaler("cpu", init_scale=256.0, growth_interval=2)

        def step(x, y, model=model, optimizer=optimizer, scaler=scaler):
            optimizer.zero_grad()
            body(model, optimizer, scaler, x, y)

        step = torch.compile(step, mode=mode) if compiled else step
        torch.manual_seed(4)
        for x, y in batches(8):
            step(x, y)
        found.append([*model.parameters()])
    assert all(torch.equal(a, b) for a, b in zip(*found, strict=True))
    report = str(torch.explain(step))
    assert "replayed 5 times" in report or mode == "default", report


@pytest.mark.parametrize(
    "make", [partial(torch.optim.LBFGS, max_iter=4), torch.optim.SGD], ids=["LBFGS", "SGD"]
)
def test_an_optimizer_with_a_closure_stays_eager(make):
    found = []
    for compiled in (False, True):
        model = mlp()
        optimizer = make(model.parameters(), lr=0.1)

        def step(x, y, model=model, optimizer=optimizer):
            def closure():
                optimizer.zero_grad()
                loss = F.cross_entropy(model[3](model[1](model[0](x))), y)
                loss.backward()
                return loss

            return optimizer.step(closure)

        step = torch.compile(step, mode="reduce-overhead") if compiled else step
        found.append([step(x, y).item() for x, y in batches(6)])
    assert found[0] == found[1] and "has a closure" in str(torch.explain(step))


def test_results_that_only_python_can_make():
    class Output(dict):
        pass

    for make in (lambda t: Output(logits=t), lambda t: {"a": {t}}):
        compiled = torch.compile(lambda x, make=make: make(x * 2), mode="reduce-overhead")
        for k in range(5):
            found = compiled(torch.full((2,), float(k)))
            assert next(iter(found.get("a", [found.get("logits")])))[0] == 2 * k
        assert "which a replay cannot make anew" in str(torch.explain(compiled))


@pytest.mark.parametrize("late", [False, True])
def test_gradients_that_come_in_batches(late):
    def run(change):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
        called, parameters, found = change(model), list(model.parameters()), []
        for i in range(6):
            losses = called(torch.randn(5, 4)).square().mean(0)
            if late and i < 4:
                losses.sum().backward()
                continue
            found += torch.autograd.grad(losses, parameters, torch.eye(2), is_grads_batched=True)
        return found

    for mine, own in zip(run(torch.compile), run(lambda model: model), strict=True):
        torch.testing.assert_close(mine, own, rtol=late * 1e-5, atol=late * 1e-6)


def test_gradients_that_lie_otherwise_than_results():
    class Features(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.norm = nn.Linear(24, 33), nn.LayerNorm(33)

        def forward(self, x):
            return F.normalize(self.norm(self.first(x)), dim=-1)

    def run(change, turned):
        torch.manual_seed(0)
        model = Features()
        called = change(model)
        for i in range(8):
            wanted = torch.randn(33, 7).t() if i in turned else torch.randn(7, 33)
            called(torch.randn(7, 24)).backward(wanted)
        return [p.grad for p in model.parameters()]

    for turned in (range(8), range(2, 8), range(2), ()):
        for mine, own in zip(run(torch.compile, turned), run(lambda model: model, turned), strict=True):
            assert torch.equal(mine, own), turned


@pytest.mark.parametrize("what", ["result", "view", "argument"])
def test_what_a_backward_pass_reads_is_not_written_to_before(what):
    for change in (lambda f: f, torch.compile):
        f = change(lambda x, y: (x * y).exp())
        for i in range(6):
            x, y = torch.ones(3, requires_grad=True), torch.ones(3)
            out = f(x, y)
            if what == "argument" and i in (1, 2, 3):  # which are recorded, on copies
                out.sum().backward()
                continue
            {"result": out.detach(), "view": out.detach()[:1], "argument": y}[what].mul_(2)
            with pytest.raises(RuntimeError, match="modified by an inplace operation"):
                out.sum().backward()
            f(x, y.detach().clone()).sum().backward()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.complex64, torch.int64])
@pytest.mark.parametrize(
    "shapes", [((1, 9), (9, 5)), ((3, 1), (1, 4)), ((5, 9), (9, 1)), ((2, 1, 9), (9, 5))]
)
def test_products_of_one_row_are_written_where_they_belong(shapes, dtype):
    torch.manual_seed(0)
    a, b = ((torch.randn(s) * 5).to(dtype) for s in shapes)

    def f(a, b):
        return (a @ b) * 2 + (a * 3) @ b

    compiled = torch.compile(f)
    for _ in range(6):
        assert torch.equal(compiled(a, b), f(a, b))
        a = a + 1
