"""Nodes of rows with a declared gradient: what they keep, and how the rule is called."""

from __future__ import annotations

import types
from collections.abc import Callable, Sequence
from typing import Any

from rushlight._engine.autograd.node import TRACES, Node, backward_name, next_seq
from rushlight._engine.autograd.saved_tensors import result_alias
from rushlight._engine.dispatch import node_names as names_of
from rushlight._engine.dispatch.generated_code import compile_function
from rushlight._engine.dispatch.nodes.formula_nodes import fit
from rushlight._engine.dispatch.nodes.saved_arguments import VersionedList, argument, kept, saved
from rushlight._engine.ops.signature import Param
from rushlight._engine.ops.table import Row
from rushlight._engine.tensors.tensor import Tensor


def mentioned(rule: Any) -> frozenset[str]:
    """Attribute names in a rule's code: what it needs of the saved values."""
    names: set[str] = set()
    codes = [rule.__code__]
    while codes:
        code = codes.pop()
        names.update(code.co_names)
        codes.extend(c for c in code.co_consts if isinstance(c, types.CodeType))
    return frozenset(names)


def read_by(rule: Any) -> frozenset[str]:
    """What a rule reads; derived rules read their arguments by computed names and say so."""
    return getattr(rule, "keeps", None) or mentioned(rule)


_RECORD = """
def record(_values, _out):
    {names}, = _values
    if _out.__class__ is Tensor or isinstance(_out, Tensor):
        _node = new(nodes[False])
        _results = {result}
        if _out._kind.dtype.category >= 2:
            _out._grad_node, _out._output_nr = _node, 0
    else:
        _node = new(nodes[True])
        _results = {results}
        attach(_node, _out)
    _node.next = ({edges})
    _node.hooks, _node.seq = None, next_seq()
    _node.saved = saved({{{values}}}, ({shapes}), ({kinds}), _results)
    if TRACES.record is not None:
        if TRACES.asked:
            TRACES.how = DeclaredFactory(rules, _node), _out, _values
        TRACES.record(_node)
"""


def _edge(p: Param, n: str) -> str:
    if p.is_list:
        return f"*[{_edge(_ITEM, '_t')} for _t in {n} or ()]"
    none = "" if p.type == "Tensor" else f"not isinstance({n}, Tensor) or "
    return f"None if {none}{n}._grad_node is None else ({n}._grad_node, {n}._output_nr)"


# What is in a list.
_ITEM = Param("_t", "Tensor | None")


def _shape(p: Param) -> str:
    each = f"{p.name} and [None if _t is None else _t._geometry.shape for _t in {p.name}]"
    return each if p.is_list else _attribute(p, "_geometry.shape")


def _attribute(p: Param, name: str) -> str:
    """Code of an operand's attribute; None where it is no tensor."""
    n = p.name
    return f"{n}.{name}" if p.type == "Tensor" else f"{n}.{name} if isinstance({n}, Tensor) else None"


class Rules:
    """A row's declared gradient, prepared once: node classes and what to keep."""

    def __init__(
        self, row: Row, rule: Any, name: str | None = None, keeps: frozenset[str] | None = None
    ) -> None:
        self.rule, self.row = rule, row
        self.tensor_params = [p for p in row.params if p.is_tensor or p.is_list]
        self.places = {p.name: place for place, p in enumerate(self.tensor_params)}
        for p in row.params:
            argument(p.name)
        names = keeps if keeps is not None else read_by(rule)
        self.keeps = frozenset(p.name for p in row.params if p.name in names)
        self.keeps_result = "result" in names
        # Numbers of results that the rule does not look at.
        self.unread = row.options.get("unread", ())
        # A function of the arguments where PyTorch numbers overloads.
        self.naming = naming = None if name else names_of.label(row)
        label = (
            naming if isinstance(naming, str) else backward_name(name or row.options.get("node", row.name))
        )
        apply = (_apply, _apply_multi)
        if row.options.get("planned_gradient"):
            apply = (_apply_planned, _apply_multi_planned)
        placing = names_of.place_by_shapes if all(p.is_tensor for p in row.params) else names_of.place
        self.nodes = {
            multi: type(
                label,
                (Node,),
                {
                    "__slots__": (),
                    "apply": apply[multi],
                    "multi": multi,
                    "rules": self,
                    "last_leaf_first": row.options.get("last_leaf_first", False),
                    **(
                        {
                            "settle": names_of.settle,
                            "name": names_of.name_of,
                            "placed": True,
                            "place": placing,
                        }
                        if callable(naming)
                        else {}
                    ),
                },
            )
            for multi in (False, True)
        }
        self.lists = any(p.is_list for p in self.tensor_params)
        # What runs nodes by plans (runners/rule_plans.py), by how many results they have.
        self.by_plans: dict[int, Callable[..., Any]] = {}
        # record(values in the order of the parameters, result): leaves a node behind.
        self.record: Callable[[Sequence[Any], Any], None] = self._recorder()

    def _recorder(self) -> Callable[[Sequence[Any], Any], None]:
        params = self.row.params
        text = _RECORD.format(
            names=", ".join(p.name for p in params),
            result="(False, [kept(result_alias(_out))])" if self.keeps_result else "None",
            results="results(_out, True)" if self.keeps_result else "None",
            edges="".join(f"{_edge(p, p.name)}, " for p in self.tensor_params),
            values=", ".join(filter(None, (self._value(p) for p in params))),
            shapes="".join(f"{_shape(p)}, " for p in self.tensor_params),
            kinds="".join(f"{_attribute(p, '_kind')}, " for p in self.tensor_params),
        )
        scope = {
            "Tensor": Tensor,
            "new": object.__new__,
            "TRACES": TRACES,
            "attach": _attach,
            "results": self._results,
            "next_seq": next_seq,
            "saved": saved,
            "kept": kept,
            "VersionedList": VersionedList,
            "result_alias": result_alias,
            "nodes": self.nodes,
            "rules": self,
            "DeclaredFactory": DeclaredFactory,
        }
        return compile_function(text, "record", scope, f"record {self.row.name}")

    def _value(self, p: Param) -> str:
        """Code of an item of Saved's values; empty for a tensor that the rule does not read."""
        n, held = p.name, f"kept({p.name})" if p.name in self.keeps else "None"
        if p.is_list:
            found = f"{{{n!r}: VersionedList([kept(_t) if isinstance(_t, Tensor) else _t for _t in {n}])}}"
            found = found if n in self.keeps else "{}"
            return f"**({found} if {n} and isinstance({n}[0], Tensor) else {{{n!r}: {n}}})"
        if not p.is_tensor:
            return f"{n!r}: {n}"
        if p.type != "Tensor":
            return f"{n!r}: {held} if isinstance({n}, Tensor) else {n}"
        return f"{n!r}: {held}" if n in self.keeps else ""

    def _results(self, outs: Sequence[Any], multi: bool) -> Any:
        if not self.keeps_result:
            return None
        return multi, [
            kept(result_alias(t)) if isinstance(t, Tensor) and n not in self.unread else None
            for n, t in enumerate(outs)
        ]


