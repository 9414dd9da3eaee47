"""torch's own context managers in files: objects of classes whose code stands in the file."""

from __future__ import annotations

import ast
from typing import Any

import rushlight as torch
from rushlight.autograd.profiler import record_function

_MODES = "__torch__.torch.autograd.grad_mode"
_RECORD = "__torch__.torch.autograd.profiler.record_function"
_EVENT = "__torch__.torch.classes.profiler._RecordFunction"
_MODE = """class {name}:
  prev : bool
{fields}  def __enter__(self: {path}) -> NoneType:
    self.prev = torch.is_grad_enabled()
    torch.set_grad_enabled({value})
    return None
  def __exit__(self: {path},
    exc_type: Any,
    exc_value: Any,
    traceback: Any) -> NoneType:
    prev = self.prev
    torch.set_grad_enabled(prev)
    return None
  def __init__(self: {path}{taken}) -> NoneType:
    self.prev = False
{stored}    return None
"""
_RECORDING = f"""class record_function:
  name : str
  args : Optional[str]
  record : Optional[{_EVENT}]
  def __enter__(self: {_RECORD}) -> {_RECORD}:
    self.record = ops.profiler._record_function_enter_new(self.name, self.args)
    return self
  def __exit__(self: {_RECORD},
    exc_type: Any,
    exc_value: Any,
    traceback: Any) -> NoneType:
    record = self.record
    if torch.__isnot__(record, None):
      ops.profiler._record_function_exit(unchecked_cast({_EVENT}, record))
    else:
      pass
    return None
  def __init__(self: {_RECORD},
    name: str,
    args: Optional[str]=None) -> NoneType:
    self.name = name
    self.args = args
    self.record = None
    return None
"""


def _mode(name: str, value: str, more: bool = False) -> tuple[str, dict[str, str]]:
    """The name of a mode's class, and the code of it."""
    path = f"{_MODES}.{name}"
    parts = ("  mode : bool\n", ",\n    mode: bool", "    self.mode = mode\n") if more else ("", "", "")
    fields, taken, stored = parts
    text = _MODE.format(name=name, path=path, value=value, fields=fields, taken=taken, stored=stored)
    return path, {path: text}


# Manager -> (the name of its class in files, the code of the classes that it needs, how many arguments).
SAVED: dict[Any, tuple[str, dict[str, str], int]] = {
    torch.no_grad: (*_mode("no_grad", "False"), 0),
    torch.enable_grad: (*_mode("enable_grad", "True"), 0),
    torch.set_grad_enabled: (*_mode("set_grad_enabled", "self.mode", True), 1),
    record_function: (
        _RECORD,
        {_RECORD: _RECORDING, _EVENT: "class _RecordFunction:\n  capsule : Capsule\n"},
        2,
    ),
}
_BY_PATH = {path: manager for manager, (path, _, _) in SAVED.items()}
MARKS = {f"${path}": manager for path, manager in _BY_PATH.items()}  # names that no file can spell


class _Restored(ast.NodeTransformer):
    """`a = C.__new__(C)`, `b = (a).__init__(...)` as `a = C(...)`."""

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        for field in ("body", "orelse"):
            statements = getattr(node, field, None)
            if isinstance(statements, list):
                setattr(node, field, self.joined(statements))
        return node

    def joined(self, statements: list[Any]) -> list[Any]:
        """The statements, those two as one wherever they follow each other."""
        found: list[Any] = []
        for statement in statements:
            found.append(statement)
            made = _manager(*found[-2:]) if len(found) > 1 else None
            if made is not None:
                found[-2:] = [made]
        return found


def _manager(first: Any, second: Any) -> ast.Assign | None:
    if not isinstance(first, ast.Assign) or not isinstance(second, ast.Assign):
        return None
    call, begun = first.value, second.value
    path = ast.unparse(call.func).removesuffix(".__new__") if isinstance(call, ast.Call) else ""
    held = ast.unparse(first.targets[0])
    ready = isinstance(begun, ast.Call) and ast.unparse(begun.func) == f"{held}.__init__"
    if path not in _BY_PATH or not isinstance(begun, ast.Call) or not ready:
        return None
    args = [a for a in begun.args if not (isinstance(a, ast.Constant) and a.value is None)]
    made = ast.Call(ast.Name(f"${path}", ast.Load()), args, [])
    return ast.fix_missing_locations(ast.copy_location(ast.Assign(first.targets, made), first))


def restored(tree: Any) -> Any:
    """A function's tree whose `with` is as a program spells it."""
    return _Restored().visit(tree)
