"""What modules did while they were traced, as methods of theirs: traced.layer1(x) runs.

While it is traced, a module's run is a node whose block reads values around it, and whose own values are read
around it. Here each becomes a method: what it reads is its arguments, what is read of it is its result.
"""

from __future__ import annotations

from rushlight.jit import schema as schemas
from rushlight.jit.ir import Block, Function, Node, Value, walk
from rushlight.jit.types import NONE, ClassType, Type


def lift(block: Block) -> None:
    """Make methods of all modules' runs in a block, the innermost first."""
    for node in list(block.nodes):
        for inner in node.blocks:
            lift(inner)
        if node.kind == "prim::TracedForward":
            _lift(node, block)


def _lift(call: Node, outer: Block) -> None:
    """Make a method of one module's run, and a call of it in its place."""
    block = call.blocks[0]
    inside = set(walk(block))
    owner: ClassType = block.params[0].type.cls
    name = _unused(owner)
    function = Function(f"{owner.qualname}.{name}", [], None, block, owner)
    function.arguments.append(("self", block.params[0].type, schemas.REQUIRED))
    given = _arguments(function, inside)
    escaping = [v for node in walk(block) for v in node.outputs if _readers(v, inside)]
    place = outer.nodes.index(call)
    before, after = outer.nodes[:place], outer.nodes[place + 1 :]
    outer.nodes[:] = before
    result = _result(block, escaping)
    function.returns, function.finished = result.type, True
    inputs = [call.inputs[0], *given]
    call.inputs[0].uses = [use for use in call.inputs[0].uses if use[0] is not call]
    made = outer.add(
        "prim::CallMethod", inputs, [result.type], name=name, function=function, place=call.place
    )
    made.scope = call.scope
    handed = made.outputs
    if len(escaping) > 1:
        handed = outer.add("prim::TupleUnpack", handed, [v.type for v in escaping], place=call.place).outputs
    for value, new in zip(escaping, handed, strict=False):
        _hand_over(value, new, set(walk(block)) | {block.ending})
    outer.nodes.extend(after)
    owner.methods[name] = function


def _unused(owner: ClassType) -> str:
    """forward, forward1, ...: a module may run several times."""
    name, count = "forward", 0
    while name in owner.methods:
        count += 1
        name = f"forward{count}"
    return name


def _arguments(function: Function, inside: set[Node]) -> list[Value]:
    """Give a function an argument for each value that it reads from around; these values."""
    block, known = function.block, dict[Value, Value]()
    for node in walk(block):
        for i, value in enumerate(node.inputs):
            made = value.node
            if made is None or made in inside or value in block.params:
                continue
            if value not in known:
                label = value.hint or f"argument_{len(known) + 1}"
                known[value] = block.param(value.type, label)
                known[value].example = value.example
                function.arguments.append((label, value.type, schemas.REQUIRED))
            value.uses = [use for use in value.uses if use != (node, i)]
            node.inputs[i] = known[value]
            known[value].uses.append((node, i))
    return list(known)


def _readers(value: Value, inside: set[Node]) -> bool:
    return any(user not in inside for user, _ in value.uses)


def _result(block: Block, escaping: list[Value]) -> Value:
    """The one value that a block gives."""
    if not escaping:
        result = block.add("prim::Constant", (), [NONE], value=None).output
    elif len(escaping) == 1:
        result = escaping[0]
    else:
        kind = Type("Tuple", tuple(v.type for v in escaping))
        result = block.add("prim::TupleConstruct", escaping, [kind]).output
    block.finish([result])
    return result


def _hand_over(value: Value, new: Value, inside: set[Node]) -> None:
    """Let all who read a value from around a block read another."""
    new.hint, new.example = value.hint, value.example
    for user, place in [use for use in value.uses if use[0] not in inside]:
        user.inputs[place] = new
        new.uses.append((user, place))
    value.uses = [use for use in value.uses if use[0] in inside]
