"""GraphModule: a module whose forward is a graph's text."""

from __future__ import annotations

import copy
import linecache
from itertools import count
from typing import Any

import rushlight as torch
from rushlight.fx.graph import Graph

_numbers = count()


def attribute(module: Any, target: str) -> Any:
    """What a module holds under a dotted name; RuntimeError if nothing."""
    parts = target.split(".")
    for i, part in enumerate(parts):
        if not hasattr(module, part):
            raise RuntimeError(f"Node referenced nonexistent target {'.'.join(parts[: i + 1])}")
        module = getattr(module, part)
    return module


def put(module: Any, target: str, value: Any) -> None:
    """Give a module something under a dotted name, and the modules on the way."""
    *path, last = target.split(".")
    for part in path:
        if getattr(module, part, None) is None:
            setattr(module, part, torch.nn.Module())
        module = getattr(module, part)
    if isinstance(value, torch.Tensor) and not isinstance(value, torch.nn.Parameter):
        module.register_buffer(last, value)
    else:
        setattr(module, last, value)


def _copied(root: Any, module: Any, target: str) -> None:
    """Give a module what `root` holds there; what lies on the way stays shared if it is."""
    *path, last = target.split(".")
    for part in path:
        theirs, ours = getattr(root, part), getattr(module, part, None)
        if theirs is ours:
            return
        if ours is None:
            setattr(module, part, torch.nn.Module())
        root, module = theirs, getattr(module, part)
    put(module, last, getattr(root, last))


class GraphModule(torch.nn.Module):
    """A module that does what `graph` says with what it finds in `root` (a module, or a dict of names): its
    `code` is a method's text, written anew by `recompile()`.
    """

    meta: dict[str, Any]

    def __new__(cls, *args: Any, **kwargs: Any) -> GraphModule:
        # Each has a class of its own, which holds its forward.
        base = next(c for c in cls.__mro__ if not c.__dict__.get("_made"))
        return super().__new__(
            type(
                "GraphModuleImpl",
                (base,),
                {
                    "_made": True,
                    "__qualname__": ("GraphModule.__new__.<locals>.GraphModuleImpl"),
                    "__module__": __name__,
                },
            )
        )

    def __init__(self, root: Any, graph: Graph, class_name: str = "GraphModule") -> None:
        super().__init__()
        type(self).__name__ = class_name
        if isinstance(root, torch.nn.Module):
            self.training = getattr(root, "training", True)
        for node in graph.nodes:
            if node.op not in ("get_attr", "call_module"):
                continue
            if isinstance(root, dict):
                if node.target not in root:
                    raise RuntimeError(
                        f"Node {node} referenced target {node.target} but that target was not "
                        "provided in ``root``!"
                    )
                put(self, node.target, root[node.target])
            else:
                _copied(root, self, node.target)
        # On the class, which is this module's own: torch.compile guards what a module holds.
        type(self).meta = dict(getattr(root, "meta", {}))
        self.graph = graph

    @property
    def graph(self) -> Graph:
        """The graph; assigning one compiles it."""
        return self._graph

    @graph.setter
    def graph(self, g: Graph) -> None:
        if not isinstance(g, Graph):
            raise AssertionError(f"Expected a Graph instance, but got {type(g)}")
        self._graph = copy.deepcopy(g) if g.owning_module is not None and g.owning_module is not self else g
        self._graph.owning_module = self
        self.recompile()

    @property
    def code(self) -> str:
        """The text of `forward`."""
        return self._code

    def recompile(self) -> Any:
        """Write `forward` anew, after the graph was changed."""
        found = self._graph.python_code("self")
        self._code = found.src
        name = f"<eval_with_key>.{next(_numbers)}"
        scope = dict(found.globals)
        # The text calls functions as PyTorch's does, whose nn.functional is in part a module of compiled
        # code.
        exec(compile(self._code.replace("torch._C._nn.", "torch.nn.functional."), name, "exec"), scope)
        linecache.cache[name] = (len(self._code), None, self._code.splitlines(True), name)
        type(self).forward = scope["forward"]
        return found

    def print_readable(
        self,
        print_output: bool = True,
        include_stride: bool = False,
        include_device: bool = False,
        colored: bool = False,
        **options: Any,
    ) -> str:
        """The text of `forward` with the tensors' dtypes and shapes, and where the program does what."""
        own = self._graph.python_code("self", verbose=True).src.lstrip("\n")
        text = _indented(f"class {type(self).__name__}(torch.nn.Module):\n{own}")
        inner = [child.print_readable(False) for child in self.children() if isinstance(child, GraphModule)]
        text += _indented("\n".join(["", *inner]))
        if print_output:
            print(text)
        return text

    def __str__(self) -> str:
        return "\n".join(
            [repr(self), self._code, "# To see more debug info, please use `graph_module.print_readable()`"]
        )

    def _get_name(self) -> str:
        return type(self).__name__

    def __deepcopy__(self, memo: dict[int, Any]) -> GraphModule:
        plain = torch.nn.Module()
        plain.__dict__.update(copy.deepcopy({k: v for k, v in self.__dict__.items() if k != "_graph"}, memo))
        return GraphModule(plain, copy.deepcopy(self._graph), type(self).__name__)

    def __reduce__(self) -> Any:
        held = {k: v for k, v in self.__dict__.items() if k != "_graph"}
        return _rebuilt, (held, self._graph.python_code("self").src, type(self).__name__)

    def add_submodule(self, target: str, m: Any) -> bool:
        """Put a module under a dotted name."""
        put(self, target, m)
        return True

    def delete_submodule(self, target: str) -> bool:
        """Take a module away; whether it was there."""
        owner, _, last = target.rpartition(".")
        try:
            delattr(self.get_submodule(owner), last)
        except AttributeError:
            return False
        return True

    def delete_all_unused_submodules(self) -> None:
        """Take away the modules that the graph does not mention."""
        used = [n.target for n in self._graph.nodes if n.op in ("get_attr", "call_module")]
        for name, _ in list(self.named_modules()):
            if name and not any(
                f"{t}.".startswith(f"{name}.") or f"{name}.".startswith(f"{t}.") for t in used
            ):
                self.delete_submodule(name)


def _rebuilt(held: dict[str, Any], text: str, name: str) -> Any:
    """A pickled GraphModule: its text is traced again."""
    from rushlight.fx.tracer import Tracer, leaves

    root = torch.nn.Module()
    root.__dict__.update(held)
    scope: dict[str, Any] = {"torch": torch}
    exec(compile(text, "<pickled graph>", "exec"), scope)
    root.__class__ = type(name, (torch.nn.Module,), {"forward": scope["forward"]})
    return GraphModule(root, leaves(Tracer)().trace(root), name)


def _indented(text: str) -> str:
    first, *rest = text.split("\n")
    return "\n".join([first, *(f"    {line}" if line.strip() else "" for line in rest)])
