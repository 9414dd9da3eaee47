"""Views, leaves and hooks where nothing is recorded; results are those of PyTorch 2.13."""

from collections import OrderedDict

import pytest

import rushlight as torch
from rushlight import nn
from rushlight.nn.modules import module as module_file

_LEAF_VIEW = "a view of a leaf Variable that requires grad is being used in an in-place operation"


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.sum(),
        lambda x: x.mean(),
        lambda x: (x * x).sum(),
        lambda x: x.prod(),
        lambda x: x.norm(),
        lambda x: x.max(),
        lambda x: x.amin(),
        lambda x: x.logsumexp(0),
        lambda x: x.var(),
        lambda x: x[0],
        lambda x: x @ x,
        lambda x: x.view(3, 1).sum(0, keepdim=True).sum(),
        lambda x: nn.functional.mse_loss(x, x * 2),
    ],
)
def test_batched_gradients_of_a_number(function):
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    batch = torch.tensor([1.0, -2.0, 3.5])
    (one,) = torch.autograd.grad(function(x), x)
    (got,) = torch.autograd.grad(function(x), x, batch, is_grads_batched=True)
    assert torch.allclose(got, batch[:, None] * one)
    y = function(x)
    (got,) = torch.vmap(lambda g: torch.autograd.grad(y, x, g))(batch)
    assert torch.allclose(got, batch[:, None] * one)


def test_a_kept_gradient_is_that_of_the_written_tensor():
    x = torch.ones(3, requires_grad=True)
    a = x * 1
    a.retain_grad()
    a.mul_(2)
    a.sum().backward()
    assert a.grad.tolist() == [1, 1, 1] and x.grad.tolist() == [2, 2, 2]


def test_kept_gradients_of_views_and_their_base():
    base = torch.tensor([1.0, 2.0], requires_grad=True).clone()
    base.retain_grad()
    view, other = base[:], base[:]
    view.retain_grad()
    other.retain_grad()
    view.mul_(2)
    (view + 3 * other).sum().backward()
    assert view.grad.tolist() == [1, 1] and other.grad.tolist() == [3, 3]
    assert base.grad.tolist() == [4, 4]


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_views_require_grad_as_their_base_does(mode):
    for x in (torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True) * 2):
        with mode():
            views = [x[:2], x.view(3, 1), x.expand(2, 3), x.unbind()[0], x[:2].view(2, 1), x.squeeze(), *x]
            assert all(v.requires_grad for v in views)
            assert not any(t.requires_grad for t in (x * 2, x.detach(), x.clone(), x[torch.tensor([0])]))
        view = views[0]
        assert view.is_leaf and view.grad_fn is None
        y = view * 3
        assert y.requires_grad and y.grad_fn.next_functions[0] == (None, 0)
        y.sum().backward()
        assert view.grad is None
        with pytest.raises(RuntimeError, match="A view was created in .* mode and is being modified inplace"):
            view.mul_(2)
        with mode():
            view.mul_(2)
    assert view.requires_grad_().mul(2).requires_grad


def test_views_of_what_has_become_a_leaf():
    writes = (
        lambda v: v.mul_(2),
        lambda v: v.fill_(2),
        lambda v: v.copy_(torch.zeros(2)),
        lambda v: v.zero_(),
        lambda v: v.normal_(),
        lambda v: v.__setitem__(0, 3),
        lambda v: v[:1].zero_(),
        lambda v: v.t_(),
    )
    for write in writes:
        x = torch.ones(3)
        v = x[:2]
        x.requires_grad_()
        assert v.requires_grad
        with pytest.raises(RuntimeError, match=_LEAF_VIEW):
            write(v)
        assert x.tolist() == [1, 1, 1]
        x.requires_grad_(False)
        assert not v.requires_grad
        write(v)
    x = torch.ones(3)
    v = x[:2]
    x.requires_grad_()
    with pytest.raises(RuntimeError, match="out=... arguments don't support automatic differentiation"):
        torch.add(v, 1, out=v)
    with torch.no_grad():
        v.mul_(2)
    assert x.tolist() == [2, 2, 1]


def test_leaves_made_in_inference_mode():
    with torch.inference_mode():
        x = torch.ones(2, requires_grad=True)
        assert x.requires_grad and x.is_inference()
        model = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
        assert not model(torch.ones(3, 2)).requires_grad
    assert all(p.requires_grad and p.is_inference() for p in model.parameters())
    with torch.inference_mode():
        y = torch.ones(2)
    with pytest.raises(RuntimeError, match="on inference tensor outside InferenceMode"):
        y.requires_grad_()


