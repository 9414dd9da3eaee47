"""A trace tells a call in PyTorch's ops, and gives the same numbers; so do torch.export's programs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import rushlight as torch
from rushlight.nn import functional as F

X = torch.arange(24.0).reshape(1, 2, 3, 4) / 7
# What runs, and the op in PyTorch's graph of it (recorded from 2.13).
CASES = {
    "upsample_nearest2d": lambda x: F.interpolate(x, scale_factor=2, mode="nearest"),
    "upsample_bilinear2d": lambda x: F.interpolate(x, scale_factor=2.0, mode="bilinear", align_corners=False),
    "upsample_bicubic2d": lambda x: F.interpolate(x, size=(5, 7), mode="bicubic"),
    "adaptive_avg_pool2d": lambda x: F.interpolate(x, size=(2, 2), mode="area"),
    "grid_sampler": lambda x: F.grid_sample(x, torch.zeros(1, 4, 4, 2) + 0.1, align_corners=False),
    "unfold": lambda x: x.unfold(2, 2, 1),
    "im2col": lambda x: F.unfold(x, (2, 2)),
    "einsum": lambda x: torch.einsum("abcd,abce->ade", x, x),
    "tensordot": lambda x: torch.tensordot(x, x, dims=([1, 2], [1, 2])),
    "linalg_vector_norm": lambda x: F.normalize(x, dim=1),
    "fft_fft": lambda x: torch.fft.fft(x).abs(),
    "linalg_inv": lambda x: torch.linalg.inv(x[0, :, :2, :2] + torch.eye(2)),
    "cdist": lambda x: torch.cdist(x[0], x[0]),
    "split_with_sizes": lambda x: torch.stack(x.split([1, 1], 1)),
    "gather": lambda x: x.gather(1, torch.zeros(1, 1, 3, 4, dtype=torch.long)),
    "scatter": lambda x: x.scatter(1, torch.zeros(1, 1, 3, 4, dtype=torch.long), 1.0),
    "sub": lambda x: torch.sub(x, x * 2, alpha=3),
    "softmax": lambda x: F.softmax(x, dim=-1, dtype=torch.float64),
    "layer_norm": lambda x: F.layer_norm(x, (4,)),
    "pad": lambda x: F.pad(x, (1, 1, 2, 0), mode="reflect"),
    "dropout": lambda x: F.dropout(x, 0.5, training=False),
    "embedding": lambda x: F.embedding(x.long() % 3, torch.ones(3, 2)),
    "max_pool2d_with_indices": lambda x: F.max_pool2d(x, 2, return_indices=True)[1],
    "adaptive_max_pool2d": lambda x: F.adaptive_max_pool2d(x, 2),
    "linalg_matrix_norm": lambda x: torch.norm(x[0, 0], "nuc"),
    "rrelu": lambda x: F.rrelu(x),
    "empty_strided": lambda x: torch.empty_strided([2, 2], [2, 1]).zero_() + x[0, 0, 0, 0],
    "stft": lambda x: torch.stft(x[0, 0, 0], 4, window=torch.ones(4), return_complex=True),
    "squeeze": lambda x: x.squeeze(),
    "zero_": lambda x: x.clone().zero_(),
    "meshgrid": lambda x: torch.meshgrid(x[0, 0, 0], x[0, 0, 0], indexing="ij")[0],
}


class _Module(torch.nn.Module):
    def __init__(self, function) -> None:
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


@pytest.mark.parametrize("name", CASES)
def test_a_trace_holds_pytorchs_op(name):
    function = CASES[name]
    traced = torch.jit.trace(function, (X,), check_trace=False)
    assert f"aten::{name}(" in str(traced.graph) and "CallFunction" not in str(traced.graph)
    torch.testing.assert_close(traced(X), function(X), rtol=0, atol=0)
    assert f"torch.{name}(" in traced.code


# zero_() is heard as memory that is filled: the program says fill_(0).
@pytest.mark.parametrize("name", sorted(CASES.keys() - {"zero_"}))
def test_an_exported_program_holds_the_same_op(name):
    program = torch.export.export(_Module(CASES[name]), (X,))
    assert any(str(node.target).startswith(f"aten.{name}.") for node in program.graph.nodes)
    torch.testing.assert_close(program.module()(X), CASES[name](X), rtol=0, atol=0)


def linear_algebra(x):
    return torch.linalg.norm(x, dim=1), torch.linalg.inv(x[:, :3] + torch.eye(3)), torch.linalg.svd(x)[1]


def spectra(x):
    return torch.fft.fft(x).abs() + torch.special.expit(x)


def labels(x):
    return torch.einsum("ij,kj->ik", x, x)


@pytest.mark.parametrize("function", [linear_algebra, spectra, labels])
def test_script_knows_the_functions_of_torchs_modules(function):
    x = torch.arange(12.0).reshape(3, 4) / 5 + 0.1
    torch.testing.assert_close(torch.jit.script(function)(x), function(x))


def test_script_leaves_out_an_embedding_bags_offsets():
    bag = torch.nn.EmbeddingBag(5, 2)
    index = torch.tensor([[1, 2], [0, 4]])
    torch.testing.assert_close(torch.jit.script(bag)(index), bag(index))


def test_a_node_prints_as_one_line():
    graph = torch.jit.trace(lambda x: (x + 1) * x, (torch.ones(2),))._function.block
    assert all("\n" not in repr(node) and len(repr(node)) < 200 for node in graph.nodes)


def test_an_upsample_op_takes_sizes_and_scales_at_once():
    # The sum of squares that PyTorch 2.13 gives.
    x = torch.arange(64.0).reshape(2, 2, 4, 4)
    found = torch.ops.aten._upsample_bilinear2d_aa(x, (6, 6), False, 1.7, None)
    assert abs(float(found.double().pow(2).sum()) - 184031.5233) < 0.1


_SAMPLES = torch.full((1, 2, 2), 0.5)


@pytest.mark.parametrize(
    ("function", "shape"),
    [
        (lambda x: torch.lu(x, get_infos=True), (3, 3)),
        (lambda x: torch.unique_consecutive(x, return_counts=True), (6,)),
        (lambda x: torch.nonzero(x > 0, as_tuple=True), (3, 4)),
        (lambda x: F.fractional_max_pool2d(x, 3, output_size=(3, 3), _random_samples=_SAMPLES), (1, 2, 8, 8)),
        (lambda x: F.conv_transpose2d(x, torch.ones(2, 3, 2, 2), stride=2, output_padding=1), (1, 2, 4, 4)),
        (lambda x: F.conv1d(x, torch.ones(4, 1, 3), groups=2, padding=1, dilation=2), (1, 2, 9)),
    ],
)
def test_calls_whose_op_has_another_shape(function: Any, shape: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    x = torch.randn(shape)
    found, wanted = torch.jit.trace(function, (x,))(x), function(x)
    pairs = zip(found, wanted, strict=True) if isinstance(wanted, tuple) else [(found, wanted)]
    for a, b in pairs:
        torch.testing.assert_close(a, b)


def lists_of_tensors(x: torch.Tensor) -> tuple[list[torch.Tensor], torch.Tensor]:
    return list(x.T), x.new_zeros(torch.Size([x.size(0), 2])).type(torch.float64)


def refined(x: list[torch.Tensor] | torch.Tensor | None) -> torch.Tensor | None:
    if x is None or isinstance(x, torch.Tensor):
        return x
    return x[0]


def otherwise(x: tuple[int, int] | int | None) -> int:
    if isinstance(x, tuple):
        return x[1]
    return 0 if x is None else x


class HoldsAnOp(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.combine = torch.sum

    def forward(self, x):
        if hasattr(self, "combine"):
            return self.combine(x, dim=0)
        return x


def test_script_tells_alternatives_apart():
    x = torch.arange(6.0).reshape(2, 3)
    columns, zeros = torch.jit.script(lists_of_tensors)(x)
    assert [c.tolist() for c in columns] == x.T.tolist() and zeros.dtype is torch.float64
    found = torch.jit.script(refined)
    assert found(None) is None and found(x) is not None and torch.equal(found([x]), x)
    assert [torch.jit.script(otherwise)(v) for v in ((1, 2), 3, None)] == [2, 3, 0]
    assert torch.equal(torch.jit.script(HoldsAnOp())(x), x.sum(0))
    assert torch.jit.script(aliases)(x).shape == (6, 3)


def aliases(x: torch.Tensor) -> torch.Tensor:
    return torch.concatenate([torch.arctan(x), torch.absolute(x), torch.clip(x, 0, 1)])


@dataclass
class Pair:
    x: torch.Tensor
    n: int = 3


def of_pairs(x: torch.Tensor):
    return Pair(x, 4).x + Pair(x).n, Pair(x).n


def test_script_makes_dataclasses():
    torch.jit.script(Pair)
    found, n = torch.jit.script(of_pairs)(torch.ones(2))
    assert found.tolist() == [4.0, 4.0] and n == 3


def smooth(x: torch.Tensor) -> torch.Tensor:
    return F.interpolate(x, size=(4, 4), mode="bilinear", antialias=True)


def exact(x: torch.Tensor) -> torch.Tensor:
    return F.interpolate(x, scale_factor=2.0, mode="nearest-exact")


def test_scaled_images_are_as_outside():
    x = torch.arange(72.0).reshape(1, 2, 6, 6).sin()
    for function in (smooth, exact):
        torch.testing.assert_close(torch.jit.script(function)(x), function(x))
    for options in ({"size": (4, 4)}, {"scale_factor": 2}, {"scale_factor": (1.5, 1)}):
        for mode in ("nearest", "nearest-exact", "bilinear"):
            for smoothed in (False, True)[: 1 + (mode == "bilinear")]:

                def scaled(x, options=options, mode=mode, smoothed=smoothed):
                    return F.interpolate(x, mode=mode, antialias=smoothed, **options)

                torch.testing.assert_close(torch.jit.trace(scaled, (x,))(x), scaled(x))
    values, places = F.max_pool2d(x, 2, return_indices=True)

    def back(values, places):
        return F.max_unpool2d(values, places, 2)

    assert torch.equal(torch.jit.trace(back, (values, places))(values, places), back(values, places))


def test_functions_of_methods_are_traced():
    x = torch.tensor([5.0, 7.0])
    for function in (
        lambda x: torch.zero_(x * 1),
        lambda x: torch.fill_(x * 1, 3.0),
        lambda x: torch.detach(x) + 1,
    ):
        traced = torch.jit.trace(function, (torch.ones(2),))
        assert traced(x).tolist() == function(x).tolist()
    assert torch.vmap(torch.detach)(x).tolist() == x.tolist()


def test_sparse_tensors_of_traced_parts() -> None:
    x, y = torch.eye(3) * 2, torch.arange(9.0).reshape(3, 3)
    for function in (
        lambda d: d.to_sparse_csr() @ d,
        lambda d: torch.sparse.softmax(d.to_sparse(), 1).to_dense(),
        lambda d: (d.to_sparse_csc() + d.to_sparse_csc()).to_dense(),
    ):
        traced = torch.jit.trace(function, x, check_trace=False)
        found, wanted = (v if v.layout is torch.strided else v.to_dense() for v in (traced(y), function(y)))
        assert torch.equal(found, wanted) and type(found) is torch.Tensor


def test_ops_of_several_steps_and_of_no_form() -> None:
    weight = torch.randn(5, 3)
    for function, given, other in (
        (lambda x: torch.linalg.vander(x), torch.arange(3.0), torch.arange(3.0) + 1),
        (lambda i: torch.unravel_index(i, (3, 4))[1], torch.tensor([1, 5]), torch.tensor([7, 2])),
        (
            lambda w: torch.nn.functional.embedding_bag(torch.tensor([1, 2, 3, 4]), w, torch.tensor([0, 2])),
            weight,
            weight + 1,
        ),
    ):
        traced = torch.jit.trace(function, given)
        assert torch.equal(traced(other), function(other))


def test_parts_of_composite_ops_are_not_mistaken_for_public_ones() -> None:
    x = torch.randn(3, 4)
    traced = torch.jit.trace(lambda x: torch.svd_lowrank(x, q=2)[0], x, check_trace=False)
    assert traced(x).shape == (3, 2)
    one = torch.ones(3, 2, 2, 2)
    for program in (
        torch.jit.trace(lambda x: torch.nn.functional.dropout3d(x, 0.5, True), one, check_trace=False),
        torch.jit.script(dropped),
    ):
        found = program(one).flatten(1)
        assert all(row.unique().numel() == 1 for row in found)  # whole channels


def dropped(x: torch.Tensor) -> torch.Tensor:
    """An example without a batch."""
    return torch.nn.functional.dropout3d(x, 0.5, True)


def test_normalize_writes_into_what_it_is_given() -> None:
    def into(x: torch.Tensor) -> torch.Tensor:
        found = torch.empty(2, 3)
        F.normalize(x, dim=1, out=found)
        return found

    x = torch.arange(6.0).reshape(2, 3)
    assert torch.equal(torch.jit.script(into)(x), F.normalize(x, dim=1))


NUMPY_NUMBERS = {
    "permute": lambda x: x.permute(tuple(np.argsort([1, 0]))),
    "reshape": lambda x: torch.reshape(x, list(np.array([3, 2]))),
    "unfold": lambda x: x.unfold(np.int64(1), np.int64(2), np.int64(1)),
    "sum": lambda x: torch.sum(x, tuple(np.array([0, 1]))),
    "pad": lambda x: F.pad(x, list(np.array([1, 1]))),
    "full": lambda x: torch.full((np.int64(2), 2), np.float64(2.0)) + x.sum(),
    "an index": lambda x: x[np.int64(1)],
    "bounds": lambda x: x[np.int64(0) : np.int64(1)],
    "a list": lambda x: x[[np.int64(1), np.int64(0)]],
    "an array": lambda x: x[np.array([1, 0, 1])],
    "a mask": lambda x: x[:, np.array([True, False, True])],
}


@pytest.mark.parametrize("name", NUMPY_NUMBERS)
def test_numpys_numbers_are_constants(name: str) -> None:
    x, run = torch.arange(6.0).view(2, 3), NUMPY_NUMBERS[name]
    traced = torch.jit.trace(run, x)
    torch.testing.assert_close(traced(x + 1), run(x + 1))
    assert "PythonOp" not in str(traced.graph)
