"""torch._dynamo.functional_export: a function or module as a graph module that is called as it is, with what
the program calls (torch.relu, x.sin(), x + y) as nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from inspect import Parameter, signature
from types import FunctionType
from typing import Any

import rushlight as torch
from rushlight import fx
from rushlight._dynamo.graphs.capture import Input, Recorder, Sources
from rushlight._dynamo.inputs import tell_shapes
from rushlight._dynamo.marks import marked
from rushlight._engine.core.callers import warn
from rushlight._engine.core.pytree import Tree, flatten, tree_map
from rushlight._subclasses.active import TracingContext
from rushlight._subclasses.fake_tensor import FakeTensorMode
from rushlight.export.errors import UserError, UserErrorType
from rushlight.export.recording.side_effects import variables
from rushlight.export.recording.state import as_before, refill
from rushlight.fx.conventions import CodeGen
from rushlight.fx.experimental.symbolic_shapes import ShapeEnv
from rushlight.fx.graph_module import put

__all__ = ["dynamo_graph_capture_for_export"]

_LEAVES: tuple[type[Any], ...] = (torch.Tensor, int, float, complex, str, bytes, slice, range, type(None))
_LEAVES += (torch.dtype, torch.device, torch.layout, torch.nn.Module, type, FunctionType)


def dynamo_graph_capture_for_export(
    mod: Callable[..., Any], constraints: Any = None
) -> Callable[..., fx.GraphModule]:
    """A function that calls mod(*args, **kwargs) once, and gives that call as a GraphModule that is called as
    `mod`: its nodes are the functions of torch that the program calls.

    Numbers, sizes and branches are those of this call. The module has the parameters and buffers of `mod`;
    its meta has "fake_mode" and "tracing_context". constraints: accepted, and changes nothing. UserError for
    arguments that are no pytrees of tensors and constants; Unsupported where the program reads a tensor's
    numbers.
    """

    def capture(*args: Any, **kwargs: Any) -> fx.GraphModule:
        _check_inputs(flatten((args, kwargs))[0])
        if any(marked((args, kwargs))):
            warn(
                "sizes that are marked as dynamic are, in the captured graph, those of this call", UserWarning
            )
        own_args, own_kwargs = tree_map(_own, (args, kwargs))
        sources = Sources(mod, own_args, own_kwargs)
        recorder = Recorder(sources)
        grads = recorder.grads
        with _put_back(mod, sources.owner), recorder:
            found = mod(*own_args, **own_kwargs)
        recorder.mode(grads)
        leaves, spec = flatten(found)
        results = _results(leaves, recorder, sources)
        recorder.graph.output(tuple(r for r in results if isinstance(r, fx.Node)))
        return _module(mod, recorder, sources, Results(spec, results), (args, kwargs))

    return capture


_dynamo_graph_capture_for_export = dynamo_graph_capture_for_export


def _check_inputs(leaves: Sequence[Any]) -> None:
    """UserError for an argument that is no pytree."""
    wrong = next((v for v in leaves if not isinstance(v, _LEAVES)), None)
    if wrong is not None:
        raise UserError(
            UserErrorType.INVALID_INPUT,
            f"It looks like one of the inputs with type `{type(wrong)}` is not supported or "
            "pytree-flattenable. Register it as a pytree node, as torch.utils._pytree.register_pytree_node "
            "does.",
        )


def _own(value: Any) -> Any:
    """A copy of a tensor that the call may write into."""
    if not isinstance(value, torch.Tensor) or isinstance(value, torch.nn.Parameter):
        return value
    return value.detach().clone(memory_format=torch.preserve_format).requires_grad_(value.requires_grad)


# --- what the call leaves ---------------------------------------------------------------------------


@contextmanager
def _put_back(f: Any, owner: Any) -> Iterator[None]:
    """A context that puts back the module's state, and the lists, dicts and sets that f's code names."""
    code = type(f).forward if isinstance(f, torch.nn.Module) else f
    plain = getattr(code, "__func__", code)
    named = [v for _, v in variables(plain)] if isinstance(plain, FunctionType) else []
    held = [(v, v.copy()) for v in named if type(v) in (list, dict, set)]
    try:
        with as_before(torch.nn.Module() if owner is None else owner, False):
            yield
    finally:
        for value, before in held:
            refill(value, before)


class _Given(int):
    """A result that is one of the arguments' leaves: its number."""


