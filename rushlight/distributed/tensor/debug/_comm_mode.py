"""CommDebugMode: how many collectives a block of a program begins, in all and by module."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import rushlight as torch
from rushlight._engine.autograd import hooks
from rushlight.distributed.communication.heard import LISTENERS
from rushlight.distributed.tensor.dtensor import DTensor
from rushlight.nn.modules.base.hooks import (
    register_module_forward_hook,
    register_module_forward_pre_hook,
)

__all__ = ["CommDebugMode"]

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def _counts() -> dict[str, dict[Any, int]]:
    return {"forward": defaultdict(int), "backward": defaultdict(int)}


class CommDebugMode:
    """A context that counts the collectives which begin in it, those of DTensors and those of a program.

    get_comm_counts() tells them by PyTorch's ops: torch.ops.c10d_functional.all_reduce, and torch.ops.c10d's
    for calls of torch.distributed's functions. What a backward begins counts for "Global" alone.
    """

    def __init__(self) -> None:
        self.comm_counts: dict[Any, int] = defaultdict(int)
        self.comm_module_counts: dict[str, dict[str, dict[Any, int]]] = {}
        self._modules: dict[str, tuple[int, str]] = {}  # name -> (depth, type), in the order of their calls
        self._parameters: dict[str, dict[str, Any]] = {}
        self._running: list[str] = []
        self._names: dict[int, str] = {}
        self._handles: list[Any] = []

    def __enter__(self) -> CommDebugMode:
        for kept in (self.comm_counts, self.comm_module_counts, self._modules, self._parameters, self._names):
            kept.clear()
        self._running = ["Global"]
        self._modules["Global"] = 0, ""
        self.comm_module_counts["Global"] = _counts()
        LISTENERS.append(self._begun)
        before, after = (
            register_module_forward_pre_hook(self._enter_module),
            register_module_forward_hook(self._leave_module, always_call=True),
        )
        self._handles = [before, after]
        return self

    def __exit__(self, *error: object) -> None:
        LISTENERS.remove(self._begun)
        for handle in self._handles:
            handle.remove()

    def _begun(self, namespace: str, name: str) -> None:
        op = getattr(getattr(torch.ops, namespace), name)
        self.comm_counts[op] += 1
        backward = bool(hooks._runs.stack)
        for module in {"Global"} if backward else set(self._running):
            counts = self.comm_module_counts.setdefault(module, _counts())
            counts["backward" if backward else "forward"][op] += 1

    def _name(self, module: Any) -> str:
        """A module's name below the first one that was called, which is called by its class."""
        if id(module) not in self._names:
            top = type(module).__name__
            for inner, part in module.named_modules():
                self._names[id(part)] = f"{top}.{inner}" if inner else top
        return self._names[id(module)]

    def _enter_module(self, module: Any, args: Any) -> None:
        name = self._name(module)
        self._modules.setdefault(name, (len(self._running), type(module).__name__))
        for key, param in module.named_parameters(recurse=False):
            self._parameters.setdefault(name, {})[key] = param.data
        self._running.append(name)

    def _leave_module(self, module: Any, args: Any, output: Any) -> None:
        self._running.pop()

    def get_total_counts(self) -> int:
        """How many collectives there were."""
        return sum(self.comm_counts.values())

    def get_comm_counts(self) -> dict[Any, int]:
        """How many there were of each op."""
        return self.comm_counts

    def get_parameter_info(self) -> dict[str, dict[str, Any]]:
        """The parameters of the modules that were called, by module and name."""
        return self._parameters

    def get_sharding_info(self) -> dict[str, Any]:
        """The placements of those that are DTensors, by "module.name"."""
        return {
            f"{module}.{name}": param.placements
            for module, params in self._parameters.items()
            for name, param in params.items()
            if isinstance(param, DTensor)
        }

    def generate_comm_debug_tracing_table(self, noise_level: int = 3) -> str:
        """The modules and their collectives as text; above noise_level 0 with types and parameters."""
        lines = []
        for name, (depth, kind) in self._modules.items():
            indent = "    " * depth
            lines.append(f"{indent}{name}")
            if noise_level > 0 and kind:
                lines.append(f"{indent}*module type: {kind}")
                for key, param in self._parameters.get(name, {}).items():
                    if isinstance(param, DTensor):
                        lines.append(f"{indent} *{key}: {param.placements}")
            for which, counts in self.comm_module_counts.get(name, _counts()).items():
                if counts:
                    lines.append(f"{indent}  {which.upper()} PASS")
                    lines += [f"\033[1;33m{indent}    *{op}: {n}\033[0m" for op, n in counts.items()]
        return "\n".join([*lines, ""])

    def log_comm_debug_tracing_table_to_file(
        self, file_name: str = "comm_mode_log.txt", noise_level: int = 3
    ) -> None:
        """The same into a file, without colours."""
        Path(file_name).write_text(_COLOUR.sub("", self.generate_comm_debug_tracing_table(noise_level)))

    def __repr__(self) -> str:
        return f"CommDebugMode(get_total_counts()={self.get_total_counts()})"
