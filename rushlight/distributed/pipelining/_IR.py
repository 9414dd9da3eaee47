"""A module in stages: `pipeline` records what it computes, and cuts where it calls `pipe_split`."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from inspect import Parameter, Signature
from typing import Any

import rushlight as torch
from rushlight import fx, library
from rushlight.distributed.pipelining.stage import _PipelineStageBase

library.define("pippy::_pipe_split", "() -> ()")


def _nothing() -> None:
    """What a mark does."""


library.impl("pippy::_pipe_split", "BackendSelect", _nothing)
library.register_fake("pippy::_pipe_split", _nothing)
_OPS: Any = torch.ops.pippy
_MARK = _OPS._pipe_split.default
fx.node.has_side_effect(_MARK)  # graphs keep it, though nobody reads it


def pipe_split() -> None:
    """Here a stage ends, where `pipeline` records this; else nothing happens."""
    _OPS._pipe_split()


class SplitPoint(Enum):
    """Where a module is cut that a specification names: before it, or behind it."""

    BEGINNING = 1
    END = 2


@dataclass
class PipeInfo:
    """What stages know of the whole."""

    graph: Any
    num_stages: int
    has_loss_and_backward: bool


@contextmanager
def _marked(module: Any, spec: dict[str, SplitPoint]) -> Iterator[None]:
    """The module, whose parts mark where stages end."""
    found = []
    for name, where in spec.items():
        part = module
        atoms = name.split(".")
        for number, atom in enumerate(atoms):
            if not hasattr(part, atom):
                raise AttributeError(
                    f"Specified target {name} referenced nonexistent module {'.'.join(atoms[: number + 1])}"
                )
            part = getattr(part, atom)
        if not isinstance(where, SplitPoint):
            raise ValueError("Unknown split point type.")
        found.append((part, where))
    for part, where in found:
        part.forward = _marking(part.forward, where)
    try:
        yield
    finally:
        for part, _ in found:
            part.__dict__.pop("forward", None)


def _marking(forward: Callable[..., Any], where: SplitPoint) -> Callable[..., Any]:
    def run(*args: Any, **kwargs: Any) -> Any:
        if where is SplitPoint.BEGINNING:
            pipe_split()
        found = forward(*args, **kwargs)
        if where is SplitPoint.END:
            pipe_split()
        return found

    return run


class Pipe(torch.nn.Module):
    """A module in stages: `split_gm` has them as submod_0, submod_1, ..."""

    def __init__(self, split_gm: Any, num_stages: int, has_loss_and_backward: bool, loss_spec: Any) -> None:
        super().__init__()
        self.split_gm, self.num_stages = split_gm, num_stages
        self.has_loss_and_backward, self.loss_spec = has_loss_and_backward, loss_spec

    @staticmethod
    def from_tracing(
        mod: Any,
        example_args: tuple[Any, ...],
        example_kwargs: dict[str, Any] | None = None,
        split_policy: Callable[[Any], Any] | None = None,
    ) -> Pipe:
        """The stages of a module that is recorded as it computes these arguments."""
        traced = torch.export.export(mod, example_args, example_kwargs).module()
        if split_policy is not None:
            traced = split_policy(traced)
        return Pipe(*_cut(traced), False, None)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """All stages, one after the other: a tuple of outputs."""
        names = [node.target for node in self.split_gm.graph.nodes if node.op == "placeholder"]
        given = Signature([Parameter(name, Parameter.POSITIONAL_OR_KEYWORD) for name in names])
        return self.split_gm(*given.bind(*args, **kwargs).args)

    def get_stage_module(self, stage_idx: int) -> Any:
        """A stage."""
        if not 0 <= stage_idx < self.num_stages:
            raise ValueError(f"Invalid stage index {stage_idx}!")
        return getattr(self.split_gm, f"submod_{stage_idx}")

    def info(self) -> PipeInfo:
        """What stages know of the whole."""
        return PipeInfo(self.split_gm.graph, self.num_stages, self.has_loss_and_backward)

    def build_stage(self, stage_index: int, device: Any, group: Any = None) -> _PipelineStage:
        """A stage for a schedule, on a device."""
        return _PipelineStage(self.get_stage_module(stage_index), stage_index, self.info(), device, group)

    def print_readable(self) -> None:
        """Show the stages' code."""
        self.split_gm.print_readable()

    def __str__(self) -> str:
        return str(self.split_gm)

    def __repr__(self) -> str:
        return repr(self.split_gm)


