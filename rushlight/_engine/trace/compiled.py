"""Compiled callables: eager at first, then recorded twice, then replayed while the guards hold.

The first record becomes the program. The second, of a later call, is what the program must equal: run on
the second call's inputs and from its starting state, every result must have the same bits. What differs
was computed by something that the recorder does not see, and the callable stays eager.
"""

from __future__ import annotations

import gc
import logging
import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from itertools import repeat
from types import FunctionType
from typing import Any, NamedTuple

from rushlight._engine.autograd.grad_mode import LOCAL
from rushlight._engine.core.accelerator import Interface
from rushlight._engine.core.errors import Unsupported
from rushlight._engine.core.profiling_ranges import SPANS, spanned
from rushlight._engine.core.pytree import flatten
from rushlight._engine.core.recording import TAPE
from rushlight._engine.core.settings import settings
from rushlight._engine.core.tracebacks import own
from rushlight._engine.dispatch.interpreters import STACK
from rushlight._engine.kernels.runtime import tiers
from rushlight._engine.kernels.runtime.tiers import at_once, deadline
from rushlight._engine.tensors.storages import memory_pages
from rushlight._engine.tensors.tensor import Tensor
from rushlight._engine.trace import choice
from rushlight._engine.trace.effects.contents import is_module
from rushlight._engine.trace.effects.instructions import stores
from rushlight._engine.trace.effects.lending import Lent
from rushlight._engine.trace.effects.purity import watched
from rushlight._engine.trace.fitness import (
    device_of,
    handed_on,
    opaque,
    seen_twice,
    state_of,
    unfit,
    unlike,
    without_node,
)
from rushlight._engine.trace.guards import Guards, difference, key_of, likeness, outline
from rushlight._engine.trace.passes import gradients
from rushlight._engine.trace.passes.memory import uncollected
from rushlight._engine.trace.program import Program, Recorded, results_of, tracked_of
from rushlight._engine.trace.recorder import Recorder, recording, root, roots
from rushlight._engine.trace.regions import MOVED, Traced, backwards_of_programs, overheard
from rushlight._engine.trace.sizes.descriptions import Described, sizes_of
from rushlight._engine.trace.sizes.families import Family, resemble
from rushlight._engine.trace.sizes.heard import Heard
from rushlight._engine.trace.sizes.trials import State, Trial, Witness
from rushlight._engine.trace.trace import Trace

# How many kinds of arguments get a program of their own; how often guards may fail before a call stays eager.
MOST_PROGRAMS = 8
# As long as no more kinds have come, each gets its program at its second call, and does not wait until that
# pays: where there are many (texts of any length), most come too seldom.
AT_ONCE = 4
# How many bytes of results a record may keep, unless replay was asked for: between kernels that make so much,
# matching costs little, and it keeps no results.
ROOM = 80 << 20
# Programs at so many sizes are compared with records; others that run the same loops are not.
_PROOFS = 2
# After so many calls of one kind in a row that stay as they are, so many are not looked at.
_IN_A_ROW, _RESTS = 4, 100
# What PyTorch calls them; TORCH_LOGS="graph_breaks,recompiles" prints them to standard error.
_breaks = logging.getLogger("rushlight.trace.graph_breaks")
_recompiles = logging.getLogger("rushlight.trace.recompiles")


