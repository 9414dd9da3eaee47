"""How traced programs are called: concrete arguments, containers of inputs, codegens; and what tracers take."""

from __future__ import annotations

import copy
import functools
import operator
import pickle
import typing
from typing import Any, NamedTuple

import pytest

import rushlight as torch
from rushlight import fx, nn
from rushlight.fx.experimental.rewriter import RewritingTracer
from rushlight.fx.graph import CodeGen
from rushlight.fx.operator_schemas import get_signature_for_torch_op, normalize_function


class Pair(NamedTuple):
    x: Any
    y: Any


def beside(pair, *, other):
    return pair.x + other.y


fx.wrap("beside")


def test_concrete_arguments_stay_inputs_and_are_compared():
    gm = fx.symbolic_trace(lambda x, flag: x + 1 if flag else x, concrete_args={"flag": True})
    assert [n.name for n in gm.graph.nodes if n.op == "placeholder"] == ["x", "flag_1"]
    assert gm(torch.ones(1), True).item() == 2
    with pytest.raises(AssertionError, match="flag has been specialized to have value True"):
        gm(torch.ones(1), False)

    def optional(x, mask=None):
        return x if mask is None else x * mask

    gm = fx.symbolic_trace(optional, concrete_args={"mask": None})
    assert gm(torch.ones(1)).item() == 1
    with pytest.raises(AssertionError, match="mask has been specialized to have value None"):
        gm(torch.ones(1), torch.ones(1))


@pytest.mark.parametrize("again", ["once", "traced again", "pickled"])
def test_containers_may_hold_inputs(again):
    def f(x):
        return {"sum": x["a"] + x["b"][0], "b": x["b"]}

    gm = fx.symbolic_trace(f, concrete_args={"x": {"a": fx.PH, "b": (fx.PH, fx.PH)}})
    assert "fx_pytree.tree_flatten_spec([x], self._in_spec)" in gm.code
    assert [n.name for n in gm.graph.nodes if n.op == "placeholder"] == ["x_1", "x_2", "x_3"]
    gm = {"once": lambda g: g, "traced again": fx.symbolic_trace, "pickled": copied}[again](gm)
    given = {"a": torch.ones(2), "b": (torch.arange(2.0), torch.zeros(1))}
    found = gm(given)
    assert found["sum"].tolist() == [1, 2] and torch.equal(found["b"][1], given["b"][1])


def copied(module):
    return pickle.loads(pickle.dumps(module))


class OfList(CodeGen):
    """All inputs in one list."""

    def gen_fn_def(self, free_vars, maybe_return_annotation):
        return (
            f"def forward(self, args_list: List[torch.Tensor]){maybe_return_annotation}:\n"
            f"    {', '.join(free_vars)} = args_list"
        )

    def additional_globals(self):
        return [("List", typing.List)]

    def process_inputs(self, *inputs):
        (several,) = inputs
        return several

    def generate_output(self, output_args):
        return f"return list({output_args!r})"

    def process_outputs(self, outputs):
        return list(outputs)


def test_a_codegen_says_how_the_function_is_called():
    gm = fx.symbolic_trace(lambda a, b: (a + b, a - b))
    gm.graph.set_codegen(OfList())
    gm.recompile()
    given = [torch.ones(2), torch.arange(2.0)]
    wanted = [[1.0, 2.0], [1.0, 0.0]]
    assert [t.tolist() for t in gm(given)] == wanted
    assert [t.tolist() for t in fx.Interpreter(gm).run(given)] == wanted
    assert [t.tolist() for t in fx.Transformer(gm).transform()(given)] == wanted
    bare = fx.GraphModule({}, copy.deepcopy(gm.graph))
    bare.graph.set_codegen(CodeGen())
    bare.recompile()
    assert [t.tolist() for t in gm.graph.process_outputs(bare(*gm.graph.process_inputs(given)))] == wanted


def test_the_lines_of_the_text_can_be_changed():
    gm = fx.symbolic_trace(lambda a: a + 1)
    with gm.graph.on_generate_code(lambda before: lambda lines: ["a = a * 2\n", *lines]):
        gm.recompile()
        assert gm(torch.ones(1)).item() == 3
    gm.recompile()
    assert gm(torch.ones(1)).item() == 2


def test_classes_whose_objects_are_nodes():
    class Both(metaclass=fx.ProxyableClassMeta):
        def __init__(self, left, right):
            self.left, self.right = left, right

        def add(self, other):
            return Both(self.left + other.left, self.right + other.right)

    constant = Both(torch.ones(1), torch.ones(1))
    gm = fx.symbolic_trace(lambda x, y: x.add(Both(y, y)).add(constant))
    assert {n.target for n in gm.graph.nodes if n.op == "call_function"} == {Both}
    found = gm(constant, torch.tensor([2.0]))
    assert found.left.item() == found.right.item() == 4


