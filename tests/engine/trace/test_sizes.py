"""Calls at sizes that have no record get programs of those at other sizes, and the same bits as eager ones."""

import pytest

import rushlight as torch
from rushlight import nn
from rushlight._engine.core.settings import settings
from rushlight._engine.trace.sizes import families, formulas
from rushlight.nn import functional as F


@pytest.fixture(autouse=True)
def machine_code_from_the_start():
    with settings.using(kernels="llvm"):
        yield


class Text(nn.Module):
    """A little of all that models of texts do with lengths."""

    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(20, 8), nn.Embedding(32, 8)
        self.block = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.1, batch_first=True)
        self.register_buffer("mask", torch.tril(torch.ones(32, 32)))
        self.head = nn.Linear(8, 20, bias=False)

    def forward(self, x):
        length = x.shape[1]
        h = self.words(x) + self.places(torch.arange(length))
        h = self.block(h, src_mask=self.mask[:length, :length] == 0)
        pad = torch.full((length, length), float("-inf")).triu(1)
        weights = F.softmax(h @ h.transpose(1, 2) + pad, -1)
        return self.head(torch.cat([weights @ h, h[:, :1]], 1)[:, :-1])


def next_word(model, x):
    return F.cross_entropy(model(x[:, :-1]).reshape(-1, 20), x[:, 1:].reshape(-1))


def texts(counts, rounds=6, batch=3):
    torch.manual_seed(7)
    return [torch.randint(20, (batch, n)) for n in counts] * rounds


def trained(how, data):
    """Losses and parameters after steps; and the plans of what was compiled."""
    torch.manual_seed(3)
    model = Text()
    optimizer = torch.optim.AdamW(model.parameters(), 0.01)
    run = torch.compile(model) if how == "model" else model

    def step(x):
        optimizer.zero_grad()
        loss = next_word(run, x)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss

    call = torch.compile(step) if how == "step" else step
    torch.manual_seed(5)
    losses = [call(x).item() for x in data]
    runner = getattr(run if how == "model" else call, "_runner", None)
    return (
        losses,
        [p.tolist() for p in model.parameters()],
        [] if runner is None else [*runner.plans.values()],
    )


@pytest.mark.parametrize("how", ["step", "model"])
def test_texts_of_other_lengths_are_not_recorded(how):
    data = texts([5, 9, 7, 12, 6, 10])
    losses, parameters, plans = trained(how, data)
    assert [p.derived for p in plans] == [False] * families.FEWEST + [True] * 3
    assert all(p.ready and p.replays for p in plans)
    assert len({id(p.program.room) for p in plans[families.FEWEST :]}) == 1  # in the same memory
    assert (losses, parameters) == trained("eager", data)[:2]


def test_two_sizes_confirm_each_other():
    data = texts([5, 9, 7, 12, 6, 10], rounds=2)
    losses, parameters, plans = trained("step", data)
    assert [p.ready for p in plans] == [False, *[True] * 5] and sum(p.derived for p in plans) == 3
    assert (losses, parameters) == trained("eager", data)[:2]


def derived(function, args, fresh=3):
    """Compiled and eager results of calls with each argument in turn, several times; and which have a program
    of others'. The first `fresh` are learnt before others come.
    """
    compiled = torch.compile(function)
    for _ in range(5):
        for x in args[:fresh]:
            assert torch.equal(compiled(x), function(x))
    for _ in range(4):
        for x in args:
            assert torch.equal(compiled(x), function(x)), x.shape
    return [p.derived for p in compiled._runner.plans.values()]


def arguments(*counts, width=4):
    torch.manual_seed(1)
    return [torch.randn(n, width) for n in counts]


def test_what_is_cut_at_a_length_is_recorded():
    found = derived(lambda x: (x[:8] * 2).sum(), arguments(3, 5, 7, 6, 12))
    assert found == [False, False, False, True, False]


def test_what_python_does_at_some_sizes_only_is_done(capsys):
    def noted(x):
        if x.shape[0] > 10:
            print("long")
        return (x * 2).exp()

    compiled, args = torch.compile(noted), arguments(3, 5, 7, 6, 12)
    for _ in range(5):
        for x in args[:4]:
            compiled(x)
    assert [p.derived for p in compiled._runner.plans.values()] == [False] * 3 + [True]
    assert not capsys.readouterr().out
    for _ in range(5):
        assert torch.equal(compiled(args[4]), (args[4] * 2).exp())
    assert capsys.readouterr().out.split() == ["long"] * 5