class Specialization:
    """What is known of calls with one key (guards.key_of): their program, or why there is none."""

    def __init__(self) -> None:
        self.calls = self.replays = self.failed = 0
        self.program: Program | None = None
        self.guards: Guards | None = None
        self.ready = False
        self.refusal = self.broken = ""
        self.seconds = 0.0
        # How many batches of gradients this thread had sent through graphs when the last call ended.
        self.batches = LOCAL.batches
        # In which order the dims of results' gradients lay, by the number of the result.
        self.orders: dict[int, tuple[int, ...]] = {}
        # The key without sizes; how long calls took that waited for a program, as others with this outline
        # had one, and how long it takes to make one, of their thread's time; the latest that waited.
        self.outline: Any = None
        # The key without the identities of objects.
        self.likeness: Any = None
        # Whether its program was made from those at other sizes.
        self.derived = False
        # Its program before it was settled, until that is known to be right.
        self.described: Described | None = None
        # The numbers in the key that outlines leave out.
        self.sizes: tuple[int, ...] = ()
        # Which way Python went when a record was made (effects/purity.py), and whether a call of this kind
        # has gone another way than those at other sizes.
        self.path: int | None = None
        self.strays = False
        # Whether a second record may tell what one cannot: addresses are asked for.
        self.unsure = False
        self.worked = self.learnt = 0.0
        self.latest = choice.Sample(None)
        # Whether it is replayed; where it cannot be: whether it is matched.
        self.race, self.choice = choice.Race(), choice.Choice()
        # What compiles while calls run eagerly.
        self.task: threading.Thread | None = None

    def moved(self) -> bool:
        """Whether gradients lie otherwise than when the program was recorded."""
        recorded = [] if self.program is None else self.program.orders
        return any(self.orders.get(n, order) != order for n, order in enumerate(recorded))

    @property
    def rests(self) -> int:
        """How many calls more will be as they are."""
        if self.ready:
            return 0 if self.race.replays else self.race.left
        return 0 if self.choice.matches or not self.refusal else self.choice.until - self.choice.calls

    @property
    def gains(self) -> bool:
        """Whether it is replayed or matched."""
        return self.race.replays if self.ready else self.choice.matches

    def refuse(self, why: str) -> None:
        """Stay eager from now on; `why` is for the report."""
        self.refusal, self.program, self.ready = why, None, False
        _breaks.info("Graph break: the call stays eager: %s", why)


class _Call(NamedTuple):
    """A call that was recorded. unseen: what Python did beside, or read that nothing guards. batches: whether
    gradients came in batches.
    """

    recorder: Recorder
    lent: Lent
    tensors: list[Tensor]
    guards: Guards
    before: State
    unseen: str
    batches: bool


# All that runs tells one recorder: while it is another thread's, calls are as the first ones.
_RECORDS = threading.Lock()


