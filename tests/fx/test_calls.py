"""How calls are written down: functions of any number of tensors, functions under another of their names."""

from __future__ import annotations

import pytest

import rushlight as torch
import rushlight.nn.functional as F
from rushlight.fx import operator_schemas
from rushlight.fx.proxy import GraphAppendingTracer


def test_all_operands_are_told() -> None:
    def several(a, b):
        both = [a, b]
        mesh = torch.meshgrid(a[0], b[0], indexing="ij")
        return torch.einsum("ij,jk->ik", *both), torch.einsum("ij,jk->ik", both), mesh[0] + mesh[1]

    traced = torch.fx.symbolic_trace(several)
    a, b = torch.arange(4.0).reshape(2, 2), torch.eye(2) * 3
    for found, wanted in zip(traced(a, b), several(a, b)):
        assert torch.equal(found, wanted)
    assert traced.code.count("torch.functional.einsum('ij,jk->ik', a, b)") == 2
    assert "torch.functional.meshgrid(getitem, getitem_1, indexing = 'ij')" in traced.code


def test_functions_in_python_hand_on_what_pytorchs_do() -> None:
    """Every argument with a default by keyword, `out` among them, and of one what has none; no `weight`."""

    def several(a, b):
        torch.lu(a)
        torch.unravel_index(a, (2,))
        torch.meshgrid(a, b)
        F.l1_loss(a, b)
        return torch.tensordot(a, b, 1), torch.norm(a, dim=1)

    traced = torch.fx.symbolic_trace(several)
    assert {n.name: n.kwargs for n in traced.graph.nodes if n.op == "call_function"} == {
        "lu": {"pivot": True, "get_infos": False, "out": None},
        "unravel_index": {"shape": (2,)},
        "meshgrid": {"indexing": None},
        "l1_loss": {"size_average": None, "reduce": None, "reduction": "mean"},
        "tensordot": {"dims": 1, "out": None},
        "norm": {"p": "fro", "dim": 1, "keepdim": False, "out": None, "dtype": None},
    }
    told = []

    class Told(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            told.append((func.__name__, kwargs))
            return super().__torch_function__(func, types, args, kwargs or {})

    x = torch.eye(2).as_subclass(Told)
    assert torch.tensordot(x, x).equal(torch.tensor(2.0)) and x.norm() == torch.norm(x)
    torch.meshgrid(x.unbind()[0], indexing="xy")
    assert ("tensordot", {"dims": 2, "out": None}) in told and ("meshgrid", {"indexing": "xy"}) in told
    assert ("norm", {"p": "fro", "dim": None, "keepdim": False, "out": None, "dtype": None}) in told
    assert ("norm", {"p": "fro", "dim": None, "keepdim": False, "dtype": None}) in told  # the method


def test_a_function_keeps_the_name_it_was_called_by() -> None:
    traced = torch.fx.symbolic_trace(lambda x: torch.arctan(torch.absolute(x)))
    assert [n.name for n in traced.graph.nodes] == ["x", "absolute", "arctan", "output"]
    assert traced.graph.find_nodes(op="call_function", target=torch.arctan)
    assert "torch.arctan(" in traced.code and torch.arctan is not torch.atan
    assert torch.equal(traced(torch.tensor([-1.0])), torch.tensor([1.0]).atan())


def test_proxies_append_to_a_graph() -> None:
    graph = torch.fx.Graph()
    x = torch.fx.Proxy(graph.placeholder("x"), GraphAppendingTracer(graph))
    graph.output((x.relu() + 1).node)
    assert torch.equal(torch.fx.GraphModule({}, graph)(torch.tensor([-1.0, 2.0])), torch.tensor([1.0, 3.0]))
    assert torch.fx.proxy.GraphAppendingTracer is GraphAppendingTracer


def test_arguments_are_not_changed_unseen() -> None:
    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    node = graph.call_function(torch.cat, ([x, x],), {"dim": 0})
    for change in (lambda: node.args[0].append(x), lambda: node.kwargs.update(dim=1)):
        with pytest.raises(TypeError, match="does not support mutation"):
            change()
    assert {node.args[0]: 1} and isinstance(node.args[0], list)


def test_side_effects_stay() -> None:
    def effect(x):
        return None

    torch.fx.has_side_effect(effect)
    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    graph.call_function(effect, (x,))
    graph.call_function(torch.relu, (x,))
    graph.output(x)
    graph.eliminate_dead_code()
    assert [node.op for node in graph.nodes] == ["placeholder", "call_function", "output"]


def test_buffers_and_places_may_be_told() -> None:
    class Telling(torch.fx.Tracer):
        record_stack_traces = proxy_buffer_attributes = True

    class Shifted(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("shift", torch.ones(2))

        def forward(self, x):
            return torch.relu(x) + self.shift

    graph = Telling().trace(Shifted())
    assert [node.op for node in graph.nodes][2] == "get_attr"
    assert "torch.relu(x) + self.shift" in list(graph.nodes)[1].stack_trace


def test_functions_of_other_modules_are_written_by_their_names():
    graph = torch.fx.symbolic_trace(lambda x, y: torch.special.xlog1py(x, torch.linalg.det(y)))
    assert "torch._C._special.special_xlog1py(" in graph.code
    assert "torch._C._linalg.linalg_det(" in graph.code
    x = torch.ones(2)
    assert graph(x, torch.eye(2)).equal(torch.special.xlog1py(x, torch.tensor(1.0)))


def test_types_are_inferred_as_scripts_have_them():
    infer = torch._C._jit_try_infer_type
    assert str(infer([(1, "a")]).type()) == "List[Tuple[int, str]]"
    found = operator_schemas._torchscript_type_to_python_type(infer({"a": 1.0}).type())
    assert (found.__origin__, found.__args__) == (dict, (str, float))
    assert infer([1, "a"]).reason().endswith("consistent element type. Found int and str")
    assert not infer(object()).success() and not infer([]).success()
