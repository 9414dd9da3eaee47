"""Forward hooks of modules in TorchScript: each is a method; another one runs them around forward.

In a program a call of the module is a call of that method, as it is from Python; `forward` alone runs none.
"""

from __future__ import annotations

import ast
from typing import Any

from rushlight.jit.compiler.names import Names, build, method_of
from rushlight.jit.frontend import Source
from rushlight.jit.program.ir import Function
from rushlight.jit.program.types import NONE, ClassType, Type

CALL = "_call_with_hooks"


def compile_call(owner: ClassType) -> Function:
    """The method that calls of the module run."""
    forward: Function = owner.method("forward")
    formal = forward.arguments[1:]
    names = [name for name, _, _ in formal]
    types = {f"_type_{i}": t for i, (_, t, _) in enumerate(formal)}
    declared = "".join(f", {name}: {kind}" for name, kind in zip(names, types, strict=True))
    lines = [f"def {CALL}(self{declared}):", f"    given = ({''.join(f'{name}, ' for name in names)})"]
    for i, hook in enumerate(owner.pre_hooks):
        made = method_of(hook, owner, name=f"_pre_hook_{i}")
        lines.append(f"    before_{i} = self._pre_hook_{i}(given)")
        lines += _replaced("given", f"before_{i}", made.returns, whole="Tuple")
    given = ", ".join(f"given[{i}]" for i in range(len(names)))
    lines.append(f"    result = self.forward({given})")
    for i, hook in enumerate(owner.hooks):
        made = method_of(hook, owner, name=f"_hook_{i}")
        lines.append(f"    after_{i} = self._hook_{i}(given, result)")
        lines += _replaced("result", f"after_{i}", made.returns)
    text = "\n".join([*lines, "    return result"]) + "\n"

    def look(name: str) -> Any:
        return types[name]

    def known(found: Function | None) -> None:
        owner.methods[CALL] = found

    tree: Any = ast.parse(text).body[0]
    defaults = {name: default for name, _, default in formal}
    return build(tree, Source(text), Names(look), f"{owner.qualname}.{CALL}", owner, defaults, known)


def _replaced(name: str, found: str, returns: Type | None, whole: str = "") -> list[str]:
    """Statements that put what a hook gave in the place of what it was given, unless that is None."""
    if returns is None or returns == NONE:
        return []
    inner = returns.args[0] if returns.kind == "Optional" else returns
    value = f"({found},)" if whole and inner.kind != whole else found
    if returns.kind != "Optional":
        return [f"    {name} = {value}"]
    return [f"    if {found} is not None:", f"        {name} = {value}"]
