"""How the function that a graph's text is takes its arguments, and gives its result."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from rushlight._engine.core.pytree import Tree, flatten

__all__ = ["CodeGen", "_PyTreeCodeGen", "_PyTreeInfo"]


class CodeGen:
    """The ordinary way: inputs are parameters, and the result is returned.

    A subclass that writes another `def` says in process_inputs and process_outputs what it does to arguments
    and results, so that the graph can be run without it; `Graph.set_codegen` puts it to use.
    """

    def __init__(self) -> None:
        self._body_transformer: Callable[[list[str]], list[str]] | None = None
        self._func_name = "forward"

    def gen_fn_def(
        self, free_vars: list[str], maybe_return_annotation: str, *, expanded_def: bool = False
    ) -> str:
        """The text up to the first node. free_vars: the inputs, as parameters; expanded_def: each on a line
        of its own.
        """
        if free_vars[:1] != ["self"]:
            free_vars.insert(0, "self")
        listed = "".join(f"\n    {v}," for v in free_vars) + "\n" if expanded_def else ", ".join(free_vars)
        return f"def {self._func_name}({listed}){maybe_return_annotation}:"

    def generate_output(
        self,
        output_args: Any,
        *,
        descs: Sequence[str] | None = None,
        repr_fn: Callable[[object], str] | None = None,
    ) -> str:
        """The statement that returns. The nodes in output_args show their names in the text."""
        return f"return {(repr_fn or repr)(output_args)}"

    def process_inputs(self, *args: Any) -> Any:
        """The graph's inputs for these arguments."""
        return args

    def process_outputs(self, outputs: Any) -> Any:
        """What the function returns when this is the graph's result."""
        return outputs

    def additional_globals(self) -> list[tuple[str, Any]]:
        """Names that the text needs beside those of the nodes."""
        return []


class _PyTreeInfo(NamedTuple):
    """The parameters' names, and how arguments and results are nested."""

    orig_args: list[str]
    in_spec: Tree
    out_spec: Tree | None


class _PyTreeCodeGen(CodeGen):
    """Arguments and results are nested containers, and the graph's inputs are their leaves."""

    def __init__(self, pytree_info: _PyTreeInfo) -> None:
        super().__init__()
        self.pytree_info = pytree_info

    def process_inputs(self, *inputs: Any) -> Any:
        """The arguments' leaves."""
        return flatten(inputs)[0]

    def process_outputs(self, outputs: Any) -> Any:
        """The nested result."""
        spec = self.pytree_info.out_spec
        if spec is None:
            return outputs
        return spec.unflatten(outputs if isinstance(outputs, (list, tuple)) else [outputs])

    def _call(self) -> str:
        """The arguments in the form of in_spec, as text."""
        names, spec = self.pytree_info.orig_args, self.pytree_info.in_spec
        kinds = [child.type for child in spec.children()] if spec.type is tuple else []
        if kinds != [tuple, dict]:
            return f"[{', '.join(names)}]"
        count = spec.child(0).num_children
        named = zip(spec.child(1).keys, names[count:], strict=False)
        return f"([{', '.join(names[:count])}], {{{', '.join(f'{k!r}:{v}' for k, v in named)}}})"

    def gen_fn_def(
        self, free_vars: list[str], maybe_return_annotation: str, *, expanded_def: bool = False
    ) -> str:
        """The definition, and lines that take the arguments apart."""
        names = list(self.pytree_info.orig_args)
        if names[:1] == ["self"]:
            free_vars.insert(0, "self")
        text = super().gen_fn_def(names, maybe_return_annotation, expanded_def=expanded_def)
        if free_vars:
            # `a: T, b: T = f()` is no Python: the types come first, in a line of their own.
            typed = "".join(f"{v}; " for v in free_vars if ":" in v)
            bare = [v.partition(":")[0].partition("=")[0].strip() for v in free_vars]
            text += f"\n    {typed}\n" if typed else ""
            text += f"\n    {', '.join(bare)}, = fx_pytree.tree_flatten_spec({self._call()}, self._in_spec)"
        return text

    def generate_output(
        self,
        output_args: Any,
        *,
        descs: Sequence[str] | None = None,
        repr_fn: Callable[[object], str] | None = None,
    ) -> str:
        """The statement that returns the nested result."""
        if self.pytree_info.out_spec is None:
            return super().generate_output(output_args, repr_fn=repr_fn)
        return f"return pytree.tree_unflatten({(repr_fn or repr)(output_args)}, self._out_spec)"


def nested(spec: Tree) -> bool:
    """Whether a tuple's structure has containers in it."""
    return not all(child.is_leaf() for child in spec.children())


def called(method: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """A method of a CodeGen, with as many of the options as the program's own version of it takes."""
    known = inspect.signature(method).parameters
    return method(*args, **{name: value for name, value in options.items() if name in known})