class DeclaredFactory:
    """What makes a node again, on other results and operands of the same kinds and shapes.

    cls: the node's class. wanted: which operands have edges.
    """

    def __init__(self, rules: Rules, node: Any) -> None:
        self.rules, self.cls = rules, node.__class__
        self.wanted = [e is not None for e in node.next]
        self.shapes, self.kinds = node.saved._shapes, node.saved._kinds

    def __call__(self, out: Any, values: Sequence[Any]) -> None:
        """Leave a node behind for what an op gave."""
        self.rules.record(values, out)


def _attach(node: Node, outputs: Sequence[Any]) -> None:
    node.count = len(outputs)
    for number, t in enumerate(outputs):
        if isinstance(t, Tensor) and t._kind.dtype.category >= 2:
            t._grad_node, t._output_nr = node, number


def _apply(node: Any, grad: Tensor) -> list[Any]:
    return _run(node, (grad,))


def _run(node: Any, grads: Sequence[Any]) -> list[Any]:
    saved = node.saved
    # Only while the rule runs: a lasting reference would make node and Saved a cycle.
    saved._node = node
    try:
        return _flatten(node, node.rules.rule(saved, *grads))
    finally:
        saved._node = None


def _apply_multi(node: Any, grads: list[Any]) -> list[Any]:
    saved = node.saved
    if saved._results is not None and len(grads) < len(saved._results[1]):
        grads = grads + [None] * (len(saved._results[1]) - len(grads))
    return _run(node, grads)


def _apply_planned(node: Any, grad: Tensor) -> Any:
    run = node.rules.by_plans.get(0)
    return (_planned(node.rules, 0, _apply) if run is None else run)(node, grad)


def _apply_multi_planned(node: Any, grads: list[Any]) -> Any:
    run = node.rules.by_plans.get(node.count)
    return (_planned(node.rules, node.count, _apply_multi) if run is None else run)(node, grads)


def _planned(rules: Rules, results: int, slow: Callable[..., Any]) -> Callable[..., Any]:
    from rushlight._engine.dispatch.runners import rule_plans  # it imports this file

    run = rules.by_plans[results] = rule_plans.applied(rules, results, slow)
    return run


def _flatten(node: Any, found: Any) -> list[Any]:
    params, saved = node.rules.tensor_params, node.saved
    if found.__class__ is not tuple:
        found = (found,)
    if not node.rules.lists:
        return [
            g if g is None or of is None or g._kind is of else fit(g, None, of)
            for g, of in zip(found, saved._kinds, strict=False)
        ]
    if len(params) == 1 and not (len(found) == 1 and isinstance(found[0], list)):
        found = (list(found),)
    flat: list[Any] = []
    for p, g, shape, of in zip(params, found, saved._shapes, saved._kinds, strict=False):
        if p.is_list:
            flat.extend(g if g is not None else [None] * len(shape))
        else:
            flat.append(g if g is None or of is None or g._kind is of else fit(g, None, of))
    flat.extend([None] * (len(node.next) - len(flat)))
    return flat
