"""When a region (matching.py) writes a matcher (matchers.py) for a call: the second time that the call is
matched at the same node of the trace, it is watched, and from the third time on the matcher recognises it, if
all that happened in between can be said by one.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from rushlight._engine.autograd.node import TRACES, AccumulateGrad
from rushlight._engine.trace.matchers import Matcher, Writer, build
from rushlight._engine.trace.passes.memory import uncollected
from rushlight._engine.trace.recorder import root
from rushlight._engine.trace.trace import Node

# How many ways a call is known to be matched from one node.
MOST_MATCHERS = 8
# Results of so many bytes may be recorded before garbage is collected again.
ROOM = 64 << 20


class Learning:
    """What a region does around a call that it does not know yet."""

    # Of the region.
    trail: list[Any] | None  # what happens in a call that is to be learnt
    events: int  # what has happened that no trail tells
    warm: bool  # whether nothing was learnt
    resting: ExitStack  # closed when garbage is to be collected again
    rests: bool  # whether none is
    room: int  # how many bytes may be recorded meanwhile

    def mark(self: Any, key: Any) -> tuple[Node, int, Any]:
        """Where the region stands before a call, and the trail of one that is to be learnt."""
        node = self.node
        times = node.tries.get(key, 0)
        learns = (
            0 < times < MOST_MATCHERS
            and self.trail is None
            and not self.recording
            and TRACES.record is None
            and self.mine()
        )
        if not times:
            node.tries[key] = 1
        if not learns:
            return node, self.events, None
        self.rest()
        self.trail = []
        TRACES.add(self._trailed)
        TRACES.asked, TRACES.listener = True, self._renamed
        return node, self.events, self.trail

    def learnt(
        self: Any,
        key: Any,
        mark: tuple[Node, int, Any],
        values: tuple[Any, ...],
        found: Any,
        kind: type[Writer] | None = None,
    ) -> Any:
        """What a call gave. From the third time that it is matched, it is taken at once.

        kind: who writes its matcher (matchers.py), if that is another.
        """
        start, events, trail = mark
        if trail is None or self.trail is not trail:
            return found
        self.unwatch()
        if not self.recording:
            start.tries[key] += 1
        if not self.recording and self.node is not start and events == self.events:
            made = build(self, start, self.node, values, found, trail, kind)
            if made is not None:
                known = start.known.get(key)
                self.warm = self.warm and known is not None  # else its time says nothing about later ones
                start.known[key] = made if known is None else either(made, known)
        return found

    def by_parts(self: Any, call: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The op that is looked at once more, by its parts: nothing is noted of what it brought in."""
        for place, *_ in self.entered:
            ref, a = self.inputs.pop(place)
            self.arrays.pop(place)
            self.real.pop(place, None)
            self.places.pop(id(ref()), None)
            held = self.roots.get(id(root(a)), [])
            if place in held:
                held.remove(place)
        self.entered.clear()
        return self.within(call, args, kwargs)

    def rest(self: Any) -> None:
        """Let no garbage be collected until the segment ends, or has made much: what is learnt stays, and to
        look at all of it again and again would take a third of the time.
        """
        with self.lock:  # another thread that computes ends the segment
            if self.room < 0:
                self.wake()
            elif not self.rests:
                self.rests = True
                self.resting.enter_context(uncollected())

    def wake(self) -> None:
        """Let garbage be collected as ever."""
        if self.rests:
            self.rests = False
            self.resting.close()

    def unwatch(self: Any) -> None:
        """The call that is watched is over, or is not to be learnt."""
        if self.trail is not None:
            self.trail = None
            TRACES.remove(self._trailed)
            TRACES.asked, TRACES.listener = False, None

    def _renamed(self: Any, t: Any) -> None:
        """A result's node got another class, or (None) nodes were told to last."""
        if not self.mine():
            return
        if self.unit is not None:
            if t is None:
                self.unit.fail("nodes keep what they saved")
            else:
                self.unit.renamed.append((t, t._grad_node.__class__))
        elif t is None or self.trail is None:
            self.events += 1
        else:
            self.trail.append((self.node, "name", t, t._grad_node.__class__))

    def _trailed(self: Any, node: Any) -> None:
        """A node was made beside those of steps."""
        if self.unit is not None or not self.mine():
            return
        how, TRACES.how = TRACES.how, None
        if self.trail is not None and not self.making:
            if how is None or node.__class__ is AccumulateGrad:
                self.events += 1
            else:
                self.trail.append((self.node, "node", *how))


def either(first: Matcher, then: Matcher) -> Matcher:
    """What the second takes where the first does not."""

    def match(region: Any, values: tuple[Any, ...]) -> Any:
        found = first(region, values)
        return then(region, values) if found is NotImplemented else found

    return match
