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
    code = "import functorch, torch; print(functorch.vmap is torch.func.vmap)"
    found = subprocess.run(
        [sys.executable, "-m", "rushlight", "-c", code], capture_output=True, text=True, check=True
    )
    assert found.stdout == "True\n"
