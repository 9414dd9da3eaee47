"""Hooks of nodes and modules, calls with other tensors, parametrizations: what is refused, as in PyTorch."""

import pytest

import rushlight as torch
from rushlight import nn
from rushlight.nn.utils import parametrize
from rushlight.nn.utils.stateless import _functional_call


@pytest.mark.parametrize("register", ["register_backward_hook", "register_full_backward_pre_hook"])
def test_hooks_give_as_many_gradients(register):
    module, x = nn.Sigmoid(), torch.randn(5, 5, requires_grad=True)
    for count, change in ((0, lambda grads: grads[:-1]), (2, lambda grads: grads + (torch.ones(2),))):

        def hook(module, *grads, change=change):
            return change(grads[0])

        with getattr(module, register)(hook):
            with pytest.raises(RuntimeError, match=f"got {count}, but expected 1"):
                module(x).sum().backward()


def test_nodes_hooks_give_as_many_gradients():
    y = torch.ones(2, requires_grad=True) * 2
    y.grad_fn.register_prehook(lambda grads: ())
    with pytest.raises(RuntimeError, match="incorrect number of values .got 0, but expected 1"):
        y.sum().backward()


def test_a_further_parametrizations_inverse_is_checked():
    class Pair(nn.Module):
        def forward(self, x):
            return x

        def right_inverse(self, x):
            return x, x

    class Bools(Pair):
        def right_inverse(self, x):
            return x.bool()

    module = nn.Linear(2, 2)
    parametrize.register_parametrization(module, "weight", nn.Identity())
    for wrong, words in ((Pair, "right_inverse must return a tensor"), (Bools, "must have the same dtype")):
        with pytest.raises(ValueError, match=words):
            parametrize.register_parametrization(module, "weight", wrong())
    assert len(module.parametrizations.weight) == 1

    class Doubled(nn.Module):
        def forward(self, x):
            return x * 2

        def right_inverse(self, x):
            seen.append(x)
            raise NotImplementedError

    seen = []
    parametrize.register_parametrization(module, "weight", Doubled())
    assert torch.equal(seen[0], module.weight)  # the inverse is tried on the parametrization's result


def test_calls_leave_no_parameter_behind():
    module, extra = nn.Linear(1, 1), nn.Parameter(torch.ones(1))
    _functional_call(module, {"weight": torch.ones(1, 1), "extra": extra}, torch.ones(1, 1))
    assert [name for name, _ in module.named_parameters()] == ["weight", "bias"]
    with pytest.raises(ValueError, match=r"\['weight'\] appeared in multiple dictionaries"):
        torch.func.functional_call(
            module, ({"weight": extra, "bias": extra}, {"weight": extra}), torch.ones(1)
        )
    with pytest.raises(RuntimeError, match="can't be used with Jitted modules"):
        torch.func.functional_call(torch.jit.script(module), {}, torch.ones(1, 1))
