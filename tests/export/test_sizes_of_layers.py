"""Sizes that layers of other people's models make: padding, multiples, caches, indices, ops nobody reads."""

from __future__ import annotations

import math
from typing import Any

import pytest

import rushlight as torch
import rushlight.nn.functional as F
from rushlight.export import Dim, export
from rushlight.export.errors import UserError


def _targets(program: Any) -> list[str]:
    return [str(n.target) for n in program.graph.nodes if n.op == "call_function"]


def _same(module: torch.nn.Module, program: Any, *shapes: tuple[int, ...]) -> None:
    for shape in shapes:
        x = torch.randn(shape)
        for run in (program, program.run_decompositions()):
            torch.testing.assert_close(run.module()(x), module(x))


class Padded(torch.nn.Module):
    """Padding as "same" convolutions of TensorFlow's pad."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        high = x.shape[-2]
        return F.pad(x, [0, 0, 0, max((math.ceil(high / 2) - 1) * 2 + 3 - high, 0)])


class Patches(torch.nn.Module):
    """Patches of sizes that have to be multiples."""

    def __init__(self) -> None:
        super().__init__()
        self.proj = torch.nn.Conv2d(3, 4, 4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        torch._assert(x.shape[2] % 4 == 0, "no multiple")
        torch._assert(x.shape[3] % 4 == 0, "no multiple")
        found = self.proj(x).flatten(2).transpose(1, 2)
        first = found.new_zeros(1, 1, 4).expand(found.shape[0], -1, -1)
        found = torch.cat([first, found], 1)
        return F.scaled_dot_product_attention(found, found, found)


class Cached(torch.nn.Module):
    """A module that keeps what it has computed in a dict of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.bias, self.kept = torch.nn.Parameter(torch.ones(3)), dict[str, Any]()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        key = str(x.device)
        if key not in self.kept:
            self.kept[key] = self.bias * 2
        return x + self.kept[key]


@pytest.mark.parametrize(
    ("made", "given", "dims", "other"),
    [
        (Padded, (2, 3, 8, 8), (0, 2), [(3, 3, 9, 8), (4, 3, 12, 8)]),
        (Patches, (2, 3, 8, 16), (0, 2, 3), [(3, 3, 12, 8), (2, 3, 4, 20)]),
        (Cached, (2, 3), (0,), [(5, 3)]),
        (lambda: torch.nn.MaxPool2d(3, 2, 1, ceil_mode=True), (2, 3, 8, 8), (0, 2), [(3, 3, 11, 8)]),
        (lambda: torch.nn.ConvTranspose2d(3, 2, 3, 2, 1, 1), (2, 3, 8, 8), (0, 2), [(3, 3, 11, 8)]),
        (lambda: torch.nn.Unfold(3), (2, 3, 8, 8), (0, 2), [(3, 3, 11, 8)]),
        (lambda: torch.nn.PixelShuffle(2), (2, 4, 8, 8), (0, 2), [(3, 4, 11, 8)]),
    ],
)
def test_sizes_may_change(made: Any, given: Any, dims: Any, other: Any) -> None:
    torch.manual_seed(0)
    module = made()
    program = export(module, (torch.randn(given),), dynamic_shapes=(dict.fromkeys(dims, Dim.AUTO),))
    assert len(program.range_constraints) == len(dims)
    _same(module, program, *other)


def test_numbers_in_tensors_may_be_places_in_another_input() -> None:
    """A graph's edges are places of nodes: of fewer nodes than there were they are none."""

    class Layer(torch.nn.Module):
        def forward(self, x: torch.Tensor, edges: torch.Tensor) -> torch.Tensor:
            source, to = edges[0], edges[1]
            keep = source != to
            return torch.zeros_like(x).index_add(0, to[keep], x.index_select(0, source[keep]))

    x, edges = torch.randn(6, 4), torch.tensor([[0, 5, 3, 3], [1, 2, 5, 3]])
    program = export(Layer(), (x, edges), dynamic_shapes=({0: Dim.AUTO}, {1: Dim.AUTO}))
    for nodes, more in ((6, edges), (9, torch.tensor([[0, 8, 3], [7, 2, 3]]))):
        given = torch.randn(nodes, 4)
        torch.testing.assert_close(program.module()(given, more), Layer()(given, more))