def test_wrapped_functions_are_found_in_containers_of_their_arguments():
    gm = fx.symbolic_trace(lambda x: beside(Pair(x, 1.0), other=Pair(2.0, x)))
    assert any(n.target is beside for n in gm.graph.nodes)
    assert gm(torch.ones(1)).item() == 2


def test_decorated_forwards_keep_their_decorator():
    def twice(f):
        @functools.wraps(f)
        def run(*args, **kwargs):
            return 2 * f(*args, **kwargs)

        return run

    class Net(nn.Module):
        @twice
        def forward(self, x):
            return x + 1

    assert fx.symbolic_trace(Net())(torch.ones(1)).item() == 4


def test_other_methods_can_be_traced():
    class Net(nn.Module):
        def forward(self, x):
            return x + 1

        def other(self, x):
            return x - 1

    tracer = fx.Tracer()
    tracer.traced_func_name = "other"
    assert fx.GraphModule(Net(), tracer.trace(Net()))(torch.ones(1)).item() == 0
    tracer.traced_func_name = "none"
    with pytest.raises(AssertionError, match="doesn't exist in Net"):
        tracer.trace(Net())


def test_assertions_are_nodes_of_a_rewritten_program():
    class Net(nn.Module):
        def forward(self, x, n: int):
            assert n == 2, "two"
            return x * n

    tracer = RewritingTracer()
    gm = fx.GraphModule(tracer.root, tracer.trace(Net()))
    assert gm(torch.ones(1), 2).item() == 2
    with pytest.raises(AssertionError, match="two"):
        gm(torch.ones(1), 3)


def test_ops_by_their_internal_names_are_nodes():
    gm = fx.symbolic_trace(lambda a: torch.ops.aten.cat([a, torch.ops.aten.add.Tensor(a, a)]))
    add, cat = (n for n in gm.graph.nodes if n.op == "call_function")
    assert isinstance(add.target, torch._ops.OpOverload) and add.name == "add_tensor"
    assert cat.target is torch.ops.aten.cat and "torch.ops.aten.cat([a, add_tensor])" in gm.code
    assert gm(torch.ones(1)).tolist() == [1, 2]


def test_a_traceback_names_the_line_of_the_text(capsys):
    gm = fx.symbolic_trace(lambda x: torch.dot(x, x))
    with pytest.raises(TypeError):
        gm(5)
    assert "line 5 of the traced Module's generated forward function:" in capsys.readouterr().err


def test_copies_keep_what_is_noted_of_them():
    gm = fx.symbolic_trace(nn.Sequential(nn.Linear(2, 2)))
    gm.meta["k"] = [1]
    deep = copy.deepcopy(gm)
    assert deep.meta == {"k": [1]} and deep.meta["k"] is not gm.meta["k"]
    x = torch.ones(1, 2)
    assert torch.equal(copy.copy(gm)(x), gm(x)) and torch.equal(gm._replicate_for_data_parallel()(x), gm(x))


def test_a_transformed_graph_knows_where_its_nodes_came_from():
    tracer = fx.Tracer()
    tracer.record_stack_traces = True
    graph = tracer.trace(lambda a: a + 1)
    again = fx.Transformer(fx.GraphModule(tracer.root, graph)).transform()
    (add,) = (n for n in again.graph.nodes if n.op == "call_function")
    assert "test_calling.py" in add.stack_trace


def test_nodes_that_a_module_lacks_are_warned_of():
    gm = fx.symbolic_trace(nn.Sequential(nn.Linear(2, 2)))
    with pytest.warns(UserWarning, match="Attempted to insert a get_attr Node with no underlying reference"):
        gm.graph.get_attr("0.nothing")
    with pytest.raises(AttributeError):
        gm.graph.call_module("nothing")


def test_spans_stay_in_graphs():
    graph = fx.Graph()
    begun = graph.call_function(torch.ops.profiler._record_function_enter_new, ("span",))
    graph.call_function(torch.ops.profiler._record_function_exit, (begun,))
    graph.output(None)
    graph.eliminate_dead_code()
    assert len(graph.nodes) == 3