def test_bounds_that_no_value_reaches_are_not_guessed():
    def bounded(x):
        return x.clamp(max=min(x.shape[0], 8)).relu()

    args = [x.long() for x in arguments(3, 5, 7, 6, 12)]
    compiled = torch.compile(bounded)
    for values in (args, args, args, args, [x * 0 + 100 for x in args]):
        for x in values:
            assert torch.equal(compiled(x), bounded(x))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x[:8].sum(),
        lambda x: x.cumsum(0)[min(x.shape[0], 8) - 1],
        lambda x: F.adaptive_avg_pool1d(x.t()[None], 2),
        lambda x: x.roll(min(x.shape[0], 8), 0) * 2,
    ],
)
def test_zeros_confirm_nothing(function):
    """What is warmed up with zeros gives zeros, whatever is cut off."""
    compiled, args = torch.compile(function), arguments(3, 5, 7, 6, 12)
    for k in range(6):
        for x in args:
            x = x if k != 1 else x * 0
            assert torch.equal(compiled(x), function(x))


def test_results_lie_as_eager_ones_where_a_size_is_1():
    def turned(x):
        return (x * 2).transpose(0, 1), x.shape

    compiled = torch.compile(turned)
    for _ in range(6):
        for n in (3, 5, 7, 6, 1):
            x = torch.ones(2, n, 4)
            found, size = compiled(x)
            assert found.stride() == turned(x)[0].stride()
            assert size == x.shape and type(size) is torch.Size
    for function in (lambda x: [turned(x)[0]], lambda x: [h := x.softmax(1), h.reshape(-1, 2)]):
        compiled = torch.compile(function)
        for _ in range(6):
            for x in (torch.ones(2, n, 4) for n in (3, 5, 7, 6, 1)):
                assert [t.stride() for t in compiled(x)] == [t.stride() for t in function(x)]
        assert sum(p.derived for p in compiled._runner.plans.values()) == 1


def test_sizes_at_which_the_call_fails():
    table = torch.ones(8, 4)

    def added(x):
        return table[: x.shape[0]] + x

    compiled = torch.compile(added)
    for _ in range(5):
        for x in arguments(3, 5, 7, 6):
            assert torch.equal(compiled(x), added(x))
    for _ in range(4):
        with pytest.raises(RuntimeError, match="must match"):
            compiled(torch.ones(9, 4))


def test_backward_passes_that_are_still_to_come():
    """What calls at other sizes have left for theirs stays where it is."""
    torch.manual_seed(2)
    layer = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 4))
    compiled = torch.compile(layer)
    found = {}
    for run in (layer, compiled):
        layer.zero_grad()
        held = []
        for _ in range(4):
            for x in arguments(3, 5, 7, 6, 12):
                run(x).exp().sum().backward()
        for _ in range(3):
            for x in arguments(6, 9, 12, 14, 2):
                held.append(run(x))
                if len(held) > 2:
                    held.pop(0).exp().sum().backward()
        found[run] = [p.grad for p in layer.parameters()]
    assert all(map(torch.equal, found[layer], found[compiled]))
    assert sum(p.derived for p in compiled._runner.plans.values()) >= 2


def test_gradients_that_steps_take_away_in_place():
    data = arguments(3, 5, 7, 6, 12, 9) * 4
    found = []
    for how in (lambda f: f, torch.compile):
        torch.manual_seed(2)
        layer = nn.Linear(4, 4)
        optimizer = torch.optim.SGD(layer.parameters(), 0.01)

        def step(x, layer=layer, optimizer=optimizer):
            loss = layer(x).square().sum()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad(set_to_none=False)
            return loss

        run = how(step)
        found.append([run(x).item() for x in data])
    assert found[0] == found[1]
    assert sum(p.derived for p in run._runner.plans.values()) == 3


def test_what_follows_a_step_is_recorded():
    torch.manual_seed(2)
    layer = nn.Linear(4, 4)
    optimizer = torch.optim.SGD(layer.parameters(), 0.001)

    def step(x):
        optimizer.zero_grad()
        layer(x).sum().backward()
        optimizer.step()
        return x[:8].sum()

    compiled, args = torch.compile(step), arguments(3, 5, 7, 6, 12)
    for _ in range(6):
        for x in args:
            assert torch.equal(compiled(x), x[:8].sum())


