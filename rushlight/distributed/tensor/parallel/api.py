"""parallelize_module: a plan's styles, applied to the modules that it names."""

from __future__ import annotations

from fnmatch import fnmatch
from typing import Any

from rushlight._engine.core.callers import warn
from rushlight.distributed.device_mesh import current_mesh
from rushlight.distributed.tensor.parallel.style import ParallelStyle

__all__ = ["parallelize_module"]


def parallelize_module(
    module: Any,
    device_mesh: Any = None,
    parallelize_plan: ParallelStyle | dict[str, ParallelStyle] | None = None,
    *,
    src_data_rank: int | None = 0,
) -> Any:
    """The module, its work shared out over the ranks of a mesh of one dim.

    parallelize_plan: a style, or a dict of them by the path of a submodule ("layers.*.w1"; "" is the module).
    src_data_rank: whose values the parts are taken from; None: each rank takes its own.
    """
    mesh = device_mesh or current_mesh()
    if parallelize_plan is None:
        warn(
            "No parallelize_plan is provided and auto-parallel is not supported at the moment, so this "
            "parallelize_module call will do nothing."
        )
        return module
    if isinstance(parallelize_plan, ParallelStyle):
        parallelize_plan.src_data_rank = src_data_rank
        return parallelize_plan._apply(module, mesh)
    if not isinstance(parallelize_plan, dict):
        raise TypeError(
            "Expect Union[ParallelStyle, Dict[str, ParallelStyle]] for parallelize_plan, "
            f"{type(parallelize_plan)} found!"
        )
    for path, style in parallelize_plan.items():
        _apply(module, mesh, path, style, src_data_rank)
    return module


def _apply(module: Any, mesh: Any, path: str, style: Any, src_data_rank: int | None) -> None:
    """A style for the modules below `module` that a path names."""
    if path == "":
        parallelize_module(module, mesh, style, src_data_rank=src_data_rank)
        return
    token, _, rest = path.partition(".")
    children = [child for name, child in module.named_children() if fnmatch(name, token)]
    if not children:
        warn(
            f"Parallelize plan key '{path}' could not be resolved: no submodule matching token '{token}' in "
            f"module {module}, skipping this plan entry."
        )
    for child in children:
        plan = {rest: style} if rest else style
        parallelize_module(child, mesh, plan, src_data_rank=src_data_rank)
