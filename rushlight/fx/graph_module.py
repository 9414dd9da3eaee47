"""GraphModule: a module whose forward is a graph's text."""

from __future__ import annotations

import copy
import linecache
import os
import re
import sys
import traceback
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import rushlight as torch
from rushlight._engine.core.callers import warn
from rushlight.fx.codegen import python_code
from rushlight.fx.graph import Graph
from rushlight.nn.modules.base.tree import _addindent

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
        """An instance of a class of its own, which gets the forward that `code` says."""
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
        self._graph = g
        self._graph.owning_module = self
        self.recompile()

    @property
    def _tracer_cls(self) -> Any:
        """The class of the Tracer that made the graph; None for one that only a function knows."""
        found = self._graph._tracer_cls
        return None if found is None or "<locals>" in found.__qualname__ else found

    # --- who hears of changes ----------------------------------------------------------------------

    def _register_create_node_hook(self, f: Any) -> None:
        """Call f(node) for each node that is made in the graph."""
        self._hooks("_create_node_hooks").append(f)

    def _unregister_create_node_hook(self, f: Any) -> None:
        self._hooks("_create_node_hooks").remove(f)

    def _register_erase_node_hook(self, f: Any) -> None:
        """Call f(node) for each node that is taken out of the graph."""
        self._hooks("_erase_node_hooks").append(f)

    def _unregister_erase_node_hook(self, f: Any) -> None:
        self._hooks("_erase_node_hooks").remove(f)

    def _register_replace_node_hook(self, f: Any) -> None:
        """Call f(old=node, new=name, user=node) where a node reads another one, or under a new name."""
        self._hooks("_replace_hooks").append(f)

    def _unregister_replace_node_hook(self, f: Any) -> None:
        self._hooks("_replace_hooks").remove(f)

    @contextmanager
    def _set_replace_hook(self, f: Any) -> Iterator[None]:
        """The same within a `with`."""
        self._register_replace_node_hook(f)
        try:
            yield
        finally:
            self._unregister_replace_node_hook(f)

    def _hooks(self, name: str) -> list[Any]:
        """The functions of a kind; a list of this module's, once there is one."""
        found: list[Any] = self.__dict__.setdefault(name, [])
        return found

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
        exec(compile(_runnable(self._code), name, "exec"), scope)
        linecache.cache[name] = (len(self._code), None, self._code.splitlines(True), name)
        type(self).forward = forward = scope[self._graph._codegen._func_name]
        weakref.finalize(forward.__code__, linecache.cache.pop, name, None).atexit = False
        info = getattr(self._graph._codegen, "pytree_info", None)
        if info is not None:
            self._in_spec, self._out_spec = info.in_spec, info.out_spec
        return found

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run forward. Where an error arises in its text, the place is printed."""
        try:
            return super().__call__(*args, **kwargs)
        except Exception as error:
            _explain(error)
            raise

    def print_readable(
        self,
        print_output: bool = True,
        include_stride: bool = False,
        include_device: bool = False,
        colored: bool = False,
        **options: Any,
    ) -> str:
        """The text of `forward` with the tensors' dtypes and shapes, and where the program does what."""
        text = self._readable(type(self).__name__)
        if print_output:
            print(text)
        return text

    def _readable(self, name: str) -> str:
        """That text, of a class of this name; modules within have the names that they are held by."""
        own = self._graph.python_code("self", verbose=True).src.lstrip("\n")
        text = _indented(f"class {name}(torch.nn.Module):\n{own}")
        inner = [m._readable(n) for n, m in self.named_children() if isinstance(m, GraphModule)]
        return text + _indented("\n".join(["", *inner]))

    def __str__(self) -> str:
        return "\n".join(
            [repr(self), self._code, "# To see more debug info, please use `graph_module.print_readable()`"]
        )

    def _get_name(self) -> str:
        return type(self).__name__

    def _deepcopy_init(self) -> Callable[..., None]:
        """The __init__ of a copy; a subclass with other arguments names one that takes GraphModule's."""
        return GraphModule.__init__

    def __deepcopy__(self, memo: dict[int, Any]) -> GraphModule:
        plain = torch.nn.Module()
        own = {k: v for k, v in self.__dict__.items() if k != "_graph"}
        made = GraphModule.__new__(type(self))
        memo[id(self)] = made
        plain.__dict__.update(copy.deepcopy(own, memo))
        self._deepcopy_init()(made, plain, copy.deepcopy(self._graph), type(self).__name__)
        type(made).meta = copy.deepcopy(self.meta, memo)
        for name in ("_create_node_hooks", "_erase_node_hooks", "_replace_hooks"):
            made.__dict__.update({name: list(self.__dict__[name])} if name in self.__dict__ else {})
        return made

    def __copy__(self) -> GraphModule:
        made = GraphModule(self, self._graph, type(self).__name__)
        type(made).meta = dict(self.meta)
        return made

    def _replicate_for_data_parallel(self) -> GraphModule:
        made = self.__copy__()
        made._is_replica = True
        return made

    def __reduce__(self) -> Any:
        held = {k: v for k, v in self.__dict__.items() if k != "_graph"}
        text, known = self._graph.python_code("self")
        ordinary = python_code(Graph(), "self", False).globals
        scope = {name: value for name, value in known.items() if name not in ordinary}
        return _rebuilt, (held, text, type(self).__name__, scope)

    def __reduce_package__(self, exporter: Any) -> Any:
        """How a package of torch.package holds the module: its text is a module of the package."""
        body = {k: v for k, v in self.__dict__.items() if k != "_graph"}
        text, known = self._graph.python_code("self")
        body |= {"_code": text, "_graphmodule_cls_name": type(self).__name__}
        body["_tracer_cls"] = self._tracer_cls
        name = f"fx-generated._{exporter.get_unique_id()}"
        exporter.save_source_string(name, _imports(known, exporter.importer) + text)
        return reduce_package_graph_module, (body, name)

    def to_folder(self, folder: str | os.PathLike[str], module_name: str = "FxModule") -> None:
        """Write the module to a folder, so that `from folder import module_name` gives its class: its text,
        its state, and those of its children that their repr() does not make again.

        A UserWarning names these children, which are pickled.
        """
        from rushlight.package import sys_importer  # late: it loads all of torch.package

        place = Path(folder)
        place.mkdir(exist_ok=True)
        torch.save(self.state_dict(), place / "state_dict.pt")
        made, pickled = [], []
        repeated = [getattr(torch.nn, name) for name in _REPEATED]
        for name, child in self.named_children():
            text = repr(child)
            if type(child) in repeated:
                made.append(f"setattr(self, {name!r}, {text})")
                continue
            file = place / f"{name}.pt"
            torch.save(child, file)
            pickled.append(name)
            load = f"torch.load({str(file)!r}, weights_only=False)"
            made.append(f"setattr(self, {name!r}, {load}) # {' '.join(text.splitlines())}")
        for name, b in self.named_buffers(recurse=False):
            made.append(f"self.register_buffer({name!r}, {_emptied(b)})")
        for name, p in self.named_parameters(recurse=False):
            made.append(f"setattr(self, {name!r}, torch.nn.Parameter({_emptied(p)}))")
        made.append(f"self.load_state_dict(torch.load({str(place / 'state_dict.pt')!r}))")
        body = "".join(f"        {line}\n" for line in made)
        # Annotations that the program wrote as text stay text.
        known = {k: v for k, v in self._graph.python_code("self").globals.items() if not isinstance(v, str)}
        imports = _imports(known, sys_importer)
        (place / "module.py").write_text(
            f"from __future__ import annotations\n{imports}from torch.nn import *\n"
            f"class {module_name}(torch.nn.Module):\n"
            f"    def __init__(self):\n        super().__init__()\n{body}{_addindent(self.code, 4)}\n"
        )
        (place / "__init__.py").write_text("from .module import *")
        if pickled:
            warn(
                "Was not able to save the following children modules as reprs -"
                f"saved as pickled files instead: {pickled}"
            )

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


