"""torch._dynamo.debug_utils: whether two models give the same for the same inputs, gradients too."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from copy import deepcopy
from typing import Any

import rushlight as torch
from rushlight import Tensor
from rushlight._dynamo.testing import collect_results, reduce_to_scalar_loss, requires_bwd_pass
from rushlight._dynamo.utils import clone_inputs, same
from rushlight._engine.core.pytree import tree_map

log = logging.getLogger("torch._dynamo.debug_utils")


class AccuracyError(Exception):
    """A compiled model's results are not those of the model."""


def same_two_models(
    gm: Any,
    opt_gm: Any,
    example_inputs: Sequence[Any],
    only_fwd: bool = False,
    *,
    require_fp64: bool = False,
    ignore_non_fp: bool = False,
) -> bool:
    """Whether two models give the same for copies of these inputs, and the same gradients (unless only_fwd).

    True, with a line in the log, where the second one raises: that is no matter of accuracy. require_fp64:
    raise where the first one cannot be run in float64. What is no float is compared with ignore_non_fp, too.
    """
    ref = run_fwd_maybe_bwd(gm, example_inputs, only_fwd)
    if require_fp64:
        try:
            model, inputs = cast_to_fp64(deepcopy(gm), clone_inputs_retaining_gradness(example_inputs))
            run_fwd_maybe_bwd(model, inputs, only_fwd)
        except Exception:
            raise RuntimeError("Could not generate fp64 outputs") from None
    try:
        res = run_fwd_maybe_bwd(opt_gm, example_inputs, only_fwd)
    except Exception:
        log.exception("The second model raised, so that its accuracy is not known")
        return True
    return same(ref, res, tol=1e-3, equal_nan=True, ignore_non_fp=ignore_non_fp)


def backend_accuracy_fails(
    gm: Any, example_inputs: Sequence[Any], compiler_fn: Any, only_fwd: bool = False, **ways: bool
) -> bool:
    """Whether what compiler_fn makes of a graph gives something else; `ways`: same_two_models'."""
    try:
        compiled = compiler_fn(deepcopy(gm), clone_inputs_retaining_gradness(example_inputs))
        return not same_two_models(gm, compiled, example_inputs, only_fwd, **ways)
    except Exception:
        log.exception("A model raised, so that its accuracy is not known")
        return False


def run_fwd_maybe_bwd(
    gm: Any, args: Sequence[Any], only_fwd: bool = False, disable_clone: bool = False
) -> Any:
    """What a model gives; unless only_fwd, in a list with its gradients, parameters and buffers.

    A copy of the model is run, for copies of the inputs (unless disable_clone).
    """
    gm = deepcopy(gm)
    if not disable_clone:
        args = clone_inputs_retaining_gradness(args)
    if hasattr(gm, "zero_grad"):
        gm.zero_grad(True)
    out = gm(args) if getattr(gm, "_boxed_call", False) else gm(*args)
    if only_fwd:
        return out
    if requires_bwd_pass(out):
        loss: Any = reduce_to_scalar_loss(out)
        loss.backward()
    return collect_results(gm, out, None, args)


def clone_inputs_retaining_gradness(example_inputs: Sequence[Any]) -> list[Any]:
    """Copies of the inputs, leaves all of them, that require grad as the inputs do."""
    copies: list[Any] = clone_inputs(example_inputs)  # whose tensors do
    return copies


def cast_dtype_args_to_fp64(model: Any) -> Any:
    """A graph whose calls make float64 where they named another floating dtype."""

    def wide(value: Any) -> Any:
        floating = isinstance(value, torch.dtype) and value.is_floating_point
        return torch.float64 if floating else value

    for node in model.graph.nodes:
        if node.op == "call_function":
            node.args = tuple(map(wide, node.args))
            node.kwargs = {name: wide(value) for name, value in node.kwargs.items()}
    model.graph.lint()
    model.recompile()
    return model


def cast_to(dtype: torch.dtype, model: Any, inputs: Any) -> tuple[Any, Any]:
    """A model and its inputs, with what is floating in this dtype."""
    model = model.to(dtype)
    if dtype == torch.float64:
        model = cast_dtype_args_to_fp64(model)

    def cast(x: Any) -> Any:
        return x.to(dtype) if isinstance(x, Tensor) and x.is_floating_point() else x

    return model, tree_map(cast, inputs)


def cast_to_fp64(model: Any, inputs: Any) -> tuple[Any, Any]:
    """A model and its inputs, with what is floating in float64."""
    return cast_to(torch.float64, model, inputs)
