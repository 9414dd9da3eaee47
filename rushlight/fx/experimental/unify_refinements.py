"""Solves what `Refine` says of a module's sizes, and writes the solution into its nodes' types."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rushlight.fx.experimental.graph_gradual_typechecker import Refine
from rushlight.fx.experimental.refinement_types import Equality
from rushlight.fx.experimental.unification import Var, unify
from rushlight.fx.tensor_type import TensorType

__all__ = [
    "check_for_type_equality",
    "convert_eq",
    "infer_symbolic_types",
    "infer_symbolic_types_single_pass",
    "substitute_all_types",
    "substitute_solution_one_type",
    "unify_eq",
]


def infer_symbolic_types_single_pass(traced: Any) -> Refine:
    """Find which sizes of a module are equal, once."""
    refine = Refine(traced)
    refine.refine()
    substitute_all_types(traced.graph, unify_eq(refine.constraints))
    return refine


def infer_symbolic_types(traced: Any) -> None:
    """Find which sizes of a module are equal, and write them as expressions of symbols.

    Twice: only the equality of two operands' sizes says that no broadcasting was needed.
    """
    infer_symbolic_types_single_pass(traced)
    infer_symbolic_types_single_pass(traced).symbolic_relations()


def convert_eq(list_of_eq: Iterable[Equality]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """The left sides and the right sides."""
    known = list(list_of_eq)
    return tuple(eq.lhs for eq in known), tuple(eq.rhs for eq in known)


def unify_eq(list_of_eq: Iterable[Equality]) -> Any:
    """Values of variables that make all of these equal."""
    return unify(*convert_eq(list_of_eq))


def substitute_solution_one_type(mapping: dict[Any, Any], t: Any) -> Any:
    """A type with the values of its variables."""
    if isinstance(t, TensorType):
        return TensorType(tuple(mapping.get(size, size) for size in t.dims))
    if isinstance(t, (list, tuple)):
        return type(t)(substitute_solution_one_type(mapping, part) for part in t)
    return mapping.get(t, t) if isinstance(t, Var) else t


def substitute_all_types(graph: Any, mapping: dict[Any, Any]) -> None:
    """Write the values of variables into all types of a graph; in `mapping` they become final ones, too."""
    changed = True
    while changed:
        changed = False
        for key, value in mapping.items():
            if value in mapping and mapping[value] != value:
                mapping[key] = mapping[value]
                changed = True
    for n in graph.nodes:
        n.type = substitute_solution_one_type(mapping, n.type)


def check_for_type_equality(g1: Any, g2: Any) -> bool:
    """Whether the nodes of two graphs have the same types."""
    return all(n.type == m.type for n, m in zip(g1.nodes, g2.nodes, strict=False))