# Layers whose repr() makes them again.
_REPEATED = ("Linear", "Conv1d", "Conv2d", "Conv3d", "BatchNorm1d", "BatchNorm2d", "BatchNorm3d")


def _emptied(t: torch.Tensor) -> str:
    """The text that makes a tensor of this size and dtype."""
    return f"torch.empty({list(t.shape)}, dtype={t.dtype})"


def _rebuilt(held: dict[str, Any], text: str, name: str, known: dict[str, Any]) -> Any:
    """A pickled GraphModule: its text, whose names mean `known`, is traced again."""
    scope = python_code(Graph(), "self", False).globals | known
    exec(compile(_runnable(text), "<pickled graph>", "exec"), scope)
    return _of_forward(held, scope["forward"], name)


def _of_forward(held: dict[str, Any], forward: Any, name: str) -> Any:
    """A GraphModule of a pickled one's attributes and the function that its text defines."""
    from rushlight.fx.tracer import KeepModules  # it imports this file

    root = torch.nn.Module()
    root.__dict__.update(held)
    root.__class__ = type(name, (torch.nn.Module,), {"forward": forward})
    graph = KeepModules().trace(root)
    graph._tracer_cls = held.get("_tracer_cls")
    return GraphModule(root, graph, name)


def reduce_graph_module(body: dict[str, Any], import_block: str) -> GraphModule:
    """A GraphModule of what pickling kept of one: its text is traced again.

    body: the module's attributes, with its text as `_code` (`code` in old files) and, if there is one, its
    class name as `_graphmodule_cls_name`; import_block: the imports that the text needs.
    """
    held = dict(body)
    text = held.pop("_code", None) or held.pop("code")
    known: dict[str, Any] = {}
    exec(compile(_ours(import_block), "<imports of a pickled graph>", "exec"), known)
    made: GraphModule = _rebuilt(held, text, held.pop("_graphmodule_cls_name", "GraphModule"), known)
    return made


