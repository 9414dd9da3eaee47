"""What a hook may ask of the backward that is running, and whether backward may use several threads."""

from __future__ import annotations

from typing import Any

from rushlight._engine.autograd.grad_mode import LOCAL, _Mode
from rushlight._engine.autograd.hooks import Run, current_run
from rushlight._engine.autograd.node import AccumulateGrad, Node


class set_multithreading_enabled(_Mode):
    """Whether backward may use several threads: it never does here, but programs are told what they set.

    Set at once; as a context manager, put back at the end.
    """

    __slots__ = ("mode",)

    def __init__(self, mode: bool) -> None:
        self._before = LOCAL.multithreading
        self.mode = bool(mode)
        LOCAL.multithreading = self.mode

    def __enter__(self) -> None:
        return None

    def __exit__(self, *error: Any) -> None:
        LOCAL.multithreading = self._before

    def _again(self) -> set_multithreading_enabled:
        return set_multithreading_enabled(self.mode)


class enforce_grad_layout_policy(_Mode):
    """Whether a leaf's first gradient lies in memory as the leaf does (True, as at first): a gradient that
    nobody else holds but lies otherwise is copied then, while with False it becomes the leaf's as it is.

    Set at once, in this thread; as a context manager, put back at the end. Arguments: enable: a bool.
    """

    __slots__ = ("mode",)

    def __init__(self, enable: bool = True) -> None:
        self._before = LOCAL.grad_layout
        self.mode = bool(enable)
        LOCAL.grad_layout = self.mode

    def __enter__(self) -> None:
        return None

    def __exit__(self, *error: Any) -> None:
        LOCAL.grad_layout = self._before

    def _again(self) -> enforce_grad_layout_policy:
        return enforce_grad_layout_policy(self.mode)


def is_multithreading_enabled() -> bool:
    """What set_multithreading_enabled has set in this thread; True at first."""
    return LOCAL.multithreading


def current_graph_task_id() -> int:
    """A number of the running backward, one higher for each; -1 outside."""
    run = current_run()
    return -1 if run is None else run.number


def _running(what: str) -> Run:
    run = current_run()
    if run is None:
        raise RuntimeError(f"{what} should only be called during the backward pass")
    return run


def current_graph_task_execution_order() -> list[Node]:
    """The nodes that the running backward goes through, in its order."""
    run = _running("_current_graph_task_execution_order")
    if LOCAL.multithreading:
        raise RuntimeError(
            "_current_graph_task_execution_order expects the current backward to be executed with "
            "multithreading disabled, e.g. by running:\n\n>>> with "
            "torch.autograd.set_multithreading_enabled(False):\n...     torch.autograd.grad(...)\n"
        )
    return [node.settle() for node in run.order()]


def will_engine_execute_node(node: Any) -> bool:
    """Whether the running backward runs a node; RuntimeError in grad() for a leaf, whose node never runs."""
    node = getattr(node, "_node", node)
    if not isinstance(node, Node):
        raise RuntimeError(f"_will_engine_execute_node expects an grad_fn, but got {type(node).__name__}")
    run = _running("_will_engine_execute_node")
    if run.partial and not run.accumulates and node.__class__ is AccumulateGrad:
        raise RuntimeError(
            "A leaf node was passed to _will_engine_execute_node but we are currently running "
            "autograd.grad(). This is currently not supported."
        )
    return node in run.reached()
