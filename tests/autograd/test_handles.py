"""What registering a hook on tensors and nodes returns."""

import pickle

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
