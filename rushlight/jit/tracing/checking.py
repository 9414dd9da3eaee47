"""What torch.jit.trace looks at afterwards: whether a second recording is the same, and the results are."""

from __future__ import annotations

import difflib
import re
import textwrap
from collections.abc import Callable
from typing import Any

import rushlight as torch
from rushlight._engine.core.callers import warn
from rushlight._engine.core.pytree import flatten
from rushlight.jit.compiler.calls import declaration
from rushlight.jit.program import execute
from rushlight.jit.program.graphtext import GraphWriter
from rushlight.jit.program.ir import Function, Node, inlined, walk
from rushlight.jit.tracing.traced import TracerWarning, TracingCheckError
from rushlight.testing.comparison import default_tolerances

_RANDOM = re.compile(
    r"aten::(.*dropout|bernoulli|multinomial|normal|poisson|rrelu|rand|rand_like|randint|randint_like|randn|"
    r"randn_like|randperm)_?$"
)


@torch.no_grad()
def check(
    traced: Function,
    again: Callable[[tuple[Any, ...]], tuple[Function, tuple[Any, ...]]],
    run: Callable[..., Any],
    func: Callable[..., Any],
    inputs: tuple[Any, ...],
    tolerance: float,
) -> None:
    """Record `func` again, on copies of inputs: again(inputs) gives the program and what its first
    argument is (self). Warns where results of `run` (the program) and `func` are not within the tolerance;
    TracingCheckError where the two programs differ, or the constants in them. Each run draws random numbers
    and moves a module's buffers as any does, as PyTorch's check: what follows depends on how many there are.
    """
    second, own = again(copies(inputs))

    def ran(call: Callable[..., Any], what: str) -> list[Any]:
        try:
            found = call(*copies(inputs))
        except Exception as error:
            text = textwrap.indent(str(error), "\t")
            message = (
                f"encountered an exception while running the {what} with test inputs.\nException:\n{text}"
            )
            raise TracingCheckError(*_differences(traced, second), extra_msg=message) from error
        return [x for x in (found if isinstance(found, tuple) else (found,)) if isinstance(x, torch.Tensor)]

    results = ran(run, "trace")
    if _same_results(traced, results, ran(func, "Python function"), "Python function", tolerance):
        repeated = ran(_bound(execute.entry(second, declaration(second)), own), "repeated trace")
        _same_results(traced, results, repeated, "repeated trace", tolerance)
    found = _differences(traced, second)
    if any(found):
        raise TracingCheckError(*found)


def _bound(call: Callable[..., Any], own: tuple[Any, ...]) -> Callable[..., Any]:
    return lambda *args: call(*own, *args)


def copies(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Inputs whose tensors are others with the same values."""
    leaves, spec = flatten(inputs)
    made = [
        x.detach().clone().requires_grad_(x.requires_grad) if isinstance(x, torch.Tensor) else x
        for x in leaves
    ]
    return tuple(spec.unflatten(made))


def _same_results(
    function: Function, ours: list[Any], theirs: list[Any], what: str, tolerance: float
) -> bool:
    """Whether results are the same; warns of each that is not, within `tolerance` of its size and what is
    usual for its dtype.
    """
    same = True
    for i, (a, b) in enumerate(zip(ours, theirs, strict=False)):
        usual = default_tolerances(a, b)[1]
        try:
            for one, other in zip(_wide(a), _wide(b), strict=True):
                torch.testing.assert_close(one, other, rtol=tolerance, atol=usual, equal_nan=True)
        except AssertionError as error:
            if same:
                _warn_of_random_numbers(function)
            warn(
                f"Output nr {i + 1}. of the traced function does not match the corresponding output of the "
                f"{what}. Detailed error:\n{error}",
                TracerWarning,
            )
            same = False
    return same


def _wide(x: Any) -> list[Any]:
    """A result as float64 or complex128, dense; a nested one's parts."""
    if x.is_nested:
        return [part.double() for part in x.unbind()]
    dense = x.dequantize() if x.is_quantized else x.to_dense() if x.is_mkldnn else x
    return [dense.to(torch.complex128 if x.is_complex() else torch.float64)]


def _warn_of_random_numbers(function: Function) -> None:
    nodes = [node for node in walk(inlined(function).block) if _draws(node)]
    if nodes:
        listed = "\n".join(f"\t{node!r}" for node in nodes[:20])
        warn(
            "Trace had nondeterministic nodes. Did you forget call .eval() on your model? Nodes:\n"
            f"{listed}\nThis may cause errors in trace checking. To disable trace checking, pass "
            "check_trace=False to torch.jit.trace()",
            TracerWarning,
        )


def _draws(node: Node) -> bool:
    """Whether an op's result is another each time; dropout's is only in training."""
    if not _RANDOM.match(node.kind):
        return False
    training = node.inputs[2].node if "dropout" in node.kind and len(node.inputs) > 2 else None
    return training is None or bool(training.attrs.get("value", True))


def _differences(first: Function, second: Function) -> tuple[str | None, str | None]:
    """How two recordings of one function differ: in their graphs, and in their constant tensors."""
    functions = [inlined(first), inlined(second)]
    texts = [_text(function) for function in functions]
    graphs = None
    if texts[0] != texts[1]:
        lines = difflib.ndiff(texts[0].splitlines(True), texts[1].splitlines(True))
        graphs = f"Graph diff:\n{textwrap.indent(''.join(lines), chr(9))}\n"
        graphs += _first_difference(*functions)
    return graphs, _constants(*functions)


def _first_difference(first: Function, second: Function) -> str:
    for one, other in zip(walk(first.block), walk(second.block), strict=False):
        if repr(one) != repr(other) or [v.node and v.node.kind for v in one.inputs] != [
            v.node and v.node.kind for v in other.inputs
        ]:
            lines = "\n".join(difflib.ndiff([repr(one)], [repr(other)]))
            return (
                f"First diverging operator:\nNode diff:\n{textwrap.indent(lines, chr(9))}\n"
                f"Trace source location:\n\t{one.place}\nCheck source location:\n\t{other.place}\n"
            )
    return ""


def _text(function: Function) -> str:
    """A graph without sizes, places and what makes names unique."""
    for value in function.block.params:
        value.example = None
    for node in walk(function.block):
        node.place = ""
        for value in node.outputs:
            value.example = None
    return re.sub(r"___torch_mangle_[0-9]+\.", "", GraphWriter().write(function))


def _constants(first: Function, second: Function) -> str | None:
    """The first constant tensor that is another in the second recording."""
    for one, other in zip(walk(first.block), walk(second.block), strict=False):
        if one.kind != other.kind:
            return None
        values = [node.attrs.get("value") for node in (one, other)]
        if one.kind == "prim::Constant" and all(isinstance(v, torch.Tensor) for v in values):
            try:
                torch.testing.assert_close(*values, equal_nan=True)
            except (RuntimeError, AssertionError) as error:
                return f"Node:\n\t{one!r}\nComparison exception: {textwrap.indent(str(error), chr(9))}"
    return None
