"""What registering a hook on tensors and nodes returns."""

import pickle

import pytest

import rushlight as torch
from rushlight.utils.hooks import RemovableHandle


def test_handles_are_of_the_public_class():
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    seen = []
    handles = [
        x.register_hook(lambda g: seen.append("tensor")),
        x.register_post_accumulate_grad_hook(lambda t: seen.append("accumulated")),
        y.grad_fn.register_hook(lambda *g: seen.append("node")),
        y.grad_fn.register_prehook(lambda *g: seen.append("before")),
        torch.autograd.graph.register_multi_grad_hook([x, y], lambda g: seen.append("several")),
    ]
    assert all(isinstance(handle, RemovableHandle) for handle in handles)
    y.sum().backward()
    assert sorted(seen) == ["accumulated", "before", "node", "several", "tensor"]
    seen.clear()
    for handle in handles:
        handle.remove()
        handle.remove()
    (x * 2).sum().backward()
    assert not seen


def test_a_handle_does_not_keep_the_hook():
    def registered():
        x = torch.ones(2, requires_grad=True)
        return x.register_hook(print)

    handle = registered()
    assert handle.hooks_dict_ref() is None
    handle.remove()
    assert pickle.loads(pickle.dumps(handle)).id == handle.id
    with torch.ones(1, requires_grad=True).register_hook(print) as handle:
        assert isinstance(handle.id, int)


def test_a_pipeline_runs_the_engine_behind_outputs_whose_memory_is_gone() -> None:
    engine = torch.autograd.Variable._execution_engine
    x = torch.randn(4, 3, requires_grad=True)
    out = x * 2
    out.data = torch.empty(1)
    ones = torch.ones(4, 3)
    assert engine.run_backward((out,), (ones,), False, False, (), True, accumulate_grad=True) is None
    assert x.grad is not None and torch.equal(x.grad, 2 * ones)
    (found,) = engine.run_backward((x * 3,), (ones,), False, False, (x,))
    assert torch.equal(found, 3 * ones)
    edges = [torch.autograd.graph.get_gradient_edge(t) for t in (x * 3, x)]
    (found,) = engine.run_backward((edges[0],), (ones,), False, False, (edges[1],))
    assert torch.equal(found, 3 * ones)
    one = torch.ones(1, requires_grad=True)
    (found,) = engine.run_backward((one,), (torch.ones(2, 1, dtype=torch.float64),), False, False, (one,))
    assert found.tolist() == [2] and found.dtype is torch.float32
    for given, words in (
        (((x,), ()), "got 1 tensors and 0 gradients"),
        (((x,), (None,)), "element 0 of gradients tuple is None"),
        (((x,), (3,)), "element 0 of gradients tuple is not a Tensor or None"),
        (((3,), (ones,)), "element 0 of tensors tuple is neither a Tensor nor a GradientEdge"),
        (([x], (ones,)), "tensors argument is expected to be a tuple, but got list"),
    ):
        with pytest.raises(RuntimeError, match=words):
            engine.run_backward(*given, False, False, (x,))
    with pytest.raises(RuntimeError, match=r"got \[2\] but expected shape compatible with \[4, 3\]"):
        engine.run_backward((x * 3,), (torch.ones(2),), False, False, (x,))
    with pytest.raises(RuntimeError, match="does not require grad"):
        engine.run_backward((ones,), (ones,), False, False)
