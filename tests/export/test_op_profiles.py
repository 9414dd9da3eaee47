"""draft_export notes what programs' ops give; fake functions are made of that."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import rushlight as torch
from rushlight._library.fake_profile import MissingOpProfile, TensorMetadata, unsafe_generate_fake_kernels
from rushlight._subclasses.fake_tensor import FakeTensorMode
from rushlight.export import Dim, _draft_export, draft_export
from rushlight.export._draft_export import FailureType
from rushlight.export.errors import UserError, UserErrorType
from rushlight.fx.experimental.symbolic_shapes import ShapeEnv


@pytest.fixture
def pick() -> Iterator[Any]:
    with torch.library._scoped_library("profiled", "FRAGMENT"):

        @torch.library.custom_op("profiled::pick", mutates_args=())
        def pick(x: torch.Tensor, at: torch.Tensor, times: int = 1) -> list[torch.Tensor]:
            return [x[at] * times, x.double().sum()]

        yield pick


class Model(torch.nn.Module):
    def forward(self, x: Any, at: Any) -> Any:
        return torch.ops.profiled.pick(x, at)[0] + torch.ops.profiled.pick(x, at, times=2)[0]


def test_profiles_stand_in_for_fake_functions(pick: Any) -> None:
    given = torch.randn(3, 4), torch.tensor([0, 2])
    program = draft_export(Model(), given)
    report = program._report
    assert [f.failure_type for f in report.failures] == [FailureType.MISSING_FAKE_KERNEL]
    assert "unsafe_generate_fake_kernels" in str(report)
    ((name, profiles),) = report.op_profiles.items()
    assert name == "profiled.pick.default" and len(profiles) == 2
    plain = next(p for p in profiles if len(p.args_profile) == 2)
    cpu = torch.device("cpu"), torch.strided
    assert plain.out_profile == (
        TensorMetadata(2, torch.float32, *cpu),
        TensorMetadata(0, torch.float64, *cpu),
    )
    mode = FakeTensorMode(allow_non_fake_inputs=True, shape_env=ShapeEnv())
    with unsafe_generate_fake_kernels(report.op_profiles):
        with mode:
            rows, whole = torch.ops.profiled.pick(*given)
            assert rows.dtype is torch.float32 and whole.dtype is torch.float64 and whole.dim() == 0
            assert str(rows.shape) == "torch.Size([u0, u1])"
            with pytest.raises(MissingOpProfile, match="no profiles match the given inputs"):
                torch.ops.profiled.pick(given[0].double(), given[1])
        other = draft_export(Model(), (given[0].double(), given[1]))
    assert len(other._report.op_profiles[name]) == 2 and "Meta" not in pick._kernels


def test_symbolic_sizes_of_fake_functions(pick: Any) -> None:
    @pick.register_fake
    def _(x: Any, at: Any, times: int = 1) -> Any:
        rows = torch.library.get_ctx().new_dynamic_size()
        return [x.new_empty((rows, x.shape[1])), x.new_empty((rows * times,))]

    given = torch.randn(3, 4), torch.tensor([0, 2])
    with FakeTensorMode(allow_non_fake_inputs=True, shape_env=ShapeEnv()):
        assert [str(t.shape) for t in pick(*given)] == ["torch.Size([u0, 4])", "torch.Size([u0])"]
        with pytest.raises(RuntimeError):  # twice a size that nobody knows is no size that this mode has
            pick(*given, 2)
    reasons = [f.data["reason"] for f in draft_export(Model(), given)._report.failures]
    assert reasons == ["Dtypes torch.float64 and torch.float32 are not equal!"]


def test_drafts_open_dims_and_ends_of_slices() -> None:
    class Slices(torch.nn.Module):
        def forward(self, x: Any, n: Any) -> Any:
            found = x
            for number in (n, n + 1):
                if number.item() > 1:
                    found = found + 1
            return torch.cat([found, x])[: n.item()]

    given = torch.arange(4.0), torch.tensor(3)
    program = draft_export(Slices(), given, dynamic_shapes={"x": {0: Dim.DYNAMIC}, "n": None})
    first = program._report.failures[0]
    assert first.failure_type is FailureType.DATA_DEPENDENT_ERROR and first.data["occurrences"] == 2
    assert program.module()(torch.arange(5.0), torch.tensor(2)).tolist() == [2, 3]
    with pytest.raises(RuntimeError, match="Runtime assertion failed"):
        program.module()(torch.arange(2.0), torch.tensor(9))
    inputs = program.graph.find_nodes(op="placeholder")
    assert inputs[0].meta["val"].real_tensor is given[0]


def test_a_draft_opens_dims_that_contradict(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[Any] = []
    real = _draft_export._export

    def refuses_once(*args: Any, dynamic_shapes: Any, **options: Any) -> Any:
        tried.append(dynamic_shapes["input"][0])
        if len(tried) == 1:
            raise UserError(UserErrorType.CONSTRAINT_VIOLATION, "contradicts")
        return real(*args, dynamic_shapes=dynamic_shapes, **options)

    monkeypatch.setattr(_draft_export, "_export", refuses_once)
    shapes = {"input": {0: Dim("n", min=2, max=9)}}
    program = draft_export(torch.nn.Identity(), (torch.ones(3),), dynamic_shapes=shapes)
    assert "AUTO" in repr(tried[1]) and (tried[1].min, tried[1].max) == (2, 9)
    assert program._report.failures[0].failure_type is FailureType.GUARD_ADDED