def test_functions_of_c_that_are_chosen_by_a_size_are_called(capsys):
    def noted(x):
        (len, print)[x.shape[0] > 10]("long")
        return (x * 2).exp()

    compiled, args = torch.compile(noted), arguments(3, 5, 7, 6, 12)
    for x in [*args[:4] * 5, *args[4:] * 5]:
        compiled(x)
    assert [p.derived for p in compiled._runner.plans.values()] == [False] * 3 + [True, False]
    assert capsys.readouterr().out.split() == ["long"] * 5


def test_few_numbers_that_agree_by_chance():
    def scaled(x):
        x = x + x.argmax(1, keepdim=True)
        x = (x / (x.std(1, keepdim=True) + 1)).clone().add_(1)
        return x.t().contiguous().t().softmax(0) * 2 + 1

    compiled = torch.compile(scaled)
    for k, n in enumerate([33, 10, 4] * 6 + [33, 10, 4, 6, 16, 17, 2] * 4):
        x = torch.randn(n, 4, generator=torch.Generator().manual_seed(k))
        assert torch.equal(compiled(x), scaled(x))


def test_windows_that_move_by_several_elements():
    torch.manual_seed(2)
    layers = nn.Sequential(nn.Conv1d(4, 4, 3, stride=2), nn.ReLU(), nn.MaxPool1d(2))
    images = [torch.randn(2, 4, n) for n in (9, 13, 17, 21, 14, 16, 22)]
    with torch.no_grad():
        found = derived(layers, images)
    assert not any(found[4:])  # their results are shorter than a multiple


def test_batches_of_images():
    torch.manual_seed(2)
    layers = nn.Sequential(nn.Conv2d(3, 4, 3, stride=2), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten())
    with torch.no_grad():
        assert derived(layers, [torch.randn(n, 3, 11, 11) for n in (5, 6, 7, 8, 12)])[3:] == [True, True]


def test_recurrences_of_other_lengths():
    torch.manual_seed(2)
    layer = nn.LSTM(4, 4, batch_first=True)
    with torch.no_grad():
        found = derived(lambda x: layer(x)[0], [torch.randn(3, n, 4) for n in (5, 7, 9, 6, 11)])
    assert found[3:] == [True, True]


def test_sizes_that_were_alike_so_far():
    def joined(x):
        return (x @ x.T).relu()

    squares = [torch.randn(n, n) for n in (5, 7, 9, 6)]
    assert derived(joined, [*squares, torch.randn(6, 9)]) == [False] * 3 + [True, False]


def test_turned_arguments():
    def summed(x):
        return (x * 2).sum(1) + x[:, 0]

    found = derived(summed, [*arguments(5, 7, 9, 6), *[x.T for x in arguments(4, 4, width=6)]])
    assert found[3]


def test_what_has_changed_is_seen():
    torch.manual_seed(2)
    layer = nn.Linear(4, 4)
    compiled = torch.compile(layer)
    args = arguments(5, 7, 9, 6, 12)
    for change in (lambda: None, lambda: layer.requires_grad_(False), lambda: setattr(layer, "bias", None)):
        change()
        for _ in range(6):
            for x in args:
                assert torch.equal(compiled(x), layer(x))
    assert sum(p.derived for p in compiled._runner.plans.values()) == 2


@pytest.mark.parametrize(
    ("row", "columns", "at", "number"),
    [
        ((20, 28, 36), [(5, 7, 9)], (6,), 24),
        ((16, 36, 64), [(5, 7, 9)], (6,), 25),  # (n - 1) squared
        ((75, 147, 72), [(5, 7, 6), (3, 3, 2)], (4, 10), 160),  # n squared, b times
    ],
)
def test_numbers_follow_from_sizes(row, columns, at, number):
    assert formulas.formula(row, columns)((*range(len(at)),), at) == number


def test_numbers_that_follow_from_no_product():
    with pytest.raises(formulas.Unlike, match="no product"):
        formulas.formula((2, 3, 4), [(5, 7, 10)])
    half = formulas.formula((5, 6, 7), [(10, 12, 14)])
    with pytest.raises(formulas.Unlike, match="no whole multiple"):
        half((0,), (13,))