class _PipelineStage(_PipelineStageBase):
    """A stage of a Pipe."""

    def __init__(
        self, stage_module: Any, stage_index: int, pipe_info: PipeInfo, device: Any, group: Any = None
    ) -> None:
        super().__init__(stage_module, stage_index, pipe_info.num_stages, device, group)
        self.pipe_info = pipe_info
        _made_on(stage_module, self.device)
        stage_module.to(self.device)


def _made_on(module: Any, device: Any) -> None:
    """Let ops that say on which device they make tensors say this one."""
    for node in module.graph.nodes:
        if node.op == "call_function" and node.kwargs.get("device") not in (None, device):
            node.kwargs = {**node.kwargs, "device": device}
    module.recompile()


def _cut(traced: Any) -> tuple[Any, int]:
    """(a graph of stages, how many there are) of a graph with marks."""
    places: dict[Any, int] = {}
    stages: list[list[Any]] = [[]]
    for node in traced.graph.nodes:
        if node.op == "call_function" and node.target in (_MARK, pipe_split):
            stages.append([])
        elif node.op == "placeholder":
            places[node] = 0
        elif node.op in ("call_function", "call_method") or (
            node.op == "call_module" and node.target != "_guards_fn"
        ):
            places[node] = len(stages) - 1
            stages[-1].append(node)
    output = next(node for node in traced.graph.nodes if node.op == "output")
    last = len(stages) - 1
    until = {node: 0 for node in places}
    for node, place in places.items():
        for used in node.all_input_nodes:
            until[used] = max(until.get(used, 0), place)
    for used in output.all_input_nodes:
        until[used] = last
    root = torch.nn.Module()
    graph = fx.Graph()
    inputs = [node for node in places if node.op == "placeholder"]
    values = {node: graph.placeholder(node.target) for node in inputs}
    taken = inputs
    for number, nodes in enumerate(stages):
        given = None if number == last else [n for n in places if places[n] <= number < until[n]]
        module = _stage(traced, taken, nodes, given, output)
        root.add_module(f"submod_{number}", module)
        called = graph.call_module(f"submod_{number}", tuple(values[node] for node in taken))
        found = _parts(graph, called, len(_results(output) if given is None else given))
        values, taken = dict(zip(given or [], found, strict=False)), given or []
    graph.output(tuple(found))
    return fx.GraphModule(root, graph), len(stages)


def _parts(graph: Any, called: Any, count: int) -> list[Any]:
    """The values that a stage gives, each as a node."""
    if count == 1:
        return [called]
    return [graph.call_function(operator.getitem, (called, number)) for number in range(count)]


def _results(output: Any) -> tuple[Any, ...]:
    """What a recorded module gives, one after the other."""
    found = output.args[0]
    return tuple(found) if isinstance(found, (tuple, list)) else (found,)


def _stage(traced: Any, taken: list[Any], nodes: list[Any], given: list[Any] | None, output: Any) -> Any:
    """The module of a stage: from the values that it takes to those that it gives."""
    graph = fx.Graph()
    values = {
        node: graph.placeholder(node.name if node.op != "placeholder" else node.target) for node in taken
    }

    def value(node: Any) -> Any:
        if node not in values:  # a weight, or a buffer
            values[node] = graph.node_copy(node)
        return values[node]

    wanted = list(_results(output)) if given is None else given
    for node in nodes:
        for used in node.all_input_nodes:
            value(used)
        values[node] = graph.node_copy(node, value)
    found = [value(node) if isinstance(node, fx.Node) else node for node in wanted]
    graph.output(found[0] if len(found) == 1 else tuple(found))
    return fx.GraphModule(traced, graph)


def pipeline(
    module: Any,
    mb_args: tuple[Any, ...],
    mb_kwargs: dict[str, Any] | None = None,
    split_spec: dict[str, SplitPoint] | None = None,
    split_policy: Callable[[Any], Any] | None = None,
) -> Pipe:
    """A module in stages, recorded as it computes a microbatch of these arguments.

    split_spec: before or behind which of its modules it is cut, beside where it calls pipe_split().
    split_policy: a function that puts marks into the recorded graph. ValueError where both are given.
    """
    if split_spec is not None and split_policy is not None:
        raise ValueError("Cannot specify both `split_spec` and `split_policy`. Please use only one of them.")
    with _marked(module, split_spec or {}):
        return Pipe.from_tracing(module, mb_args, mb_kwargs, split_policy)


def build_stage(
    stage_module: Any, stage_index: int, pipe_info: PipeInfo, device: Any, group: Any = None
) -> _PipelineStage:
    """A stage for a schedule, of a module that a Pipe has given."""
    return _PipelineStage(stage_module, stage_index, pipe_info, device, group)
