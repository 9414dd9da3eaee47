"""Interfaces of modules, awaitables, and modules with a state of their own."""

from __future__ import annotations

import io

import pytest

import rushlight as torch
from rushlight import Tensor, nn


@torch.jit.interface
class Layer(nn.Module):
    """What both layers do."""

    def forward(self, x: Tensor) -> Tensor:
        pass


class Double(nn.Module):
    """2 x."""

    def forward(self, x: Tensor) -> Tensor:
        return x * 2


class Square(nn.Module):
    """x ** 2."""

    def forward(self, x: Tensor) -> Tensor:
        return x * x


class Wrong(nn.Module):
    """Takes a number."""

    def forward(self, x: int) -> int:
        return x


class Holder(nn.Module):
    """Holds a layer of which only the interface is known."""

    layer: Layer

    def __init__(self) -> None:
        super().__init__()
        self.layer = Double()

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x) + 1


class Switching(nn.Module):
    """Chooses a layer by its name when it runs."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleDict({"twice": Double(), "square": Square()})

    def forward(self, x: Tensor, key: str) -> Tensor:
        chosen: Layer = self.layers[key]
        return chosen.forward(x)


def test_a_module_is_put_in_the_place_of_another() -> None:
    module = torch.jit.script(Holder().eval())
    x = torch.tensor([3.0])
    assert module(x).item() == 7
    file = io.BytesIO()
    torch.jit.save(module, file)
    file.seek(0)
    assert torch.jit.load(file)(x).item() == 7
    module.layer = torch.jit.script(Square())
    assert module(x).item() == 10
    assert torch.jit.freeze(module)(x).item() == 10
    with pytest.raises(RuntimeError, match="is not compatible with interface"):
        module.layer = torch.jit.script(Wrong())


def test_a_module_is_chosen_by_its_name() -> None:
    module = torch.jit.script(Switching().eval())
    x = torch.tensor([3.0])
    assert module(x, "twice").item() == 6 and module(x, "square").item() == 9
    with pytest.raises(RuntimeError, match="ModuleContainerIndex is not supported"):
        torch.jit.freeze(module)


def test_interfaces_inherit_from_nothing_else() -> None:
    with pytest.raises(RuntimeError, match="does not support inheritance yet"):

        @torch.jit.interface
        class More(nn.ReLU):
            pass


def _delayed(x: Tensor) -> Tensor:
    return -x


def _awaiting(x: Tensor) -> Tensor:
    pending = torch.jit._awaitable(_delayed, x)
    return torch.jit._awaitable_wait(pending) + torch.jit._awaitable_wait(torch.jit._awaitable_nowait(x)) * 3


def test_awaitables() -> None:
    calls = []

    def f(x: int) -> int:
        calls.append(x)
        return x + 1

    pending = torch.jit._awaitable(f, 2)
    assert not calls and torch.jit._awaitable_wait(pending) == 3 == pending.wait() and calls == [2]
    assert pending.real == 3  # used as the result itself
    assert not pending.is_nowait() and torch.jit._awaitable_nowait(1).is_nowait()
    x = torch.ones(2)
    scripted = torch.jit.script(_awaiting)
    assert torch.equal(scripted(x), _awaiting(x))
    file = io.BytesIO()
    torch.jit.save(scripted, file)
    file.seek(0)
    assert torch.equal(torch.jit.load(file)(x), 2 * x)


class WithState(nn.Module):
    """Says itself what a file keeps of it."""

    def __init__(self) -> None:
        super().__init__()
        self.table = torch.arange(3.0)

    @torch.jit.export
    def __getstate__(self):  # type: ignore[no-untyped-def]
        return (self.table * 2, self.training)

    @torch.jit.export
    def __setstate__(self, state):  # type: ignore[no-untyped-def]
        self.table = state[0] / 2
        self.training = state[1]

    def forward(self, x: Tensor) -> Tensor:
        return self.table + x


def test_a_state_of_its_own() -> None:
    file = io.BytesIO()
    torch.jit.save(torch.jit.script(WithState().eval()), file)
    file.seek(0)
    loaded = torch.jit.load(file)
    assert loaded(torch.zeros(1)).tolist() == [0.0, 1.0, 2.0] and not loaded.training


def test_parts_of_a_module_are_gone_through() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.ModuleList([nn.Linear(2, 2), nn.Linear(2, 2)])

        def forward(self, x):  # type: ignore[no-untyped-def]
            total = x.sum()
            for layer in self.layers.children():
                x = layer(x)
            for p in self.parameters():
                total = total + p.sum()
            return x, total

    net = Net()
    x = torch.randn(2)
    (a, b), (c, d) = net(x), torch.jit.script(net)(x)
    assert torch.equal(a, c) and torch.allclose(b, d)


def test_what_cannot_be_meant_says_so() -> None:
    def subscript():  # type: ignore[no-untyped-def]
        a = 8
        return a[0]

    def method():  # type: ignore[no-untyped-def]
        a = 8
        return a.add(1)

    def rest(x: tuple[int, int, int]) -> tuple[int, tuple[int, int]]:
        a, *b = x
        return a, b

    with pytest.raises(RuntimeError, match="'int' object is not subscriptable"):
        torch.jit.script(subscript)
    with pytest.raises(RuntimeError, match="'int' object has no attribute or method 'add'"):
        torch.jit.script(method)
    assert torch.jit.script(rest)((1, 2, 3)) == (1, (2, 3))

    @torch.jit.script
    def inferred(a):  # type: ignore[no-untyped-def]
        return a

    with pytest.raises(
        RuntimeError, match=r"'Tensor \(inferred\)'[\S\s]*Inferred 'a' to be of type 'Tensor'"
    ):
        inferred("1")
    with pytest.raises(RuntimeError, match="print doesn't accept any keyword arguments"):
        torch.jit.CompilationUnit("def f(x):\n    print(x, flush=True)\n    return x\n")


class Containers(nn.Module):
    """Goes through containers by name and by place."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleDict({"twice": Double(), "square": Square()})
        self.weights = nn.ParameterList([nn.Parameter(torch.full((2,), float(i))) for i in range(3)])
        self.named = nn.ParameterDict({"a": nn.Parameter(torch.ones(2) * 5)})

    def forward(self, x: Tensor):  # type: ignore[no-untyped-def]
        names: list[str] = []
        for name in self.layers:
            names.append(name)
        for i, weight in enumerate(self.weights):
            x = x + weight * i
        x = self.layers["square"](x) + self.named["a"] + self.weights[-1]
        if "twice" in self.layers and "third" not in self.layers:
            x = self.layers["twice"](x)
        return x, names, len(self.layers)


