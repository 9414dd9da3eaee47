"""torch.export.experimental: a program with its backward pass, and programs that methods become at their
first call.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import rushlight as torch
from rushlight._dynamo.graphs.functional_export import _restore_state_dict as _restore_state_dict
from rushlight._functorch.joint_graphs import recorded
from rushlight.export.program import STATE, ExportedProgram
from rushlight.export.signature import (
    ExportGraphSignature,
    InputKind,
    OutputKind,
    OutputSpec,
    argument_of,
)
from rushlight.fx.interpreter import Interpreter

__all__: list[str] = []


def _export_forward_backward(ep: ExportedProgram, joint_loss_index: int = 0) -> ExportedProgram:
    """A program whose graph also gives the gradients of its loss, behind what it gives by itself.

    joint_loss_index: which of the caller's results is the loss, a tensor of one element. Gradients are those
    of the parameters and of the example inputs that require one. The program is of the example inputs' sizes
    alone. AssertionError where the loss has no gradient, or a parameter none of it.
    """
    signature = ep.run_decompositions({}).graph_signature  # which says what is written into
    inputs, outputs = ep.graph_signature.input_specs, signature.output_specs
    own = [i for i, s in enumerate(outputs) if s.kind is OutputKind.USER_OUTPUT]
    if not 0 <= joint_loss_index < len(own):
        raise AssertionError(f"the program has {len(own)} results, and none of number {joint_loss_index}")
    values = _values(ep)
    wanted = [
        i
        for i, (spec, v) in enumerate(zip(inputs, values, strict=True))
        if spec.kind is InputKind.PARAMETER
        or (spec.kind is InputKind.USER_INPUT and isinstance(v, torch.Tensor) and v.requires_grad)
    ]
    fixed = frozenset(i for i, v in enumerate(values) if not isinstance(v, torch.Tensor))
    places = {s.target or s.arg.name: i for i, s in enumerate(inputs)}
    written = [places[s.target] for s in outputs[: own[0]] if s.target in places]

    def run(*tensors: Any) -> list[Any]:
        left = iter(tensors)
        given = [v if i in fixed else next(left) for i, v in enumerate(values)]
        results = Interpreter(ep.graph_module).run(*given)
        _check_loss(results, joint_loss_index)
        grads = torch.autograd.grad(results[joint_loss_index], [given[i] for i in wanted], allow_unused=True)
        for i, grad in zip(wanted, grads, strict=True):
            if grad is None:
                named = inputs[i].target or inputs[i].arg.name
                raise AssertionError(f"Found a parameter that did not receive a gradient: {named}")
        return [*(given[i] for i in written), *results, *grads]

    with torch.enable_grad():
        made = recorded(run, [v for i, v in enumerate(values) if i not in fixed], None)
    _with_inputs(made, ep.graph_module, fixed)
    return _assembled(ep, made, outputs, own[joint_loss_index], [inputs[i] for i in wanted])


def _check_loss(results: Any, loss: int) -> None:
    """AssertionError for what is no loss; RuntimeError where another result has a gradient as well."""
    value = results[loss]
    if not isinstance(value, torch.Tensor) or value.numel() != 1 or not value.requires_grad:
        raise AssertionError("the loss must be a tensor of one element that has a gradient")
    for i, other in enumerate(results):
        if i != loss and isinstance(other, torch.Tensor) and other.requires_grad:
            raise RuntimeError(
                "Found an output of the forward that requires gradients, that was not the scalar loss. Call "
                f".detach() on it: output index {loss} is the loss, but the output at index {i} requires "
                "gradients."
            )


def _values(program: ExportedProgram) -> list[Any]:
    """What the graph's inputs were at the recording: the state, and the example inputs."""
    given = program.example_inputs
    if given is None:
        raise AssertionError("the program has no example inputs")
    leaves = iter(torch.utils._pytree.tree_leaves(given))
    found = []
    for spec in program.graph_signature.input_specs:
        if spec.kind in STATE:
            held = program._tensor(spec.target)
            found.append(held.detach().requires_grad_(spec.kind is InputKind.PARAMETER))
        else:
            found.append(next(leaves))
    return found


def _with_inputs(made: Any, module: Any, fixed: frozenset[int]) -> None:
    """The recorded graph with the inputs that the program has, also those that are no tensors."""
    graph = made.graph
    own = graph.find_nodes(op="placeholder")
    with graph.inserting_before(own[0] if own else next(iter(graph.nodes))):
        news = []
        for old in module.graph.find_nodes(op="placeholder"):
            node = graph.placeholder(f"{old.target}_")
            node.meta.update(old.meta)
            news.append((node, old))
    tensors = iter(own)
    for i, (node, _) in enumerate(news):
        if i not in fixed:
            before = next(tensors)
            node.meta["val"] = before.meta["val"]
            before.replace_all_uses_with(node)
            graph.erase_node(before)
    for node, old in news:
        node._rename(old.name)
        node.target = old.target
    made.recompile()


def _assembled(
    program: ExportedProgram, made: Any, outputs: list[Any], loss: int, wanted: list[Any]
) -> ExportedProgram:
    """The program of a joint graph."""
    results = list(made.graph.output_node().args[0])
    specs = []
    for i, (old, node) in enumerate(zip(outputs, results, strict=False)):
        arg = argument_of(node) if isinstance(node, torch.fx.Node) else old.arg
        specs.append(OutputSpec(OutputKind.LOSS_OUTPUT if i == loss else old.kind, arg, old.target))
    for spec, node in zip(wanted, results[len(outputs) :], strict=True):
        of_parameter = spec.kind is InputKind.PARAMETER
        kind = OutputKind.GRADIENT_TO_PARAMETER if of_parameter else OutputKind.GRADIENT_TO_USER_INPUT
        specs.append(OutputSpec(kind, argument_of(node), spec.target if of_parameter else spec.arg.name))
    constants = {name: t for name, t in made.named_buffers() if name not in program.constants}
    found = program._update(
        made,
        ExportGraphSignature(list(program.graph_signature.input_specs), specs),
        constants={**program.constants, **constants},
        verifiers=[torch._export.verifier.Verifier],
    )
    found._symbols, found._ranges, found._guards = [], None, []
    found.graph_module.meta.update(program.graph_module.meta)
    return found


def _sticky_export(
    forward_func: Callable[..., Any], dynamic_shapes_callback: Callable[..., Any] | None = None
) -> Callable[..., Any]:
    """A module's method (`module.forward`) that is exported at its first call, and from then on is the
    program. What it returns has it as `_exported_artifact`.

    dynamic_shapes_callback: called with the arguments of the first call, gives export()'s `dynamic_shapes`.
    """
    owner = getattr(forward_func, "__self__", None)
    if not isinstance(owner, torch.nn.Module):
        raise AssertionError("_sticky_export takes a method of a module")

    @functools.wraps(forward_func)
    def run(*args: Any, **kwargs: Any) -> Any:
        made = vars(run).get("_exported_artifact")
        if made is None:
            shapes = None if dynamic_shapes_callback is None else dynamic_shapes_callback(*args, **kwargs)
            sticky = owner.__dict__.pop("forward", None)
            owner.__dict__["forward"] = forward_func
            try:
                program = torch.export.export(owner, args, kwargs, dynamic_shapes=shapes)
            finally:
                del owner.__dict__["forward"]
                if sticky is not None:
                    owner.__dict__["forward"] = sticky
            made = program.module()
            setattr(run, "_exported_artifact", made)
        return made(*args, **kwargs)

    return run