def test_signatures_of_ops_are_pytorchs():
    assert [str(s) for s in get_signature_for_torch_op(torch.add)[:2]] == [
        "(input: rushlight.Tensor, other: rushlight.Tensor, *, alpha: numbers.Number = 1) -> rushlight.Tensor",
        "(input: rushlight.Tensor, other: numbers.Number, alpha: numbers.Number = 1) -> rushlight.Tensor",
    ]
    (linear, _) = get_signature_for_torch_op(torch.nn.functional.linear)
    assert list(linear.parameters) == ["input", "weight", "bias"]
    assert get_signature_for_torch_op(torch.nn.functional.softmax) is None
    assert all(
        isinstance(get_signature_for_torch_op(getattr(torch, n)), list) for n in ("arange", "sum", "cat")
    )


def test_calls_are_told_by_signature():
    x = torch.ones(2)
    gm = fx.symbolic_trace(lambda x: torch.nn.functional.relu(torch.arctan(x)))
    arctan, relu = (n for n in gm.graph.nodes if n.op == "call_function")
    assert arctan.normalized_arguments(gm).args == (arctan.args[0],)
    assert relu.normalized_arguments(gm, None, None, True).kwargs == {"input": arctan, "inplace": False}
    told = normalize_function(
        torch.add, (x, 1), arg_types=(torch.Tensor, int), normalize_to_only_use_kwargs=True
    )
    assert told.kwargs == {"input": x, "other": 1, "alpha": 1}
    with pytest.raises(RuntimeError, match="schema match was ambiguous"):
        normalize_function(torch.add, (x, 1))
    gm = fx.symbolic_trace(nn.Sequential(nn.Linear(2, 2)))
    (call,) = (n for n in gm.graph.nodes if n.op == "call_module")
    assert list(call.normalized_arguments(gm, normalize_to_only_use_kwargs=True).kwargs) == ["input"]


def test_a_tracer_may_refuse_writes():
    class Strict(fx.Tracer):
        check_mutable_operations = True

    def writes(x):
        y = torch.rand_like(x)
        torch.sigmoid(x, out=y)
        return y

    with pytest.raises(RuntimeError, match="mutable operation aten::sigmoid.out"):
        Strict().trace(writes)


def test_methods_can_be_nodes():
    from rushlight.fx._symbolic_trace import _wrapped_methods_to_patch

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = nn.Buffer(torch.arange(16.0).reshape(4, 4))

        def forward(self, x):
            return self.table[:, : x.size(0)]

    _wrapped_methods_to_patch.append((torch.Tensor, "__getitem__"))
    try:
        gm = fx.symbolic_trace(Net())
    finally:
        _wrapped_methods_to_patch.pop()
    assert gm(torch.ones(3)).shape == (4, 3) and torch.Tensor.__getitem__(torch.ones(2), 0).item() == 1


def test_values_may_say_which_node_they_are():
    class Held:
        def __init__(self, x):
            self.x = x

        def __fx_create_arg__(self, tracer):
            return tracer.create_node("call_function", Held, (tracer.create_arg(self.x),), {})

    class Leaf(nn.Module):
        def forward(self, held):
            return held.x + 1

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.leaf = Leaf()

        def forward(self, x):
            return self.leaf(Held(x))

    class KeyedByInput(Net):
        def forward(self, x):
            return self.leaf({x: x})

    class Leaves(fx.Tracer):
        def is_leaf_module(self, m, module_qualified_name):
            return True

    net = Net()
    gm = fx.GraphModule(net, Leaves().trace(net))
    assert gm(torch.ones(1)).item() == 2
    with pytest.raises(RuntimeError, match="cannot contain a Node"):
        Leaves().trace(KeyedByInput())


def test_names_of_ops_are_those_by_which_programs_call_them():
    functional = torch.nn.functional
    for function in (
        functional.softmax,
        functional.max_pool2d,
        functional.embedding,
        torch.add,
        torch.dropout,
    ):
        assert getattr(functional if function.__name__ in dir(functional) else torch, function.__name__)
    assert functional.softmax.__name__ == "softmax" and torch.Tensor.float.__name__ == "float"
    assert torch.Tensor.bernoulli_.__name__ == "bernoulli_" and torch.fft.fft.__name__ == "fft_fft"
    assert fx.symbolic_trace(lambda x: operator.add(x, 1)).graph.find_nodes(op="call_function")


def test_a_wrapped_name_that_is_not_there():
    fx.wrapping._wrapped.append(({}, "no_such_function"))
    try:
        with pytest.raises(KeyError, match="no_such_function"):
            fx.symbolic_trace(lambda x: x + 1)
    finally:
        fx.wrapping._wrapped.pop()
    assert not fx._symbolic_trace.is_fx_tracing()
    assert isinstance(fx.symbolic_trace(nn.ReLU())(torch.ones(2)), torch.Tensor)
