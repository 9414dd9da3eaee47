"""torch.compiler.set_stance, callbacks, and what programs say about functions; answers are PyTorch 2.13's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import rushlight as torch
import rushlight._dynamo as dynamo
from rushlight._dynamo.callback import callback_handler
from rushlight._dynamo.exc import Unsupported


@pytest.fixture(autouse=True)
def usual() -> Iterator[None]:
    """Leave no stance and no callback behind."""
    yield
    torch.compiler.set_stance("default")
    callback_handler.clear()


def compiled() -> tuple[Any, list[bool]]:
    """A compiled function, and whether each of its calls was."""
    calls: list[bool] = []

    @torch.compile(backend="eager")
    def f(x: torch.Tensor) -> torch.Tensor:
        calls.append(torch.compiler.is_compiling())
        return x + 1

    return f, calls


def test_forms() -> None:
    f, calls = compiled()
    torch.compiler.set_stance("force_eager")
    f(torch.ones(2))
    torch.compiler.set_stance("default")
    f(torch.ones(2))
    with torch.compiler.set_stance("force_eager"):
        f(torch.ones(2))
    f(torch.ones(2))

    @torch.compiler.set_stance("force_eager")
    def around() -> None:
        f(torch.ones(2))

    f(torch.ones(2))
    around()
    f(torch.ones(2))
    assert calls == [False, True, False, True, True, False, True]


def test_new_kinds_of_arguments() -> None:
    f, calls = compiled()
    f(torch.ones(2))
    with torch.compiler.set_stance("eager_on_recompile"):
        f(torch.ones(2))
        f(torch.ones(2, 2))
    assert calls == [True, True, False]
    with torch.compiler.set_stance("fail_on_recompile"):
        f(torch.ones(2))
        with pytest.raises(RuntimeError, match=r"Detected recompile .*function name: 'f'(?s:.*)triggered by"):
            f(torch.ones(2, 2))
        with pytest.raises(RuntimeError, match="Detected recompile"):
            compiled()[0](torch.ones(2))
        module: Any = torch.compile(torch.nn.Linear(2, 2))
        with pytest.raises(RuntimeError, match=r"linear.py', function name: 'forward'"):
            module(torch.ones(1, 2))


@pytest.mark.parametrize("backend", ["inductor", "handed"])
def test_kinds_are_known_to_all_backends(backend: str) -> None:
    f = torch.compile(
        lambda x: x * 2, backend=backend if backend == "inductor" else lambda module, inputs: module
    )
    f(torch.ones(2))
    with torch.compiler.set_stance("fail_on_recompile"):
        assert f(torch.ones(2)).tolist() == [2, 2]
        with pytest.raises(RuntimeError, match="Detected recompile"):
            f(torch.ones(3).double())


def test_another_backend() -> None:
    graphs = []

    def backend(module: Any, inputs: Any) -> Any:
        graphs.append(module)
        return module

    f, _ = compiled()
    with torch.compiler.set_stance("default", force_backend=backend):
        f(torch.ones(3))
        f(torch.ones(3))
    f(torch.ones(3))
    assert len(graphs) == 1


def test_mistakes() -> None:
    with pytest.raises(RuntimeError, match="invalid torch.compile stance 'eager'"):
        torch.compiler.set_stance("eager")
    with pytest.raises(RuntimeError, match="non-default stance cannot have force_backend set"):
        torch.compiler.set_stance("force_eager", force_backend="eager")

    @torch.compile
    def inside(x: torch.Tensor) -> torch.Tensor:
        torch.compiler.set_stance("force_eager")
        return x

    with pytest.raises(AssertionError, match="inside of a compiled function"):
        inside(torch.ones(2))


def test_callbacks() -> None:
    heard: list[tuple[str, str]] = []

    @dynamo.on_compile_start
    def start(args: Any) -> None:
        heard.append(("start", args.callback_trigger.name))

    @dynamo.on_compile_end
    def end(args: Any) -> None:
        heard.append(("end", args.callback_trigger.name))

    f, _ = compiled()
    for count in (2, 2, 3):
        f(torch.ones(count))
    assert heard == [("start", "DYNAMO"), ("end", "DYNAMO")] * 2
    callback_handler.remove_start_callback(start)
    callback_handler.remove_end_callback(end)
    assert not callback_handler.listening


def test_error_on_graph_break() -> None:
    def breaks(x: torch.Tensor, error: bool) -> torch.Tensor:
        with dynamo.error_on_graph_break(error):
            x = x + 1
            dynamo.graph_break()
            return x

    for backend in ("eager", lambda module, inputs: module):
        made = torch.compile(breaks, backend=backend)
        for _ in range(3):
            assert made(torch.ones(1), False).item() == 2
            with pytest.raises(Unsupported, match=r"graph_break\(\) was called, at .*test_stances.py"):
                made(torch.ones(1), True)

    @dynamo.error_on_graph_break(True)
    def outside() -> None:
        dynamo.graph_break()

    outside()
    for said in (dynamo.skip_frame, dynamo.step_unsupported):
        whole = torch.compile(lambda x, said=said: said("why") or x + 1, backend="eager", fullgraph=True)
        with pytest.raises(Unsupported, match="was called: why"):
            whole(torch.ones(1))


def test_functions_stay_what_they_are() -> None:
    def f(x: Any) -> Any:
        return x

    for mark in (
        dynamo.nonstrict_trace,
        dynamo.disallow_in_graph,
        dynamo.forbid_in_graph,
        dynamo.dont_skip_tracing,
        dynamo.disable_nested_graph_breaks,
        torch.compiler.nonstrict_trace,
        torch.compiler.nested_compile_region,
        torch.compiler.nested_compile_region(max_reuse_entries=1),
    ):
        assert mark(f) is f
    with dynamo.dont_skip_tracing(), dynamo.override_cudagraphs(fwd=False):
        assert dynamo.override_cudagraphs()(f)(3) == 3
    with pytest.raises(AssertionError, match="applies only to callables"):
        dynamo.forbid_in_graph(3)
    assert dynamo.is_dynamo_disable_recursive(torch.compiler.disable(f)) is True
    assert dynamo.is_dynamo_disable_recursive(torch.compiler.disable(f, recursive=False)) is False
    assert dynamo.is_dynamo_disable_recursive(f) is None


def test_substitutes() -> None:
    import operator

    @torch.compiler.substitute_in_graph(operator.indexOf, can_constant_fold_through=True)
    def index(a: Any, b: Any, /) -> int:
        raise ValueError("never called")

    assert index([1, 2], 2) == 1
    with pytest.raises(TypeError, match="Signature mismatch"):
        torch.compiler.substitute_in_graph(len)(lambda x: 3)
    with pytest.raises(TypeError, match="expects a function"):
        torch.compiler.substitute_in_graph(3)


def test_limits_and_settings() -> None:
    assert dynamo.is_dynamo_supported() and dynamo.is_inductor_supported()
    assert dynamo.get_recursion_limit() == -1
    dynamo.set_recursion_limit(10)
    assert dynamo.get_recursion_limit() == 10
    dynamo.set_recursion_limit(-1)
    with pytest.raises(ValueError, match="recursion limit must be >= 1, or -1 to reset"):
        dynamo.set_recursion_limit(0)
    with dynamo.patch_dynamo_config("recompile_limit", 3):
        assert dynamo.config.recompile_limit == 3
    assert dynamo.config.recompile_limit == 8


def test_options() -> None:
    double = torch.compile(
        lambda x: x * 2,
        options={
            "guard_filter_fn": torch.compiler.skip_all_guards_unsafe,
            "max_autotune": True,
            "triton.cudagraphs": False,
            "epilogue_fusion": True,
        },
    )
    assert double(torch.ones(2)).tolist() == [2, 2]
    with pytest.raises(RuntimeError, match="Unexpected optimization option bogus, known options are"):
        torch.compile(double, options={"bogus": 1})
    with pytest.raises(RuntimeError, match="Unexpected type of attr max_autotune, got str should be bool"):
        torch.compile(double, options={"max_autotune": "x"})
    with pytest.raises(
        RuntimeError, match="Unexpected type of attr triton.cudagraphs, got int should be bool"
    ):
        torch.compile(double, options={"triton.cudagraphs": 1})


@pytest.mark.parametrize("backend", ["eager", lambda module, inputs: module])
def test_items_that_are_not_read_make_no_new_kind(backend: Any) -> None:
    @torch.compile(backend=backend)
    def by_item(x: Any, given: Any, unused: Any = 0) -> Any:
        return x * given[1]

    @torch.compile(backend=backend)
    def whole(x: Any, given: Any) -> Any:
        return x * given[1] + sum(given)

    x = torch.ones(2)
    for compiled in (by_item, whole):
        compiled(x, (1, 2, 3))
    by_item(x, {1: 1, 2: 2}, 5)
    with torch._dynamo.config.patch(error_on_recompile=True):
        assert by_item(x, (11, 2, 13)).tolist() == [2.0, 2.0]
        assert by_item(x, {1: 1, 2: 3}, 7).tolist() == [1.0, 1.0]
        for compiled, other in ((by_item, (1, 2.5, 3)), (by_item, {1: 1.5, 2: 2}), (whole, (11, 2, 13))):
            with pytest.raises(torch._dynamo.exc.RecompileError):
                compiled(x, other)
