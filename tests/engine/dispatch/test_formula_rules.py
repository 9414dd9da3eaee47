"""The rules written for formulas' nodes (dispatch/nodes/formula_rules.py) do what `apply_any` does."""

import pytest

import rushlight as torch
from rushlight._engine.dispatch.nodes.formula_nodes import apply_any

F = torch.nn.functional


def _operands():
    torch.manual_seed(3)
    dense = [torch.randn(4, 6, requires_grad=True) for _ in range(2)]
    turned = [torch.randn(6, 4, requires_grad=True).T for _ in range(2)]
    row = torch.randn(6, requires_grad=True)
    one = torch.randn((), requires_grad=True)
    parameter = torch.nn.Parameter(torch.rand(4, 6) + 0.5)
    doubles = torch.randn(4, 6, dtype=torch.float64, requires_grad=True)
    large = torch.randn(300, 300, requires_grad=True)
    return {
        "both": dense,
        "one tracked": (dense[0], torch.rand(4, 6)),
        "the other": (torch.rand(4, 6), dense[1]),
        "the same": (dense[0], dense[0]),
        "turned": turned,
        "one turned": (dense[0], turned[0]),
        "a row": (dense[0], row),
        "no dims": (one, one),
        "a number": (dense[0], 2),
        "a fraction": (dense[0], 0.5),
        "a parameter": (parameter, dense[0]),
        "two dtypes": (dense[0], doubles),
        "large": (large, large + 1),
        "none": (torch.randn(0, 3, requires_grad=True), torch.randn(0, 3)),
    }


CALLS = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: b - a if isinstance(b, torch.Tensor) else 1 - a,
    "alpha": lambda a, b: torch.add(a, b, alpha=3),
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "pow": lambda a, b: a.abs() ** b,
    "tanh": lambda a, b: a.tanh(),
    "maximum": lambda a, b: torch.maximum(a, b) if isinstance(b, torch.Tensor) else a.clamp(max=b),
    "lerp": lambda a, b: (
        torch.lerp(a, a, b) if isinstance(b, torch.Tensor) and b.dtype is a.dtype else a.exp()
    ),
    "relu": lambda a, b: F.relu(a),
    "gelu": lambda a, b: F.gelu(a),
    "sign": lambda a, b: a.sign() + b,
}


def _same(found, wanted):
    for f, w in zip(found, wanted, strict=True):
        assert (f is None) == (w is None)
        if f is not None:
            assert f.dtype is w.dtype and f.stride() == w.stride() and torch.equal(f, w)


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("given", _operands())
def test_a_rule_gives_what_the_general_way_gives(call, given):
    out = CALLS[call](*_operands()[given])
    node = out._grad_node
    if not hasattr(type(node), "formula"):
        return
    for grad in (torch.rand(out.shape, dtype=out.dtype), torch.ones((), dtype=out.dtype).expand(out.shape)):
        with torch.no_grad():
            for _ in range(2):
                _same(node.apply(grad), apply_any(node, grad))
        tracked = grad.clone().requires_grad_()
        found, wanted = node.apply(tracked), apply_any(node, tracked)
        _same(
            [f if f is None else f.detach() for f in found], [w if w is None else w.detach() for w in wanted]
        )
        assert [f is not None and f.requires_grad for f in found] == [
            w is not None and w.requires_grad for w in wanted
        ]


def test_what_was_written_to_is_refused():
    x, y = torch.rand(3, requires_grad=True), torch.rand(3)
    for _ in range(3):
        z = x * y
        y.add_(1)
        with pytest.raises(RuntimeError, match="modified by an inplace operation.*version"):
            z.sum().backward()


def test_what_was_kept_is_let_go_of():
    x, y = torch.rand(3, requires_grad=True), torch.rand(3)
    for out, lasts in ((x * y, False), (x + y, True), (x * 2, False), (x.exp(), False)):
        out.backward(torch.ones(3))
        if lasts:
            out.backward(torch.ones(3))
        else:
            with pytest.raises(RuntimeError, match="second time"):
                out.backward(torch.ones(3))


def test_a_node_tells_what_it_saved_once_a_program_has_it():
    x, y = torch.rand(3, requires_grad=True), torch.rand(3, requires_grad=True)
    first, second = x * y, x * y
    assert first.grad_fn._saved_other is y and second.grad_fn._saved_self is x
    assert type(first.grad_fn) is type(second.grad_fn)
    inner = (first.exp() + 1).grad_fn.next_functions[0][0]
    assert torch.equal(inner._saved_result, first.exp())
    with pytest.raises(AttributeError, match="'MulBackward0' object has no attribute '_saved_nothing'"):
        _ = first.grad_fn._saved_nothing