def reduce_package_graph_module(
    importer: Any, body: dict[str, Any], generated_module_name: str
) -> GraphModule:
    """A GraphModule that a package holds: its text, a module of the package, is traced again."""
    held = {k: v for k, v in body.items() if k not in ("_code", "code", "_graphmodule_cls_name")}
    forward = importer.import_module(generated_module_name).forward
    made: GraphModule = _of_forward(held, forward, body.get("_graphmodule_cls_name", "GraphModule"))
    for name, value in held.items():  # what the graph does not mention
        if not hasattr(made, name):
            setattr(made, name, value)
    return made


_USUAL = {
    "torch": "import torch",
    "device": "from torch import device",
    "inf": "from math import inf",
    "nan": "from math import nan",
    "NoneType": "NoneType = type(None)",
    "fx_pytree": "import torch.fx._pytree as fx_pytree",
    "pytree": "import torch.utils._pytree as pytree",
}


def _imports(known: dict[str, Any], importer: Any) -> str:
    """The lines that give a graph's text its names."""
    lines = set()
    for name, value in known.items():
        if name in _USUAL:
            lines.add(_USUAL[name])
        else:
            module, inside = importer.get_name(value)
            lines.add(f"from {module} import {inside} as {name}")
    return "".join(f"{line}\n" for line in sorted(lines))


def _ours(imports: str) -> str:
    """Imports of torch as imports of what it is here."""
    lines = re.sub(r"^(\s*)import torch(\.\S+)?$", r"\1import rushlight as torch", imports, flags=re.M)
    return re.sub(r"^(\s*)from torch\b", r"\1from rushlight", lines, flags=re.M)


def _runnable(text: str) -> str:
    """A text with functions by their names here: PyTorch's nn.functional is in part compiled code."""
    return text.replace("torch._C._nn.", "torch.nn.functional.")


def _explain(error: BaseException) -> None:
    """Print where an error arose in the text of a graph, if it did."""
    place = traceback.extract_tb(error.__traceback__)[-1:]
    if not place or "eval_with_key" not in place[0].filename:
        return
    number, lines = place[0].lineno or 0, linecache.getlines(place[0].filename)
    info = [
        "".join(traceback.format_exception(error)),
        f"Call using an FX-traced Module, line {number} of the traced Module's generated forward function:",
        "".join(lines[max(0, number - 2) : number]),
        "~" * len(place[0].line or "") + "~~~ <--- HERE",
        "\n".join(lines[number : number + 2]),
    ]
    print("\n".join(info), file=sys.stderr)


def _indented(text: str) -> str:
    first, *rest = text.split("\n")
    return "\n".join([first, *(f"    {line}" if line.strip() else "" for line in rest)])