def test_ops_that_nobody_reads_are_told() -> None:
    """As in PyTorch, but for numbers and constants; run_decompositions() leaves them out."""

    class Unread(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            torch.relu(x * 2)
            torch.tensor([1.0])
            x.detach()
            x.shape[0] * 2 + 1
            x.max(-1)
            return x * 3

    program = export(Unread(), (torch.ones(3, 4),), dynamic_shapes=({0: Dim.AUTO},))
    assert _targets(program) == [
        "aten.mul.Tensor",
        "aten.relu.default",
        "aten.max.dim",
        "<built-in function getitem>",
        "<built-in function getitem>",
        "aten.mul.Tensor",
    ]
    assert _targets(program.run_decompositions()) == ["aten.mul.Tensor"]


def test_slices_of_all_are_told_as_pytorch_tells_them() -> None:
    """By a slice alone, and of a size that changes; brackets that change nothing are an alias."""

    class Cut(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> Any:
            return x[:, :] * 2, x[:] + 1, x[:, 1:], x[..., :] - 1, x[:, None, :]

    for open_dims, wanted in (
        (
            {0: Dim.AUTO},
            ["slice", "mul", "slice", "add", "slice", "slice", "alias", "sub", "slice", "unsqueeze"],
        ),
        ({1: Dim.AUTO}, ["slice", "mul", "slice", "add", "slice", "slice", "sub", "unsqueeze", "slice"]),
        ({}, ["alias", "mul", "slice", "add", "slice", "alias", "sub", "unsqueeze"]),
    ):
        program = export(Cut(), (torch.randn(3, 4),), dynamic_shapes=(open_dims,))
        for told in (program, program.run_decompositions()):
            assert [t.split(".")[1] for t in _targets(told)] == wanted
            x = torch.randn([5 if d in open_dims else n for d, n in enumerate((3, 4))])
            torch.testing.assert_close(told.module()(x), Cut()(x))


class Parts(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> Any:
        image = x[:, None, None].expand(-1, 1, 4, -1)
        return [part.sum(1) for part in x.chunk(4, 1)], F.pixel_unshuffle(image, 2)


def test_there_are_as_many_chunks_as_when_recorded() -> None:
    program = export(Parts(), (torch.randn(2, 16),), dynamic_shapes=({1: Dim.AUTO},))
    for size in (8, 14, 20):
        x = torch.randn(2, size)
        torch.testing.assert_close(program.module()(x), Parts()(x))
    for size in (6, 9):  # of 2 and 3, 3 parts
        with pytest.raises(AssertionError, match=r"Guard failed: .*\(3 \+ x.size\(\)\[1\]\) // 4"):
            program.module()(torch.randn(2, size))
    with pytest.raises(AssertionError, match="Guard failed: x.size"):
        program.module()(torch.randn(2, 15))  # nothing may remain when it is halved


def test_a_dim_has_no_sizes_of_which_there_are_fewer_chunks() -> None:
    class Chunks(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> list[torch.Tensor]:
            return [part.sum() for part in x.chunk(4)]

    def exported(size: int, low: int, high: int) -> Any:
        return export(Chunks(), (torch.ones(size),), dynamic_shapes=({0: Dim("n", min=low, max=high)},))

    for size, low, high, fits in ((16, 7, 64, "min=10, max=64"), (7, 4, 64, "min=7, max=8")):
        with pytest.raises(UserError, match=rf"Constraints violated \(n\)(?s:.*){fits}"):
            exported(size, low, high)
    module = exported(16, 10, 64).module()
    assert [len(module(torch.ones(n))) for n in range(10, 65)] == [4] * 55


def test_steps_of_a_layer_that_are_taken_apart_are_of_one_number() -> None:
    """Of a changing number they are a program as long as they are not taken apart."""
    layer, x = torch.nn.LSTM(2, 3, batch_first=True), torch.randn(2, 4, 2)
    program = export(layer, (x,), dynamic_shapes=({1: Dim("steps")},))
    longer = torch.randn(2, 6, 2)
    torch.testing.assert_close(program.module()(longer)[0], layer(longer)[0])
    with pytest.raises(UserError, match="steps"):
        program.run_decompositions()


def test_functions_of_math_make_sizes_constants() -> None:
    class Root(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x[: int(math.sqrt(x.shape[0]))]

    program = export(Root(), (torch.randn(12),), dynamic_shapes=({0: Dim.AUTO},))
    assert program.module()(torch.ones(12)).shape == (3,)
    with pytest.raises(AssertionError, match="Guard failed"):
        program.module()(torch.ones(17))


def test_a_dict_may_hold_itself() -> None:
    class Cached(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.known: dict[str, Any] = {"inner": {}}
            self.known["inner"]["outer"] = self.known

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.known["inner"]["x"] = x + 1
            return self.known["inner"]["x"] * 2  # type: ignore[no-any-return]

    module = Cached()
    program = export(module, (torch.ones(3),), dynamic_shapes=({0: Dim.AUTO},))
    assert list(module.known["inner"]) == ["outer"]
    _same(module, program, (3,), (5,))
