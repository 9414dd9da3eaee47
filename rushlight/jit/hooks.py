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
    whole = Type("Tuple", tuple(t for _, t, _ in formal))
    _check_names(owner)
    for i, hook in enumerate(owner.pre_hooks):
        made = method_of(hook, owner, name=f"_pre_hook_{i}")
        notes = hook.__annotations__
        _check_pre_hook(hook.__name__, owner, made, whole, not notes or "return" in notes)
        lines.append(f"    before_{i} = self._pre_hook_{i}(given)")
        lines += _replaced("given", f"before_{i}", made.returns, whole="Tuple")
    given = ", ".join(f"given[{i}]" for i in range(len(names)))
    lines.append(f"    result = self.forward({given})")
    output = forward.returns
    for i, hook in enumerate(owner.hooks):
        made = method_of(hook, owner, name=f"_hook_{i}")
        _check_hook(hook.__name__, owner, made, whole, output)
        output = output if made.returns == NONE else made.returns
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


def _check_names(owner: ClassType) -> None:
    """Raise where two hooks, or a hook and a method, have one name."""
    shown = owner.qualname.rpartition(".")[2]
    for what, hooks in (("Pre-hook", owner.pre_hooks), ("Hook", owner.hooks)):
        known: dict[str, Any] = {}
        for hook in hooks:
            if hook.__name__ in owner.methods:
                raise RuntimeError(
                    f"Can't define hook: {hook.__name__} on class: {owner.qualname} because a method or hook "
                    "with that name already exists."
                )
            if known.setdefault(hook.__name__, hook) is not hook:
                raise RuntimeError(
                    f"{what} '{hook.__name__}' on {shown} has at least two different python definitions. "
                    "Please use unique names for all hooks."
                )


def _wrong_input(made: Function, whole: Type) -> str:
    """What is wrong with the tuple of inputs that a hook takes; empty where nothing is."""
    found = made.arguments[1][1]
    if found.kind != "Tuple":
        return f"expected the input argument to be typed as a Tuple but found type: '{found}' instead.\n"
    received = f"Received type: '{found}'.\n"
    if not whole.args and found != whole:
        return f"was expecting Tuple[()] as the input type. {received}"
    if len(found.args) != len(whole.args):
        return f"has the wrong number of contained types for the input argument's Tuple. {received}"
    if found.args != whole.args:
        return f"has the wrong inner types for the input tuple argument. {received}"
    return ""


def _wrong_result(found: Type, whole: Type) -> str:
    """What is wrong with what a hook before forward gives; empty where nothing is."""
    found = found.args[0] if found.kind == "Optional" else found
    alone = len(whole.args) == 1 and whole.args[0].kind != "Tuple"
    if found in (NONE, whole) or (alone and found == whole.args[0]):
        return ""
    said = f"returned the wrong type of: '{found}'."
    if len(whole.args) == 1 and whole.args[0].kind == "Tuple":
        return (
            f"{said} When forward has a single tuple input argument, the return needs to be 'None' or a "
            f"nested tuple containing forward's input tuple argument as in: '{whole}'.\n"
        )
    if found.kind != "Tuple":
        return said
    wrong = "inner" if len(found.args) == len(whole.args) else "number of contained"
    return f"{said} The returned tuple contains the wrong {wrong} types.\n"


def _check_pre_hook(name: str, owner: ClassType, made: Function, whole: Type, annotated: bool) -> None:
    """Raise where a hook before forward takes or gives something else than forward's inputs."""
    shown, count = owner.qualname.rpartition(".")[2], len(made.arguments)
    alone = f" 'None', '{whole.args[0]}', or '{whole}'" if len(whole.args) == 1 else f" 'None' or '{whole}'"
    why = f"was expected to only have exactly 2 inputs but it had {count} inputs. " if count != 2 else ""
    why = why or _wrong_input(made, whole)
    if not why and not annotated:
        why = "is missing a return annotation. Return annotations are required, please add one.\n"
    why = why or _wrong_result(made.returns or NONE, whole)
    if why:
        raise RuntimeError(
            f"Pre-hook '{name}' on module '{shown}' {why}This error occurred while scripting the forward "
            f"pre-hook '{name}' on module '{shown}'. If you did not want to script this pre-hook remove it "
            f"from the original NN module before scripting. Pre-hooks for module '{shown}' are expected to "
            f"have the following signature: {name}(self, input: {whole}) with a return type of "
            f"either{alone}.\n"
        )


def _check_hook(name: str, owner: ClassType, made: Function, whole: Type, output: Type | None) -> None:
    """Raise where a hook behind forward takes something else than forward's inputs and result."""
    shown, count = owner.qualname.rpartition(".")[2], len(made.arguments)
    why = f"was expected to only have exactly 3 inputs but it had {count} inputs. " if count != 3 else ""
    why = why or _wrong_input(made, whole)
    if not why and made.arguments[2][1] != output:
        found = made.arguments[2][1]
        why = f"Received type: '{found}'. Expected type: '{output}'.\n"
        why = f"has the wrong type for the output argument. {why}"
    if why:
        raise RuntimeError(
            f"Hook '{name}' on module '{shown}' {why}This error occurred while scripting the forward hook "
            f"'{name}' on module {shown}. If you did not want to script this hook remove it from the "
            "original NN module before scripting. This hook was expected to have the following signature: "
            f"{name}(self, input: {whole}, output: {output}). The type of the output arg is the returned "
            "type from either the forward method or the previous hook if it exists. Note that hooks can "
            "return anything, but if the hook is on a submodule the outer module is expecting the same "
            "return type as the submodule's forward.\n"
        )


def _replaced(name: str, found: str, returns: Type | None, whole: str = "") -> list[str]:
    """Statements that put what a hook gave in the place of what it was given, unless that is None."""
    if returns is None or returns == NONE:
        return []
    inner = returns.args[0] if returns.kind == "Optional" else returns
    value = f"({found},)" if whole and inner.kind != whole else found
    if returns.kind != "Optional":
        return [f"    {name} = {value}"]
    return [f"    if {found} is not None:", f"        {name} = {value}"]
