"""torch._functorch.aot_autograd: a function's forward and backward as graphs for compilers of one's own.

`aot_function` records both at the first call, cuts the joint graph (partitioners.py) and gives each half to a
compiler. What they return is run from then on: there are no guards, later arguments have the same shapes.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import rushlight as torch
from rushlight._engine.core.callers import warn
from rushlight._engine.core.pytree import flatten
from rushlight._functorch import joint_graphs
from rushlight._functorch.joint_graphs import Facts, Joint, seen
from rushlight._functorch.partitioners import default_partition

__all__ = [
    "aot_function",
    "aot_module",
    "aot_module_simplified",
    "compiled_function",
    "compiled_module",
    "get_aot_compilation_context",
    "get_aot_graph_name",
    "get_graph_being_compiled",
    "make_boxed_compiler",
    "make_boxed_func",
    "set_model_name",
]

_COUNTER = itertools.count()
_BEING: list[str] = []


class _Naming:
    """What graphs' names are made of."""

    model = "model"
    nth = 0


def make_boxed_func(f: Callable[..., Any]) -> Callable[[Any], Any]:
    """f, called with a list of its arguments."""

    def boxed(args: Any) -> Any:
        return f(*args)

    setattr(boxed, "_boxed_call", True)
    return boxed


def make_boxed_compiler(compiler: Callable[..., Any]) -> Callable[..., Any]:
    """A compiler whose functions are called with a list."""

    def compile(graph: Any, inputs: Any) -> Any:
        return make_boxed_func(compiler(graph, inputs))

    return compile


# --- what is being compiled -------------------------------------------------------------------------


def set_model_name(name: str) -> None:
    """The name that graphs' names begin with."""
    _Naming.model = name


def get_aot_compilation_context() -> tuple[list[str], str, int]:
    """(names of the graphs being compiled, the model's name, how many graphs there have been)."""
    return list(_BEING), _Naming.model, _Naming.nth


def get_aot_graph_name() -> str:
    """The name of the graph that is being compiled: "model__0_forward_0"."""
    return f"{_Naming.model}__{'_'.join(_BEING)}_{_Naming.nth}"


get_graph_being_compiled = get_aot_graph_name


@contextmanager
def _compiling(number: int, kind: str) -> Iterator[None]:
    _BEING[:] = [f"{number}_{kind}"]
    try:
        yield
    finally:
        _Naming.nth += 1
        _BEING.clear()


# --- compiling --------------------------------------------------------------------------------------


class Options(NamedTuple):
    """How a function is compiled."""

    fw_compiler: Callable[..., Any]
    bw_compiler: Callable[..., Any]
    inference_compiler: Callable[..., Any]
    partition_fn: Callable[..., Any]
    decompositions: Any
    number: int


def _options(
    fw_compiler: Any, bw_compiler: Any, inference_compiler: Any, partition_fn: Any, decompositions: Any
) -> Options:
    return Options(
        fw_compiler,
        bw_compiler or fw_compiler,
        inference_compiler or fw_compiler,
        partition_fn,
        decompositions,
        next(_COUNTER),
    )


def _boxed(compiled: Any) -> Callable[[list[Any]], Any]:
    if getattr(compiled, "_boxed_call", False):
        return compiled  # type: ignore[no-any-return]

    def run(args: list[Any]) -> Any:
        warn(
            "Your compiler for AOTAutograd is returning a function that doesn't take boxed arguments. "
            "Please wrap it with functorch.compile.make_boxed_func or handle the boxed arguments yourself. "
            "See https://github.com/pytorch/pytorch/pull/83137#issuecomment-1211320670 for rationale.",
        )
        return compiled(*args)

    return run


def _examples(graph: Any) -> list[Any]:
    """What a graph's inputs are, as a compiler sees them."""
    return [node.meta.get("val") for node in graph.graph.nodes if node.op == "placeholder"]


class _Inference:
    """A compiled forward without a backward."""

    def __init__(self, made: Joint, options: Options) -> None:
        with _compiling(options.number, "inference"), torch.no_grad():
            self.run = _boxed(options.inference_compiler(made.module, _examples(made.module)))

    def __call__(self, args: list[Any]) -> Sequence[Any]:
        with torch.no_grad():
            return _listed(self.run([a.detach() if isinstance(a, torch.Tensor) else a for a in args]))