def test_containers_by_name_and_place() -> None:
    module = Containers()
    (a, names, count), (b, scripted_names, scripted_count) = (
        f(torch.ones(2)) for f in (module, torch.jit.script(module))
    )
    assert torch.equal(a, b) and names == scripted_names and count == scripted_count == 2


def test_functions_with_indices_and_packed_sequences() -> None:
    def pools(x: Tensor):  # type: ignore[no-untyped-def]
        y, places = nn.functional.max_pool2d(x, 2, return_indices=True)
        z, _ = nn.functional.adaptive_max_pool2d(x, (2, 2), return_indices=True)
        one, _ = nn.functional.adaptive_max_pool1d(x[0, 0], 3, return_indices=True)
        return y, places, nn.functional.max_unpool2d(y, places, kernel_size=2), z, one

    def resized(x: Tensor):  # type: ignore[no-untyped-def]
        return nn.functional.interpolate(x, scale_factor=0.5, mode="area"), nn.functional.upsample_bilinear(
            x, size=[6, 6]
        )

    def packed(x: Tensor, lengths: Tensor):  # type: ignore[no-untyped-def]
        sequence = nn.utils.rnn.pack_padded_sequence(x, lengths, enforce_sorted=False)
        return nn.utils.rnn.pad_packed_sequence(sequence)

    def stored(x: Tensor, i: Tensor):  # type: ignore[no-untyped-def]
        x = x.clone()
        x[:, :, i[0], i[1]] = torch.ones(2, 3)
        return x

    x = torch.randn(2, 3, 4, 4)
    for function, args in (
        (pools, (x,)),
        (resized, (x,)),
        (packed, (torch.randn(3, 2, 5), torch.tensor([2, 3]))),
        (stored, (x, torch.tensor([0, 1]))),
    ):
        found, wanted = torch.jit.script(function)(*args), function(*args)
        for a, b in zip(*((v,) if isinstance(v, Tensor) else v for v in (found, wanted)), strict=True):
            assert torch.equal(a, b)
