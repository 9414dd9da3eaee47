"""Overloads of torch.ops.aten that are no rows of their own: `out=`, methods, lists."""

from __future__ import annotations

import pytest

import rushlight as torch
from rushlight.jit.program import schema

aten = torch.ops.aten


def test_results_are_written_where_out_says() -> None:
    a, into = torch.tensor([[1.0, 2.0], [3.0, 5.0]]), torch.empty(0)
    assert aten.cat.out([a, a], 1, out=into) is into and into.shape == (2, 4)
    assert torch.equal(aten.linalg_inv.out(a, out=torch.empty(2, 2)), torch.linalg.inv(a))
    values = aten.linalg_svd.U(a, True, U=torch.empty(0), S=torch.empty(0), Vh=torch.empty(0))[1]
    torch.testing.assert_close(values, torch.linalg.svdvals(a))
    assert torch.equal(aten.special_erf.out(a, out=torch.empty(2, 2)), torch.erf(a))
    with pytest.raises(RuntimeError, match="out="):
        aten.silu.out(a.requires_grad_(), out=torch.empty(0))


def test_methods_that_are_no_rows() -> None:
    a = torch.arange(6.0).reshape(2, 3)
    assert torch.equal(aten.numpy_T(a), a.T) and aten.dim(a) == 2 and aten.size.int(a, 1) == 3
    assert (
        aten.is_floating_point(a) and aten.is_contiguous(a) and aten.promote_types.default(torch.int, a.dtype)
    )
    doubled = aten._foreach_add.List([a], [a])
    assert isinstance(doubled, list) and torch.equal(doubled[0], a * 2)
    assert aten._foreach_mul_.Scalar(doubled, 2.0) is None and torch.equal(doubled[0], a * 4)


def test_nearly_all_overloads_are_computed() -> None:
    absent = set[str]()
    for kind in schema._lines():
        packet = getattr(aten, kind.removeprefix("aten::"), None)
        for name in packet.overloads() if hasattr(packet, "overloads") else ():
            try:
                assert callable(getattr(packet, name).function)
            except NotImplementedError:
                absent.add(f"{kind}.{name}")
    assert len(absent) < 50


class WithMethods(torch.jit.ScriptModule):
    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.full((2,), 3.0))

    @torch.jit.script_method
    def scripted(self, x: torch.Tensor) -> torch.Tensor:
        if torch.jit.is_scripting():
            return x.cos() * self.weight
        return x.sin() * self.weight

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.scripted(x)


def test_a_program_is_of_the_functions_that_script_methods_were() -> None:
    inner = WithMethods()
    module, x = torch.nn.Sequential(inner), torch.randn(2)
    assert module(x).equal(x.cos() * 3)
    program = torch.export.export(module, (x,))
    assert "aten.sin" in program.graph_module.code and "aten.cos" not in program.graph_module.code
    assert program.module()(x).equal(x.sin() * 3)
    assert module(x).equal(x.cos() * 3)
    assert "torch.cos" in inner.scripted.code
