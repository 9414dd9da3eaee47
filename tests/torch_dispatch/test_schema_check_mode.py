"""SchemaCheckMode: ops are held to what their signatures say of memory."""

from __future__ import annotations

from typing import Any

import pytest

import rushlight as torch
from rushlight._subclasses.schema_check_mode import Aliasing, Mutation, SchemaCheckMode


def test_what_a_signature_says_of_memory() -> None:
    ops: Any = torch.ops.aten
    schema = ops.add_.Tensor._schema
    assert (schema.name, schema.overload_name, ops.t.default._schema.overload_name) == (
        "aten::add_",
        "Tensor",
        "",
    )
    alias: Any = schema.arguments[0].alias_info
    assert (alias.is_write, alias.before_set, alias.after_set) == (True, {"a"}, {"a"})
    assert schema.arguments[1].alias_info is None
    alias = ops.split.Tensor._schema.arguments[0].alias_info
    assert (alias.is_write, alias.before_set, alias.after_set) == (False, {"a"}, {"*"})
    assert ops.split.Tensor._schema.returns[0].alias_info.before_set == set()
    assert ops.add.out._schema.arguments[-1].is_out
    assert repr(schema) == str(schema)


def test_what_ran_is_told() -> None:
    x = torch.rand(3, 3)
    with SchemaCheckMode() as mode:
        x.view(9).add_(1)
        torch.split(x, 2)
    assert mode.ops == ["aten::view", "aten::add_", "aten::split"]
    assert mode.mutated == [Mutation("aten::add_", "input")]
    assert Aliasing("aten::view", "input", "output_0") in mode.aliasing
    with SchemaCheckMode() as mode:
        torch.nn.functional.batch_norm(x, torch.zeros(3), torch.ones(3), training=True)
    assert {m.arg_name for m in mode.mutated} == {"running_mean", "running_var"}


def test_an_op_that_writes_or_shares_against_its_signature() -> None:
    with torch.library._scoped_library("schema_checks", "FRAGMENT") as lib:
        lib.define("written(Tensor x) -> Tensor")
        lib.impl("written", lambda x: x.sin_().clone(), "CPU")
        lib.define("shared(Tensor x) -> Tensor")
        lib.impl("shared", lambda x: x.view(-1), "CPU")
        ops: Any = torch.ops.schema_checks
        assert ops.written.default._schema.name == "schema_checks::written"
        with SchemaCheckMode():
            with pytest.raises(RuntimeError, match="Argument x is not defined as mutable but was mutated"):
                ops.written(torch.ones(3))
            with pytest.raises(RuntimeError, match="x is not defined to alias output but was aliasing"):
                ops.shared(torch.ones(3))
