"""What modules did while they were traced, as methods of theirs: traced.layer1(x) runs.

While it is traced, a module's run is a node whose block reads values around it, and whose own values are read
around it. Here each becomes a method: what it reads is its arguments, what is read of it is its result.
"""

from __future__ import annotations

from rushlight.jit.program import schema as schemas
from rushlight.jit.program.ir import Block, Function, Node, Value, walk
from rushlight.jit.program.types import NONE, ClassType, Type


def lift(block: Block, handed_on: dict[Value, Value] | None = None) -> None:
    """Make methods of all modules' runs in a block, the innermost first. handed_on: which values stand in the
    block around for those that calls in it give.
    """
    known = {} if handed_on is None else handed_on
    for node in list(block.nodes):
        for inner in node.blocks:
            lift(inner, known)
        if node.kind == "prim::TracedForward":
            _lift(node, block, known)


def _lift(call: Node, outer: Block, handed_on: dict[Value, Value]) -> None:
    """Make a method of one module's run, and a call of it in its place."""
    block = call.blocks[0]
    inside = set(walk(block))
    owner: ClassType = block.params[0].type.cls
    name = _unused(owner)
    function = Function(f"{owner.qualname}.{name}", [], None, block, owner)
    function.arguments.append(("self", block.params[0].type, schemas.REQUIRED))
    named = list(zip(call.attrs["arguments"], call.inputs[1:], strict=True))
    for value in set(call.inputs):
        value.uses = [use for use in value.uses if use[0] is not call]
    given = _arguments(function, inside, named)
    escaping = [v for node in walk(block) for v in node.outputs if _readers(v, inside)]
    results = [handed_on.get(value, value) for value in call.attrs.get("results", ())]
    if not escaping:  # nobody reads it; called by itself, the method gives what the module gave
        escaping = [value for value in dict.fromkeys(results) if value.node in inside]
    order = {value: i for i, value in reversed(list(enumerate(results)))}
    escaping.sort(key=lambda value: order.get(value, len(order)))
    place = outer.nodes.index(call)
    before, after = outer.nodes[:place], outer.nodes[place + 1 :]
    outer.nodes[:] = before
    result = _result(block, escaping)
    function.returns, function.finished = result.type, True
    inputs = [call.inputs[0], *given]
    made = outer.add(
        "prim::CallMethod", inputs, [result.type], name=name, function=function, place=call.place
    )
    made.scope = call.scope
    handed = made.outputs
    if len(escaping) > 1:
        handed = outer.add("prim::TupleUnpack", handed, [v.type for v in escaping], place=call.place).outputs
    for value, new in zip(escaping, handed, strict=False):
        _hand_over(value, new, set(walk(block)) | {block.ending})
        handed_on.update({old: new for old, stands in handed_on.items() if stands is value} | {value: new})
    outer.nodes.extend(after)
    owner.methods[name] = function


def _unused(owner: ClassType) -> str:
    """forward, forward1, ...: a module may run several times."""
    name, count = "forward", 0
    while name in owner.methods:
        count += 1
        name = f"forward{count}"
    return name


def _arguments(function: Function, inside: set[Node], named: list[tuple[str, Value]]) -> list[Value]:
    """Give a function an argument for each tensor that the module was called with, by name, and each other
    value that it reads from around; these values.
    """
    block, known = function.block, dict[Value, Value]()

    def add(label: str, value: Value) -> None:
        known[value] = block.param(value.type, label)
        known[value].example = value.example
        function.arguments.append((label, value.type, schemas.REQUIRED))

    for label, value in named:
        if value not in known:
            add(label, value)
    for node in walk(block):
        for i, value in enumerate(node.inputs):
            made = value.node
            if made is None or made in inside or value in block.params:
                continue
            if value not in known:
                add(f"argument_{len(known) + 1}", value)
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
