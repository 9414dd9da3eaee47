"""torch.utils.module_tracker: which modules are running, forward or backward."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

import rushlight as torch
from rushlight._engine.autograd.hooks import current_run, queue_callback
from rushlight._engine.core.pytree import flatten
from rushlight.autograd.graph import register_multi_grad_hook

__all__ = ["ModuleTracker"]


class ModuleTracker:
    """Inside, `parents` has the names of the modules that are running, and always "Global".

    A module is named by its way from the first one that is called ("Net.layer.0"); in backward it runs from
    the gradients of its results to those of its arguments. `is_bw`: whether this is inside a backward.
    """

    def __init__(self) -> None:
        self.parents = {"Global"}
        self._names: WeakKeyDictionary[Any, str] = WeakKeyDictionary()
        self._hooks: list[Any] = []
        self._queued = False

    @property
    def is_bw(self) -> bool:
        """Whether a backward is running."""
        return current_run() is not None

    def _name(self, module: Any) -> str:
        if module not in self._names:
            root = type(module).__name__
            for path, part in module.named_modules():
                self._names[part] = f"{root}.{path}" if path else root
        return self._names[module]

    def _at_end(self) -> None:
        self.parents, self._queued = {"Global"}, False

    def _enter_backward(self, name: str) -> None:
        if not self._queued:
            queue_callback(self._at_end)
            self._queued = True
        self.parents.add(name)

    def _watch(self, tree: Any, act: Any) -> None:
        tracked = [t for t in flatten(tree)[0] if isinstance(t, torch.Tensor) and t.requires_grad]
        if tracked:
            self._hooks.append(register_multi_grad_hook(tracked, act))

    def _before(self, module: Any, args: Any) -> None:
        name = self._name(module)
        self.parents.add(name)
        self._watch(args, lambda grads: self.parents.discard(name))

    def _after(self, module: Any, args: Any, result: Any) -> None:
        name = self._name(module)
        self.parents.discard(name)
        self._watch(result, lambda grads: self._enter_backward(name))

    def __enter__(self) -> ModuleTracker:
        modules: Any = torch.nn.modules.module
        self._hooks = [
            modules.register_module_forward_pre_hook(self._before),
            modules.register_module_forward_hook(self._after),
        ]
        return self

    def __exit__(self, *error: object) -> None:
        for hook in self._hooks:
            hook.remove()