def _results(leaves: Sequence[Any], recorder: Recorder, sources: Sources) -> list[Any]:
    """What the leaves of a result are: nodes, arguments, or constants."""
    inputs = {id(t): i for i, t in enumerate(sources.leaves) if isinstance(t, torch.Tensor)}
    found: list[Any] = []
    for leaf in leaves:
        if isinstance(leaf, torch.Tensor):
            node = recorder.known.get(id(leaf))
            if id(leaf) in inputs and (node is None or node.op == "placeholder"):
                found.append(_Given(inputs[id(leaf)]))
            else:
                found.append(recorder.argument(leaf))
        elif isinstance(leaf, _LEAVES):
            found.append(leaf)
        else:
            raise torch._dynamo.exc.Unsupported(
                f"the result has a {type(leaf)} in it, which is no pytree: register it, as "
                "torch.utils._pytree.register_pytree_node does"
            )
    return found


class Results:
    """How a call's result is made of what the graph gives, and of the arguments."""

    def __init__(self, spec: Tree, parts: Sequence[Any]) -> None:
        self.spec = spec
        self.parts = [None if isinstance(p, fx.Node) else p for p in parts]
        self.made = [isinstance(p, fx.Node) for p in parts]

    def __call__(self, values: Sequence[Any], args: Any) -> Any:
        """The result of a call with these arguments, of which the graph gave these values."""
        left, leaves = iter(values), flatten(args)[0]
        parts = [
            next(left) if made else leaves[p] if isinstance(p, _Given) else p
            for p, made in zip(self.parts, self.made, strict=True)
        ]
        return self.spec.unflatten(parts)


class Inputs:
    """What the graph's inputs are in a call."""

    def __init__(self, module: Any, inputs: Sequence[Input], spec: Tree) -> None:
        self.module, self.inputs, self.spec = module, inputs, spec

    def __call__(self, *args: Any) -> list[Any]:
        """The inputs of the graph, for a call with these arguments. ValueError for arguments that are nested
        in another way than those of the captured call.
        """
        leaves, spec = flatten(args)
        if spec != self.spec:
            raise ValueError(f"the arguments are nested as {spec}, and were captured as {self.spec}")
        return [self._value(i, leaves) for i in self.inputs]

    def _value(self, of: Input, leaves: Sequence[Any]) -> Any:
        if of.leaf is not None:
            return leaves[of.leaf]
        if of.held is None:
            return of.tensor
        owner, _, last = of.held.rpartition(".")
        return getattr(self.module.get_submodule(owner), last)


class _CapturedCode(CodeGen):
    """A function that takes the arguments apart, and puts the result together."""

    def __init__(self, parameters: list[tuple[str, str]], flat: Inputs, unflat: Results) -> None:
        super().__init__()
        self.parameters, self.flat, self.unflat = parameters, flat, unflat

    def _given(self) -> str:
        names = [name.lstrip("*") for name, _ in self.parameters]
        return f"({names[0]}, )" if len(names) == 1 else f"({', '.join(names)})"

    def gen_fn_def(
        self, free_vars: list[str], maybe_return_annotation: str, *, expanded_def: bool = False
    ) -> str:
        """The definition, and the line that makes the graph's inputs of the arguments."""
        declared = [name + default for name, default in self.parameters]
        text = super().gen_fn_def(declared, maybe_return_annotation, expanded_def=expanded_def)
        text += f"\n    _fn_args = {self._given()}"
        bare = [v.partition(":")[0].strip() for v in free_vars if v != "self"]
        if bare:
            text += f"\n    {' , '.join(bare)} , = self._dynamo_bytecode_flatten(*_fn_args)"
        return text

    def generate_output(
        self,
        output_args: Any,
        *,
        descs: Sequence[str] | None = None,
        repr_fn: Callable[[object], str] | None = None,
    ) -> str:
        """The statement that returns the result."""
        return f"return self._dynamo_bytecode_unflatten({(repr_fn or repr)(output_args)}, _fn_args)"

    def process_inputs(self, *inputs: Any) -> Any:
        """The graph's inputs for these arguments."""
        return self.flat(*inputs)