@own
class Compiled:
    """A function that is replayed without Python where that is safe.

    careful: where nothing that Python did would be missing, too (effects/purity.py). verify: a kernel that
    differs from eager is written down. budget: seconds that compiling one kind of arguments may take.
    background: no call waits for the compiler. share: gives how much of a forward's results to keep.
    search: try out how to cut products.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        fullgraph: bool,
        careful: bool,
        verify: bool,
        budget: float | None,
        background: bool,
        share: Callable[[], float],
        search: bool,
    ) -> None:
        self.function, self.fullgraph, self.careful, self.search = function, fullgraph, careful, search
        self.verify, self.budget, self.background, self.share = verify, budget, background, share
        self.plans: dict[Any, Specialization] = {}
        # By what is left of keys without sizes: whose calls were recorded last.
        self.leaders: dict[Any, Specialization] = {}
        # By the same: programs at sizes that have none yet (sizes/).
        self.families: dict[Any, Family] = {}
        # At which sizes programs equalled a record, by what they run (Program.does).
        self.proven: dict[Any, set[Any]] = {}
        # Why kinds were refused that other objects alone tell apart, by what they have in common.
        self.alike: dict[Any, list[str]] = {}
        # What Python did beside, for which kinds of arguments were refused.
        self.effects: list[str] = []
        # Of calls that cannot be replayed without Python.
        self.trace = Trace()
        # Goes on for as long as calls need not come here (`_rest`); who came last, and how often in a row;
        # whether a call has asked if it is compiled.
        self.rests: Iterator[None] = iter(())
        self._came: Specialization | None = None
        self._row = 0
        self.asked = False
        owner, name = getattr(function, "__self__", None), getattr(function, "__name__", "forward")
        self.name: str = getattr(function, "__qualname__", type(function).__name__)
        if is_module(owner):  # whose class says more than the one that defines its __call__
            self.name = f"{type(owner).__qualname__}.{'forward' if name == '__call__' else name}"
        self.label = f"Torch-Compiled Region: {self.name}"

    def key(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Of which kind a call is."""
        return key_of(args, kwargs)[1]

    def reset(self) -> None:
        """Forget what was recorded."""
        for known in (self.plans, self.leaders, self.families, self.proven, self.alike, self.effects):
            known.clear()
        self.rests = iter(())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if TAPE:
            return self.function(*args, **kwargs)
        tensors, key = key_of(args, kwargs)
        plan = self.plans.get(key)
        if plan is not None and plan.ready:
            race = plan.race
            if not race.left and self.careful and not STACK.modes:
                return self._raced(plan, args, kwargs)
            race.left -= 1
            if not race.replays:
                self._rest(plan)
                return self.function(*args, **kwargs)
            why = plan.guards.failure()  # type: ignore[union-attr]
            if not why:
                return self._replayed(plan, tensors, args, kwargs)
            plan = self._again(plan, key, why)
        elif plan is not None and plan.refusal and Interface.platform is None:
            plan.calls += 1
            return self._matched(plan, args, kwargs)
        return self._slowly(plan, key, tensors, args, kwargs)

    def _replayed(self, plan: Specialization, tensors: list[Tensor], args: Any, kwargs: Any) -> Any:
        """The program's results; eager ones while its memory is in use, by a graph or another thread."""
        program: Any = plan.program
        if program.refusal:
            plan.refuse(program.refusal)
            return self._matched(plan, args, kwargs)
        if not plan.replays and plan.moved():
            plan.ready = False
            return self._slowly(plan, None, tensors, args, kwargs)
        # What it writes to is read by other names, too, where an argument is the same memory.
        met = program.writes and not program.writes.isdisjoint([id(root(t._memory)) for t in tensors])
        if met or not program.room.enter():
            return self.function(*args, **kwargs)
        try:
            plan.replays += 1
            if (
                plan.replays == 1 and not plan.derived
            ):  # by now nobody holds what the recorded calls have made
                gc.collect(1)
                memory_pages.give_back()
            return spanned(self.label, program.run, tensors) if SPANS else program.run(tensors)
        finally:
            program.room.busy.release()

    def _raced(self, plan: Specialization, args: Any, kwargs: Any) -> Any:
        """A call that tells whether replays are faster than the function."""
        race, before = plan.race, plan.replays
        replay = race.next()
        if replay is None:
            return self(*args, **kwargs)
        if not replay:
            return race.timed(False, self.function, args, kwargs)
        race.replays, race.left = True, 1
        found = race.timed(True, self, args, kwargs)
        if plan.replays == before:
            race.drop()
        return found

    def _rest(self, plan: Specialization) -> None:
        """A call has stayed as it is: if none gains anything, and no others come, the next ones need not come
        here, where it takes longer to find that out than a small call takes.
        """
        if self._came is not plan:
            self._came, self._row = plan, 0
        self._row += 1
        if self._row <= _IN_A_ROW or self.asked or len(self.plans) > MOST_PROGRAMS:
            return
        calls = min(plan.rests, _RESTS)
        if calls <= 0 or any([p.gains for p in self.plans.values()]):
            return
        if plan.ready:
            plan.race.left -= calls
        else:
            plan.choice.rest(calls, self.trace)
        self.rests = repeat(None, calls)

    def _again(self, old: Specialization, key: Any, why: str) -> Specialization:
        """A guard has failed (guards.py): record the call again, but not more than MOST_PROGRAMS times."""
        self._tell(why)
        plan = self.plans[key] = Specialization()
        plan.failed = old.failed + 1
        plan.outline, plan.sizes, plan.likeness = old.outline, old.sizes, old.likeness
        self.families.pop(old.outline, None)  # of which it was taken for granted, too
        if self.leaders.get(old.outline) is old:  # and would keep its program
            del self.leaders[old.outline]
        if plan.failed > MOST_PROGRAMS:
            plan.refuse(f"guards failed {plan.failed} times, at last this one: {why}")
        return plan

    def _tell(self, why: str) -> None:
        """Log that a call is recorded anew."""
        _recompiles.info("Recompiling function %s: %s", self.name, why)

    def _begun(self, key: Any, tensors: list[Tensor]) -> Specialization:
        """The plan of arguments that have a new key; it refuses those that no program can take."""
        latest = next(reversed(self.plans), None)
        if latest is not None and key is not None:
            self._tell(difference(latest, key))
        plan = self.plans.setdefault(key, Specialization())
        plan.likeness = key and likeness(key)
        why = unfit(key, tensors)
        if why:
            plan.refuse(why)
        elif len(self.effects) > 1 and not self.fullgraph:
            plan.refuse(self.effects[0])
        elif len(alike := self.alike.get(likeness(key), [])) > 1 and not self.fullgraph:
            plan.refuse(alike[0])
        elif self.careful and not self.fullgraph and not self.background:
            plan.outline, plan.sizes = outline(key), sizes_of(key)
            leader = self.leaders.get(plan.outline)
            if leader is not None and leader.refusal:  # what that was about is no size, as a rule
                plan.refuse(leader.refusal)
        return plan

    def _waits(self, plan: Specialization) -> bool:
        """Whether calls at other sizes have a program, or will have one, and it is not clear yet that these
        come again and again: they run as they are until a program would have paid for itself.
        """
        leader = self.leaders.get(plan.outline)
        if plan.outline is None or leader is plan or plan.program is not None:
            return False
        if leader is None or leader.refusal:
            if plan.calls:
                self.leaders[plan.outline] = plan
            return False
        if self._recorded(plan) >= MOST_PROGRAMS and not self._resembles(plan):
            return False
        at_once = len(self.plans) <= AT_ONCE or self._resembles(plan)
        if not leader.ready:  # the first few may confirm each other
            at_once = self._recorded_like(plan) is not None and self._recorded(plan) < MOST_PROGRAMS
        if plan.calls and at_once:
            return False
        return not leader.ready or self.trace.gain * plan.worked <= leader.learnt

    def _recorded_like(self, plan: Specialization) -> Specialization | None:
        """Calls of which only sizes tell these apart, and which have been recorded once."""
        leader = self.leaders.get(plan.outline)
        known = leader is None or leader is plan or leader.ready or leader.described is None
        return None if known else leader

    def _recorded(self, other: Specialization) -> int:
        """How many kinds beside this one have a program that was recorded."""
        return sum(p.program is not None and not p.derived and p is not other for p in self.plans.values())

    def _resembles(self, plan: Specialization) -> bool:
        """Whether calls of a kind get a program of those at other sizes, or help to make such."""
        family = self.families.get(plan.outline)
        return family is not None and not plan.strays and family.serves(plan.sizes)

    def _waiting(self, plan: Specialization, tensors: list[Tensor], args: Any, kwargs: Any) -> Any:
        """A call that waits for its program. The backward() of the one before it has come by now."""
        plan.worked += plan.latest.seconds
        plan.latest = choice.Sample(None)
        if not plan.calls:
            plan.calls = 1
            return self._looked_at(plan, tensors, lambda: plan.latest.call(self.function, args, kwargs))
        return plan.latest.call(self.function, args, kwargs)

    def _looked_at(self, plan: Specialization, tensors: list[Tensor], call: Callable[[], Any]) -> Any:
        """What a call gives that is a kind's first, which has no record."""
        state = state_of(tensors)
        found = call()
        # What a record does to copies of the arguments is done to these too late.
        if state != state_of(tensors):
            self._refuse(plan, "an argument is written to, or gets a gradient")
        overheard(tracked_of(found), plan.orders)
        plan.batches = LOCAL.batches
        return found

    def _slowly(
        self, plan: Specialization | None, key: Any, tensors: list[Tensor], args: Any, kwargs: Any
    ) -> Any:
        if plan is None:
            plan = self._begun(key, tensors)
        device = device_of(self.function, tensors) if Interface.platform is not None else None
        if device is None and not plan.refusal and self._waits(plan):
            return self._waiting(plan, tensors, args, kwargs)
        plan.calls += 1
        if plan.calls == 2 and self._recorded(plan) >= MOST_PROGRAMS and not self._resembles(plan):
            plan.refuse(f"more than {MOST_PROGRAMS} kinds of arguments have come")
            plan.choice.rested += plan.worked
        if device is not None and not plan.refusal:
            # a program without CUDA loads nothing of it
            from rushlight._engine.trace.devices import graphs

            return graphs.slowly(self, plan, device, tensors, args, kwargs, unlike)
        if plan.refusal:
            return self._matched(plan, args, kwargs)
        if plan.task and plan.task.is_alive():
            return self.function(*args, **kwargs)
        start, begin = time.perf_counter(), time.thread_time()
        until = None if self.budget is None else start + self.budget - plan.seconds
        # In the background: every kernel is asked for, none is waited for.
        beside = self.background and plan.calls == 1
        changes = {"hot_calls": 1} if beside and settings.kernels != "numpy" else {}
        with (
            settings.using(**changes, autotune=self.search or settings.autotune),
            nullcontext() if beside else at_once(),
            deadline(until),
        ):
            if (plan.calls > 1 or self.fullgraph) and _RECORDS.acquire(blocking=False):
                try:
                    with uncollected() as resume:
                        found = self._record(plan, tensors, args, kwargs, until, resume)
                finally:
                    _RECORDS.release()
                if not plan.derived:  # what recording has freed, and glibc keeps between arrays that live on
                    memory_pages.give_back()
            else:
                found = self._looked_at(plan, tensors, lambda: self.function(*args, **kwargs))
                self._do(plan, tiers.wait if self.background else lambda: None)
        plan.seconds += time.perf_counter() - start
        plan.batches = LOCAL.batches
        # A record and its check; the first call loads what nobody has used before.
        plan.learnt = (1 + (plan.calls != 2)) * (time.thread_time() - begin)
        if plan.ready:
            self.leaders[plan.outline] = plan
        if plan.broken and self.fullgraph:
            raise Unsupported(f"fullgraph=True, but the call cannot be compiled whole: {plan.broken}")
        return found

    def _matched(self, plan: Specialization, args: Any, kwargs: Any) -> Any:
        """A call that is matched, or tried, or left as it is."""
        trace = self.trace
        known, trace.new_at = trace.compiled, ""
        try:
            found = plan.choice.call(trace, self.function, args, kwargs)
            if not plan.choice.matches:
                self._rest(plan)
            return found
        finally:
            if known and trace.new_at:
                self._tell(f"the call does what no call before did, from {trace.new_at} on")

    def _do(self, plan: Specialization, work: Callable[[], None]) -> None:
        """Now, or beside the calls that follow."""
        if not self.background:
            return work()

        def beside() -> None:
            try:
                work()
            except Exception as error:
                plan.refuse(f"compiling failed: {type(error).__name__}: {error}")

        plan.task = threading.Thread(target=beside, name="rushlight-compile", daemon=True)
        plan.task.start()
        return None

    def _record(
        self, plan: Specialization, tensors: list[Tensor], args: Any, kwargs: Any, until: Any, resume: Any
    ) -> Any:
        like = self._proven_like(plan)
        if like is not None and not plan.strays and plan.calls == 2:
            found = self._sized(plan, like, tensors, args, kwargs)
            if found is not NotImplemented:
                return found
        shown = like or self._recorded_like(plan)
        guards, path = self._surroundings(plan, shown)
        batches = plan.batches != LOCAL.batches
        lent = Lent(tensors)
        # Copies of the arguments would be other memory.
        if lent.taken or not roots(tensors).isdisjoint(roots(guards.known())):
            return self.function(*args, **kwargs)
        if plan.moved():  # its first record is worth nothing
            plan.program, plan.failed = None, plan.failed + 1
        room = ROOM if self.careful and not self.fullgraph else math.inf
        # What a call that makes much leaves in cycles may be as much, again and again.
        recorder = Recorder(lent.given, guards.known(), room, resume)
        lent.written = lambda: recorder.inputs_written
        held = [guards] if like is None or like.guards in (None, guards) else [guards, like.guards]
        before = State(held, plan.program or (None if shown is None else shown.program))
        with lent, recording(recorder), watched(guards, path) if self.careful else nullcontext() as watch:
            lent.begin()
            found = self.function(*args, **kwargs)
        if path is not None and watch is not None and watch.strays():  # it is recorded when it comes again
            plan.strays = True
            plan.calls -= 1
            lent.settle()
            return found
        plan.broken, plan.path, unseen = recorder.broken, path, ""
        if watch is not None and path is None:
            plan.path = watch.path.said
            plan.unsure = watch.unsure
            unseen = watch.found or guards.unguarded(flatten([args, kwargs])[0])
        call = _Call(recorder, lent, tensors, guards, before, unseen, batches)
        return self._kept(plan, call, found, until)

    def _kept(self, plan: Specialization, call: _Call, found: Any, until: float | None) -> Any:
        """What a recorded call gives: its record becomes a program, or is what that must equal, unless it
        cannot be repeated.
        """
        recorder, lent, tensors, guards, before, unseen, batches = call
        output, given, traced = lent.among(found), lent.given, None
        tracked = tracked_of(output)
        first = plan.calls == 1  # only looked at: it may still make what later calls find
        why = (
            recorder.refusal
            or unseen
            or opaque(output)
            or seen_twice(output, given, tracked)
            or (tracked and without_node(recorder, tracked, batches))
            or (plan.failed > MOST_PROGRAMS and MOVED)
            or (not first and guards.failure())
        )
        if tracked and not why:
            traced, why = self._traced(plan, recorder, tracked, guards, lent)
        if why:
            self._refuse(plan, why)
            if why == unseen:
                self.effects.append(why)
        elif not first:

            def make(until: float | None, share: float) -> Program:
                return Program(recorder, given, output, traced, until, share)

            def told() -> Heard:
                return Heard(recorder.entries, given, guards.known(), results_of(output))

            why = self._take(plan, make, told, guards, until, before, tensors)
        if not why:
            overheard(tracked, plan.orders)
        if not why and not first:
            return handed_on(output, lent, guards.known())
        lent.settle()
        return found

    def _surroundings(self, plan: Specialization, like: Specialization | None) -> tuple[Guards, int | None]:
        """What a call depends on; and the path that it is to take, if calls at other sizes took that."""
        if like is None or like.guards is None or like.path is None or plan.strays:
            return Guards(self.function), None
        if (like.unsure and not like.ready) or like.guards.failure():
            return Guards(self.function), None
        return like.guards, like.path

    def _sized(
        self, plan: Specialization, like: Specialization, tensors: list[Tensor], args: Any, kwargs: Any
    ) -> Any:
        """An eager call, with which a program is compared that is made from those at other sizes;
        NotImplemented where none is.
        """
        family, (guards, path) = self.families.get(plan.outline), self._surroundings(plan, like)
        if family is None or path is None or not family.serves(plan.sizes):
            return NotImplemented
        # Another program's run, or the backward pass that is still to come, needs the memory.
        if not family.room.enter():
            plan.calls -= 1
            return self.function(*args, **kwargs)
        try:
            program = family.at(plan.sizes, guards.known())
            before = State([guards], program)
            if program is None or not before.knows(program):
                if program is not None:
                    family.miss(plan.sizes)
                return NotImplemented
            witness = Witness(program, tensors, guards.known())
            with watched(guards, path) as watch:
                found = witness.hear(self.function, args, kwargs)
            heard = Heard(witness.entries, tensors, guards.known(), results_of(found))
            alike = not (watch.strays() or guards.failure()) and family.confirms(plan.sizes, heard)
            same = alike and before.equal(Trial(program, witness, tensors))
        finally:
            family.room.busy.release()
        if same:
            plan.program, plan.guards, plan.path = program, guards, path
            plan.ready = plan.derived = True
            plan.race = like.race  # found out once for all sizes
            family.made += 1
            self.trace.faster += 1
            overheard(tracked_of(found), plan.orders)
        else:
            family.miss(plan.sizes)
            if alike and family.ends(plan.sizes):
                for key in [k for k, p in [*self.plans.items()] if p.derived and p.outline == plan.outline]:
                    del self.plans[key]
            plan.strays = True
            plan.calls -= 1  # it is recorded when it comes again
        return found

    def _traced(
        self, plan: Specialization, recorder: Recorder, tracked: list[Tensor], guards: Guards, lent: Lent
    ) -> tuple[Traced | None, str]:
        """The record of the gradients of results; and why there is none, else empty."""
        try:
            own = backwards_of_programs(tracked) if self.careful else []
            for f in own:
                what = stores(f.__code__) if isinstance(f, FunctionType) else ""
                if what:
                    return None, f"in a backward() of its own {what}: a replay would leave that out"
            with lent, watched(guards) if own else nullcontext() as watch:
                traced = Traced(recorder, tracked, [*lent.given, *guards.known()], plan.orders, bool(own))
        except Exception as error:  # which is raised if the caller's backward() comes, not here
            return None, f"its backward pass fails: {type(error).__name__}: {error}"
        return traced, traced.recorder.refusal or (watch.found if watch else "")

    def _refuse(self, plan: Specialization, why: str) -> None:
        """Leave calls of this kind eager, as those are that others of its objects alone tell apart."""
        plan.refuse(why)
        self.alike.setdefault(plan.likeness, []).append(why)
        if plan.outline is not None:
            self.leaders.setdefault(plan.outline, plan)

    def _take(
        self,
        plan: Specialization,
        make: Callable[..., Program],
        told: Callable[[], Heard],
        guards: Guards,
        until: float | None,
        before: State,
        tensors: list[Tensor],
    ) -> str:
        """Of a record the program is made, or the one that is there must equal it; why not, else empty.

        One that does what a program at other sizes does, which equalled a second record, is to equal its own.
        """
        program, second = plan.program, None
        if program is None:

            def build(share: float = self.share()) -> None:
                nonlocal second
                family = self._family(plan)
                heard = None if family is None else told()  # before passes write to the record
                made = make(until, share)
                second = Recorded(made)
                if family is not None and heard is not None:
                    plan.described = family.described(made, guards.known(), plan.sizes, heard)
                made.settle(guards.known())
                if all(guards is not p.guards for p in self.plans.values()):  # else they know
                    gradients.guard(guards, made.entries)
                plan.program, plan.guards = made, guards

            self._do(plan, build)
            program = plan.program
            if program is None or second is None or not self._is_known(plan, program, before):
                return ""
        else:
            second = Recorded(make(None if program.fused else 0.0, program.share))
        sizes = self.proven.setdefault(program.does, set())
        why = ""
        if plan.calls != 2 or len(sizes) < _PROOFS:
            why = before.difference(program, second, tensors, write=self.verify)
        if why:
            plan.refuse(why)
        else:
            sizes.add(tuple([t._memory.shape for t in tensors]))
        plan.ready = not why
        if plan.ready and plan.described is not None:
            self.families[plan.outline].add(plan.described)
        plan.described = None
        self.trace.faster += plan.ready
        return why

    def _family(self, plan: Specialization) -> Family | None:
        """Whom a program of this kind can tell how numbers follow from sizes; None where nobody asks."""
        if plan.outline is None or len(self.plans) < 2:
            return None
        family = self.families.setdefault(plan.outline, Family())
        return family if family.learns else None

    def _is_known(self, plan: Specialization, program: Program, before: State) -> bool:
        """Whether what a program does has been done twice at other sizes, all else being alike."""
        if plan.outline is None or plan.unsure or not before.knows(program):
            return False
        alike = [p.program for p in self.plans.values() if p.ready and p.outline == plan.outline]
        if any(p is not None and p.said == program.said for p in alike):
            return True
        first, family = self._recorded_like(plan), self.families.get(plan.outline)
        if first is None or family is None or not resemble(first.described, plan.described):
            return False
        family.add(first.described)  # type: ignore[arg-type]
        first.described = None
        return True

    def _proven_like(self, plan: Specialization) -> Specialization | None:
        """Calls of which only sizes tell these apart, and whose program equals two records."""
        leader = None if plan.outline is None else self.leaders.get(plan.outline)
        return leader if leader is not None and leader.ready and leader is not plan else None
