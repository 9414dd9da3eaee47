"""Plans of declared gradient rules: what a rule did once with operands of some kinds, shapes and strides, as
one generated function of arrays.

A row with the option `planned_gradient` says that its rule looks at no values and reads arrays by rows alone.
A call of its node with such operands that has come some times before (`PATIENCE`) is recorded by a Script
(plans.py), and later ones run the same kernels without any dispatch. All else goes by the rule: gradients of
gradients, passes for some inputs alone, interpreters, recorders, classes of a program's own, saved tensors
that were written to.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rushlight._engine.autograd.grad_mode import LOCAL
from rushlight._engine.core.recording import TAPE
from rushlight._engine.dispatch.generated_code import compile_function, forget, keep, key
from rushlight._engine.dispatch.interpreters import MODES, PLAIN
from rushlight._engine.dispatch.nodes.saved_arguments import Versioned
from rushlight._engine.dispatch.runners.plans import Script, listened
from rushlight._engine.tensors.tensor import Tensor

# How many calls go by the rule before one is recorded. To record takes as long as a plan saves in a few dozen
# calls: of texts of any length most come too seldom.
PATIENCE = 16
_TEXT = """
def apply(node, grad):
    saved = node.saved
    if LOCAL.enabled or TAPE or MODES or LOCAL.useful is not None{mine}:
        return slow(node, grad)
    values, edges = saved._values, node.next
{taken}    key = ({keys})
    try:
        plan = PLANS.get(key)
    except TypeError:
        return slow(node, grad)
    if not plan:
        return slow(node, grad) if plan is False else learn(key, node, grad, ({given}))
    return plan({given})
"""
# A tensor that was kept, as it was: else the rule says what is wrong. Of optional ones there may be none.
_TAKEN = """    {n} = {kept}
    if {n} is not None:
        if {n}.__class__ is not Versioned:
            return slow(node, grad)
        _version, {n} = {n}.version, {n}.tensor
        _storage = {n}._storage
        if (0 if _storage is None else _storage.version) != _version or {n}.__class__ not in PLAIN:
            return slow(node, grad)
"""
_LAID = "{0}._kind, {0}._geometry.shape, {0}._geometry.strides"


def applied(rules: Any, results: int, slow: Callable[..., Any]) -> Callable[..., Any]:
    """What runs nodes of a row with so many results (0: one, not in a tuple), by plans; slow: by the rule."""
    row, multi = rules.row, results > 0
    kept = [p.name for p in rules.tensor_params if p.name in rules.keeps]
    taken = [_TAKEN.format(n=n, kept=f"values[{n!r}]") for n in kept]
    if rules.keeps_result:
        numbers = [k for k in range(max(results, 1)) if k not in rules.unread]
        kept += [f"result_{k}" for k in numbers]
        taken += [_TAKEN.format(n=f"result_{k}", kept=f"saved._results[1][{k}]") for k in numbers]
    keys = [_LAID.format("grad")]
    if multi:
        keys = [f"tuple([None if t is None else ({_LAID.format('t')}) for t in grad])"]
    keys += ["saved._shapes, saved._kinds"]
    keys += [f"{n} if {n} is None else ({_LAID.format(n)})" for n in kept]
    keys += [f"edges[{k}] is None" for k in range(len(rules.tensor_params))]
    own = [p for p in row.params if not p.is_tensor]
    keys += [key(p, f"values[{p.name!r}]") for p in own]
    plans: dict[Any, Any] = {}
    tried: dict[Any, int] = {}
    forget(plans, tried)

    def learn(found: Any, node: Any, grad: Any, given: tuple[Any, ...]) -> Any:
        if any([t is not None and t._kind.special for t in given]):  # on other devices, or read lazily
            keep(plans, found, False)
            return slow(node, grad)
        calls = tried.get(found, 0)
        if calls < PATIENCE:
            keep(tried, found, calls + 1)
            return slow(node, grad)
        names = [f"grad_{k}" for k in range(len(given) - len(kept))] + kept
        made, plan, waiting = _recorded(row.name, lambda: tuple(slow(node, grad)), names, given)
        keep(plans, found, plan or False)
        for kernel in waiting:
            kernel.on_ready(lambda _: plans.pop(found, None))
        return made

    scope = {
        "LOCAL": LOCAL,
        "TAPE": TAPE,
        "MODES": MODES,
        "PLAIN": PLAIN,
        "PLANS": plans,
        "Tensor": Tensor,
        "Versioned": Versioned,
        "learn": learn,
        "slow": slow,
        **{f"_default_{p.name}": p.default for p in own},
    }
    given = [*(["*[t for t in grad if t is not None]"] if multi else ["grad"]), *kept]
    text = _TEXT.format(
        mine=" or not PLAIN.issuperset([t.__class__ for t in grad if t is not None])"
        if multi
        else " or grad.__class__ is not Tensor",
        taken="".join(taken),
        keys="".join(f"{k}, " for k in keys),
        given="".join(f"{g}, " for g in given),
    )
    return compile_function(text, "apply", scope, f"gradient of {row.name}")


def _recorded(
    name: str, run: Callable[[], Any], names: Sequence[str], given: Sequence[Any]
) -> tuple[Any, Callable[..., Any] | None, list[Any]]:
    """(what run() gives, the plan of a rule on tensors that lie like the given ones, kernels with which it
    may become another).
    """
    script = Script(strict=True)
    script.failed = not script.scope.keys().isdisjoint(names)  # which are the plan's own
    for n, t in zip(names, given, strict=True):
        if t is not None:
            script.failed |= id(t._array) in script.names
            script.names[id(t._array)] = f"{n}._array"
            script.operands[id(t)] = n
    found = listened(script, run)
    answer = script.answer(found)
    plan = script.function(names, answer, f"gradient of {name}")
    return found, plan, script.waiting