def _module(mod: Any, recorder: Recorder, sources: Sources, results: Results, given: Any) -> fx.GraphModule:
    """The GraphModule of a recorded call."""
    args, kwargs = given
    recorder.graph._codegen = CodeGen()
    made = fx.GraphModule(torch.nn.Module(), recorder.graph)
    if sources.owner is not None:
        _give_state(made, sources.owner)
    values = (*args, *kwargs.values())
    flat = Inputs(made, recorder.inputs, flatten(values)[1])
    tell_shapes(made, [i.tensor for i in recorder.inputs])
    made.__dict__.update(_dynamo_bytecode_flatten=flat, _dynamo_bytecode_unflatten=results)
    made.graph._codegen = _CapturedCode(_parameters(mod, args, kwargs), flat, results)
    made.recompile()
    mode = FakeTensorMode(shape_env=ShapeEnv(), allow_non_fake_inputs=True)
    context = TracingContext(mode)
    for t in flatten(given)[0]:
        if isinstance(t, torch.Tensor):
            context.tensor_to_context[t] = None
    made.meta.update(fake_mode=mode, tracing_context=context, module_call_specs={})
    return made


def _give_state(made: fx.GraphModule, owner: torch.nn.Module) -> None:
    """The module's parameters and buffers, by the names that it has for them."""
    for name, t in (*owner.named_parameters(), *owner.named_buffers()):
        put(made, name, t)
        holder, _, last = name.rpartition(".")
        if last in owner.get_submodule(holder)._non_persistent_buffers_set:
            made.get_submodule(holder)._non_persistent_buffers_set.add(last)


_SEVERAL = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)


def _parameters(mod: Any, args: Any, kwargs: Any) -> list[tuple[str, str]]:
    """The parameters of the made function, each with how its default is written. Modules' positional ones are
    args_0, args_1, ...; PyTorch's are, too.
    """
    if isinstance(mod, torch.nn.Module) or isinstance(getattr(mod, "__self__", None), torch.nn.Module):
        return [(f"args_{i}", "") for i in range(len(args))] + [(name, "") for name in kwargs]
    names = [f"args_{i}" for i in range(len(args))] + list(kwargs)
    try:
        own = signature(mod)
        bound = own.bind(*args, **kwargs).arguments
    except (TypeError, ValueError):
        bound = {}
    if len(bound) == len(names) and all(own.parameters[n].kind not in _SEVERAL for n in bound):
        names = list(bound)
    return [(name, "") for name in names]


# --- names of the state -----------------------------------------------------------------------------


def _restore_state_dict(original_module: Any, traced_module: fx.GraphModule) -> None:
    """Give the parameters and buffers of a graph module the names that the module has, or that a method's
    module has, of which it was made. TypeError for what is neither.
    """
    owner = getattr(original_module, "__self__", original_module)
    if not isinstance(owner, torch.nn.Module):
        raise TypeError(f"expected a module or a method of one, got {type(original_module)}")
    wanted = {id(t): name for name, t in (*owner.named_parameters(), *owner.named_buffers())}
    renamed = {}
    for name, t in [*traced_module.named_parameters(), *traced_module.named_buffers()]:
        new = wanted.get(id(t), name)
        if new != name:
            renamed[name] = new
            holder, _, last = name.rpartition(".")
            delattr(traced_module.get_submodule(holder), last)
            put(traced_module, new, t)
    for node in traced_module.graph.find_nodes(op="get_attr"):
        node.target = renamed.get(str(node.target), node.target)
    if renamed:
        traced_module.recompile()