def test_a_program_replaces_the_global_tables_of_hooks():
    before, seen = module_file._global_forward_hooks, []
    module_file._global_forward_hooks = OrderedDict()
    try:
        nn.modules.module.register_module_forward_hook(lambda m, i, o: seen.append(type(m)))
        nn.Linear(1, 1)(torch.ones(1, 1))
    finally:
        module_file._global_forward_hooks = before
    nn.Linear(1, 1)(torch.ones(1, 1))
    assert seen == [nn.Linear]


def test_tangents_lie_as_their_primals():
    forward = torch.autograd.forward_ad
    primal, tangent = torch.randn(5)[:4], torch.randn(4)
    with forward.dual_level():
        dual = forward.make_dual(primal, tangent)
        assert forward.unpack_dual(dual).tangent is not tangent
        assert forward.unpack_dual(dual.as_strided((5,), (1,), 0)).tangent.shape == (5,)
        x, t = torch.randn(2), torch.randn(2)
        dual = forward.make_dual(x, t)
        first, second = forward.unpack_dual(dual), forward.unpack_dual(dual)
        assert first.tangent is t and second.primal is not first.primal and torch.equal(first.primal, x)
        with pytest.raises(RuntimeError, match="it is an out= function"):
            torch.add(dual, x, out=torch.empty(2))
        with forward._set_fwd_grad_enabled(False):
            assert not forward._is_fwd_grad_enabled()
            assert forward.unpack_dual(dual * 2).tangent is None
        assert forward._is_fwd_grad_enabled() and forward._current_level == 0
    assert forward._current_level == -1


def test_settings_are_patched_for_a_time():
    config = torch._dynamo.config
    with config.patch(suppress_errors=True), config.patch("verbose", False):
        assert config.suppress_errors
    assert not config.suppress_errors

    @torch._functorch.config.patch({"activation_memory_budget": 0.5})
    def budget():
        return torch._functorch.config.activation_memory_budget

    assert budget() == 0.5 and torch._functorch.config.activation_memory_budget == 1.0


def test_variable_takes_what_old_programs_give() -> None:
    x = torch.ones(2, requires_grad=True)
    assert not torch.autograd.Variable(x, name="x").requires_grad
    with pytest.warns(UserWarning, match="volatile was removed"):
        assert torch.autograd.Variable(x, volatile=True).tolist() == [1.0, 1.0]
    assert torch.autograd.Variable().shape == (0,)
    with pytest.raises(TypeError, match="Variable data has to be a tensor, but got list"):
        torch.autograd.Variable([1.0])


def test_gradients_may_lie_otherwise_where_the_policy_is_off() -> None:
    strides = []
    for on in (True, False):
        with torch.autograd.enforce_grad_layout_policy(on):
            p = torch.empty(2, 3, 4).permute(2, 0, 1).requires_grad_()
            (p * 2).sum().backward()
            strides.append(p.grad.stride())
    assert strides == [(1, 12, 4), (6, 3, 1)]  # PyTorch 2.13's


def test_nothing_is_recorded_in_inference_mode_whatever_grad_mode_says():
    x = torch.ones(3, requires_grad=True)
    with torch.inference_mode():
        assert not torch.is_grad_enabled()
        with torch.enable_grad():
            assert torch.is_grad_enabled() and torch.is_inference_mode_enabled()
            made = torch.ones(2).requires_grad_()
            assert not (x * 2).requires_grad and (x * 2).is_inference() and not made.exp().requires_grad
            with torch.inference_mode(False):
                assert (x * 2).requires_grad
        torch.set_grad_enabled(True)
        assert not (x * 2).requires_grad and torch.is_grad_enabled()
    assert torch.is_grad_enabled()


def test_functions_are_differentiated_in_inference_mode():
    with torch.inference_mode():
        x, w = torch.ones(3), torch.full((2, 3), 2.0)
        made = [
            torch.func.grad(lambda w: (w * x).sum())(w),
            torch.func.jacrev(lambda x: x.sin() * x)(x),
            torch.func.jacfwd(lambda x: x.sin() * x)(x),
            torch.func.vjp(torch.exp, x)[1](x)[0],
        ]
    assert [tuple(t.shape) for t in made] == [(2, 3), (3, 3), (3, 3), (3,)]
    assert not any(t.is_inference() for t in made) and torch.equal(made[1], made[2])
    assert torch.equal(made[0], torch.ones(2, 3))


def test_the_node_that_runs_is_told():
    x, seen = torch.ones(2, requires_grad=True), []
    y = x * 2
    y.register_hook(lambda grad: seen.append(torch._C._current_autograd_node()))
    y.exp().sum().backward()
    assert [node.name() for node in seen] == ["MulBackward0"] and torch._C._current_autograd_node() is None


def test_a_decorated_class_is_a_function_that_makes_its_objects():
    with pytest.warns(FutureWarning, match="Decorating classes is deprecated"):

        @torch.no_grad()
        class Here:
            def __init__(self):
                self.enabled = torch.is_grad_enabled()

    assert Here().enabled is False