def _listed(found: Any) -> Sequence[Any]:
    return found if isinstance(found, (tuple, list)) else [found]


class _Training:
    """A compiled forward and its backward, as one node of autograd's graph."""

    def __init__(self, made: Joint, args: Sequence[Any], written: list[int], options: Options) -> None:
        self.results, self.tangents, self.written = made.forward_results, made.tangents, written
        with _compiling(options.number, "joint"):
            forward, backward = options.partition_fn(
                made.module, [list(args), made.tangent_values], num_fwd_outputs=self.results
            )
        with _compiling(options.number, "forward"), torch.no_grad():
            self.forward = _boxed(options.fw_compiler(forward, _examples(forward)))
        with _compiling(options.number, "backward"), torch.no_grad():
            self.backward = _boxed(options.bw_compiler(backward, _examples(backward)))
        self.function = self._function()

    def __call__(self, args: list[Any]) -> Sequence[Any]:
        return self.function.apply(*args)  # type: ignore[no-any-return]

    def _function(self) -> Any:
        compiled = self

        class CompiledFunction(torch.autograd.Function):
            @staticmethod
            def forward(ctx: Any, *args: Any) -> Any:
                found = list(_listed(compiled.forward(list(args))))
                results = found[: compiled.results]
                saved = _apart(found[compiled.results :], [args[i] for i in compiled.written])
                ctx.save_for_backward(*(s for s in saved if isinstance(s, torch.Tensor)))
                ctx.plain = [None if isinstance(s, torch.Tensor) else s for s in saved]
                others = [r for i, r in enumerate(results) if i not in compiled.tangents]
                ctx.mark_non_differentiable(*(r for r in others if isinstance(r, torch.Tensor)))
                return tuple(results)

            @staticmethod
            def backward(ctx: Any, *grads: Any) -> Any:
                tensors = iter(ctx.saved_tensors)
                saved = [next(tensors) if s is None else s for s in ctx.plain]
                tangents = [grads[i].contiguous() for i in compiled.tangents]
                twice = torch.is_grad_enabled()
                with torch.no_grad():
                    found = tuple(_listed(compiled.backward([*saved, *tangents])))
                given = [t for t in (*saved, *tangents) if isinstance(t, torch.Tensor) and t.requires_grad]
                return _Once.apply(len(given), *given, *found) if twice and given else found

        return CompiledFunction


def _apart(saved: Sequence[Any], written: Sequence[Any]) -> list[Any]:
    """What a backward pass is to have, in memory that is not written to before."""
    places = {t.untyped_storage().data_ptr() for t in written}
    return [
        s.clone() if isinstance(s, torch.Tensor) and s.untyped_storage().data_ptr() in places else s
        for s in saved
    ]


class _Once(torch.autograd.Function):
    """Gradients that have none themselves."""

    @staticmethod
    def forward(ctx: Any, count: int, *values: Any) -> Any:
        return tuple(v.view_as(v) if isinstance(v, torch.Tensor) else v for v in values[count:])

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        raise RuntimeError(
            "torch.compile with aot_autograd does not currently support double backward: a compiled "
            "backward is a function without a gradient of its own"
        )


class Compiled:
    """A compiled function of a flat list of arguments, with what it does to these and gives of them."""

    def __init__(self, function: joint_graphs.Flat, args: Sequence[Any], options: Options) -> None:
        self.facts: Facts = seen(function, args)
        table = options.decompositions
        self.run: _Inference | _Training
        if self.facts.training:
            made = joint_graphs.joint(function, args, self.facts, table)
            self.run = _Training(made, args, self.facts.written, options)
        else:
            self.run = _Inference(joint_graphs.inference(function, args, self.facts, table), options)

    def __call__(self, args: Sequence[Any]) -> list[Any]:
        """The results; written inputs are written to."""
        found = list(self.run(list(args)))
        count = len(self.facts.written)
        for place, value in zip(self.facts.written, found, strict=False):
            args[place].copy_(value)
        outputs = zip(self.facts.outputs, found[count:], strict=False)
        return [self._output(facts, value, args) for facts, value in outputs]

    @staticmethod
    def _output(facts: Any, value: Any, args: Sequence[Any]) -> Any:
        if not isinstance(facts.value, torch.Tensor):
            return facts.value
        if facts.input is None:
            return value
        source = args[facts.input]
        if facts.view is None:
            return source
        size, stride, offset = facts.view
        return source.as_strided(size, stride, offset + source.storage_offset())


