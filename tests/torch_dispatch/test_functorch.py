"""functorch: modules as functions of their state, under its own name in a launched program."""

from __future__ import annotations

import subprocess
import sys

import pytest

import rushlight as torch
from rushlight.functorch import combine_state_for_ensemble, make_functional, make_functional_with_buffers
from rushlight.functorch.experimental import chunk_vmap, control_flow


def test_modules_as_functions():
    layer, x = torch.nn.Linear(3, 2), torch.ones(4, 3)
    function, params = make_functional(layer)
    assert torch.equal(function(params, x), layer(x)) and all(p.requires_grad for p in params)
    grads = torch.func.grad(lambda p: function(p, x).sum())(params)
    assert [tuple(g.shape) for g in grads] == [(2, 3), (2,)]
    norm = torch.nn.BatchNorm1d(3).eval()
    function, params, buffers = make_functional_with_buffers(norm)
    assert torch.equal(function(params, buffers, x), norm(x)) and len(buffers) == 3
    with pytest.raises(RuntimeError, match="`model` has buffers"):
        make_functional(norm)


def test_ensembles():
    models = [torch.nn.Linear(3, 2) for _ in range(3)]
    function, params, buffers = combine_state_for_ensemble(models)
    found = torch.vmap(function, in_dims=(0, 0, None))(params, buffers, torch.ones(4, 3))
    assert torch.allclose(found[1], models[1](torch.ones(4, 3)), atol=1e-6)
    with pytest.raises(RuntimeError, match="same class"):
        combine_state_for_ensemble([models[0], torch.nn.Identity()])


def test_parts_and_branches():
    x = torch.arange(6.0).reshape(3, 2)
    assert torch.equal(chunk_vmap(lambda v: v * 2, chunks=2)(x), x * 2)
    assert torch.equal(control_flow.map(lambda v, y: v + y, x, torch.ones(2)), x + 1)
    assert control_flow.cond(torch.tensor(True), lambda v: v, lambda v: -v, (x,)) is x


def test_a_launched_program_imports_functorch():
    code = "import functorch, torch; print(functorch.vmap(torch.sin)(torch.zeros(1)).item() == 0)"
    found = subprocess.run(
        [sys.executable, "-m", "rushlight", "-c", code], capture_output=True, text=True, check=True
    )
    assert found.stdout == "True\n"


def test_running_transforms_are_told():
    from rushlight._functorch import interpreters as told

    seen = []

    def func(x):
        seen.append(
            (
                told.is_batchedtensor(x),
                told.maybe_get_bdim(x),
                told.maybe_get_level(x),
                told.current_level(),
                told.peek_interpreter_stack().key(),
                told.get_unwrapped(x).shape,
            )
        )
        return x * 2

    torch.vmap(func)(torch.ones(3, 2))
    assert seen == [(True, 0, 1, 1, told.TransformType.Vmap, (3, 2))]
    assert told.peek_interpreter_stack() is None and told.maybe_current_level() is None
    assert told.dlevel(torch.ones(2)) == 0 and not told.is_functorch_wrapped_tensor(torch.ones(2))
    level = told._vmap_increment_nesting(3, "error")
    inside = told._add_batch_dim(torch.ones(2, 3), 1, level)
    assert inside.shape == (2,) and told._remove_batch_dim(inside, level, 3, 0).shape == (3, 2)
    assert told._vmap_decrement_nesting() == level


def test_dims_that_are_joined_and_split():
    from rushlight._functorch.interpreters import reshape_dim_into, reshape_dim_outof

    x = torch.arange(24).reshape(2, 3, 4)
    assert torch.equal(reshape_dim_into(0, 1, x), x.movedim(0, 1).reshape(3, 8))
    assert torch.equal(reshape_dim_outof(-1, 2, x), x.reshape(2, 3, 2, 2))
    assert reshape_dim_outof(-1, 6, torch.ones(2, 0)).shape == (2, 6, 0)


def test_restored_vmap():
    from rushlight.func.vmapping import restore_vmap

    x, y = torch.ones(2, 3), torch.ones(4)
    found, dims = restore_vmap(lambda a, b: (a.sum(), b * 2, 5), (0, None), 2, "error")(x, y)
    assert dims == (0, None, None) and found[0].tolist() == [3, 3] and found[2] == 5


def test_ops_with_rules_for_transforms():
    from rushlight._functorch import interpreters as told
    from rushlight._ops import DispatchKey, HigherOrderOperator

    class Sum(HigherOrderOperator):
        def __init__(self):
            super().__init__("mysum")

    mysum = Sum()
    with pytest.raises(NotImplementedError, match="no kernel"):
        mysum(torch.ones(2), 0)

    @mysum.py_impl(told.TransformType.Vmap)
    def rule(interpreter, x, dim):
        with interpreter.lower():
            return told._add_batch_dim(mysum(told.get_unwrapped(x), dim + 1), 0, interpreter.level())

    mysum.py_impl(DispatchKey.AutogradCPU)(lambda x, dim: x.sum(dim))
    x = torch.arange(24.0).reshape(2, 3, 4)
    assert torch.equal(torch.vmap(mysum, (0, None))(x, 0), x.sum(1))
    assert torch.equal(torch.vmap(torch.vmap(mysum, (0, None)), (0, None))(x, 0), x.sum(2))
    assert torch.equal(torch.func.grad(mysum)(torch.ones(3), 0), torch.ones(3))
    with pytest.raises(RuntimeError, match="subclass"):
        HigherOrderOperator("bare")