def aot_function(
    fn: Callable[..., Any],
    fw_compiler: Callable[..., Any],
    bw_compiler: Callable[..., Any] | None = None,
    partition_fn: Callable[..., Any] = default_partition,
    decompositions: Any = None,
    num_params_buffers: int = 0,
    keep_inference_input_mutations: bool = False,
    inference_compiler: Callable[..., Any] | None = None,
    *,
    dynamic: bool = False,
    enable_log: bool = True,
    disable_functionalization: bool = False,
    _disable_torch_fn_metadata_mode: bool = False,
) -> Callable[..., Any]:
    """fn, whose forward and backward are recorded at the first call and compiled by the given compilers.

    fw_compiler(graph, example_inputs) gets a GraphModule of torch.ops.aten ops and returns what runs it; so
    does bw_compiler (else fw_compiler), and inference_compiler where there are no gradients.
    partition_fn(joint_graph, inputs, num_fwd_outputs=N) cuts the joint graph into the two.
    decompositions: functions by overload that stand for ops.
    """
    options = _options(fw_compiler, bw_compiler, inference_compiler, partition_fn, decompositions)
    state: dict[str, Any] = {}

    def returned_function(*args: Any, **kwargs: Any) -> Any:
        leaves, spec = flatten((args, kwargs))
        if "compiled" not in state:

            def flat(*values: Any) -> list[Any]:
                own_args, own_kwargs = spec.unflatten(list(values))
                found, state["spec"] = flatten(fn(*own_args, **own_kwargs))
                return list(found)

            state["compiled"] = Compiled(flat, leaves, options)
        return state["spec"].unflatten(state["compiled"](leaves))

    return returned_function


def aot_module(mod: Any, *args: Any, **kwargs: Any) -> Any:
    """A module whose forward is mod's by aot_function(*args, **kwargs); `orig_module` has the parameters."""
    torch._assert(isinstance(mod, torch.nn.Module), "Function only accepts nn.Module")

    def functional(named_params: Any, named_buffers: Any, *inputs: Any, **named: Any) -> Any:
        return torch.func.functional_call(mod, {**named_params, **named_buffers}, inputs, named)

    compiled = aot_function(functional, *args, **kwargs)

    class AOTModule(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.orig_module = mod

        def forward(self, *inputs: Any, **named: Any) -> Any:
            own = dict(mod.named_parameters()), dict(mod.named_buffers())
            return compiled(*own, *inputs, **named)

    return AOTModule()


def aot_module_simplified(
    mod: Any,
    args: Sequence[Any],
    fw_compiler: Callable[..., Any],
    bw_compiler: Callable[..., Any] | None = None,
    partition_fn: Callable[..., Any] = default_partition,
    decompositions: Any = None,
    keep_inference_input_mutations: bool = False,
    inference_compiler: Callable[..., Any] | None = None,
    **options: Any,
) -> Callable[..., Any]:
    """A function of mod's arguments, compiled at once for `args`: what backends of torch.compile use."""
    own = {
        **dict(mod.named_parameters(remove_duplicate=False)),
        **dict(mod.named_buffers(remove_duplicate=False)),
    }
    names, held = list(own), list(own.values())
    state: dict[str, Any] = {}

    def flat(*values: Any) -> list[Any]:
        given = dict(zip(names, values, strict=False))
        found = torch.func.functional_call(mod, given, values[len(names) :])
        leaves, state["spec"] = flatten(found)
        return list(leaves)

    compiled = Compiled(
        flat,
        [*held, *args],
        _options(fw_compiler, bw_compiler, inference_compiler, partition_fn, decompositions),
    )

    def forward(*runtime_args: Any) -> Any:
        return state["spec"].unflatten(compiled([*held, *runtime_args]))

    for name in ("zero_grad", "named_parameters", "named_buffers"):
        setattr(forward, name, getattr(mod, name))
    return forward


compiled_function = aot_function
compiled_module = aot_module
