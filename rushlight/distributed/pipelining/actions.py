"""What ranks do in a step, and in which order: a list of actions for each rank, by schedule."""

from __future__ import annotations

import re
from collections import Counter
from enum import Enum
from typing import NamedTuple

from rushlight.distributed.pipelining._utils import generate_rank_to_stage_mapping


class _ComputationType(str, Enum):  # noqa: UP042 -- its str() is PyTorch's
    """What is done."""

    FORWARD = "F"
    BACKWARD_INPUT = "I"
    BACKWARD_WEIGHT = "W"
    UNSHARD = "UNSHARD"
    RESHARD = "RESHARD"
    SEND_F = "SEND_F"
    RECV_F = "RECV_F"
    SEND_B = "SEND_B"
    RECV_B = "RECV_B"
    FULL_BACKWARD = "B"
    OVERLAP_F_B = "OVERLAP_F_B"
    REDUCE_GRAD = "REDUCE_GRAD"

    @staticmethod
    def from_str(action: str) -> _ComputationType:
        """By its value."""
        try:
            return _ComputationType(action)
        except ValueError:
            raise RuntimeError(f"Invalid computation type {action}") from None


_WORDS = "|".join(sorted((kind.value for kind in _ComputationType), key=len, reverse=True))
_TOLD = re.compile(rf"(\d+)({_WORDS})(\d*)")


class _Action(NamedTuple):
    """Something that a stage does with a microbatch."""

    stage_index: int
    computation_type: _ComputationType
    microbatch_index: int | None = None
    sub_actions: tuple[_Action, ...] | None = None

    def __str__(self) -> str:
        return repr(self)

    def __repr__(self) -> str:
        if self.sub_actions is not None:
            return f"({';'.join(map(repr, self.sub_actions))}){self.computation_type.value}"
        number = "" if self.microbatch_index is None else self.microbatch_index
        return f"{self.stage_index}{self.computation_type.value}{number}"

    @property
    def is_compute_op(self) -> bool:
        """Whether it computes, and does not only send or gather."""
        return self.computation_type in _COMPUTES

    @staticmethod
    def from_str(action_string: str) -> _Action | None:
        """By what its repr says, such as "0F1"; None of an empty string."""
        told = action_string.strip()
        if not told:
            return None
        if told.startswith("("):
            inner, _, kind = told[1:].rpartition(")")
            found = [_Action.from_str(each) for each in inner.split(";")]
            parts = tuple(each for each in found if each is not None)
            return _Action(-1, _ComputationType.from_str(kind), None, parts)
        match = _TOLD.fullmatch(told)
        if match is None:
            raise RuntimeError(
                f"Invalid action string: {action_string}, should be formatted as "
                "[stage][action type][(microbatch)] e.g. 2F0"
            )
        stage, kind, microbatch = match.groups()
        return _Action(int(stage), _ComputationType.from_str(kind), int(microbatch) if microbatch else None)


FORWARD = _ComputationType.FORWARD
BACKWARD_INPUT = _ComputationType.BACKWARD_INPUT
BACKWARD_WEIGHT = _ComputationType.BACKWARD_WEIGHT
FULL_BACKWARD = _ComputationType.FULL_BACKWARD
OVERLAP_F_B = _ComputationType.OVERLAP_F_B
_COMPUTES = (FORWARD, FULL_BACKWARD, BACKWARD_INPUT, BACKWARD_WEIGHT, OVERLAP_F_B)

Pair = tuple[int, int]  # a stage, a microbatch
_Done = Counter[tuple[int, _ComputationType]]  # how many microbatches a stage has done of a kind, in order


def gpipe(stage: int, stages: int, count: int) -> list[_Action]:
    """All forwards, then all backwards."""
    return [_Action(stage, kind, n) for kind in (FORWARD, FULL_BACKWARD) for n in range(count)]


def alternating(stage: int, stages: int, count: int) -> list[_Action]:
    """As many forwards as there are stages from here on, then a backward after each forward."""
    order = [(stage, n) for n in range(count)]
    return _interleaved(order, order, min(count, stages - stage) - 1)


def _interleaved(forwards: list[Pair], backwards: list[Pair], ahead: int) -> list[_Action]:
    """`ahead` forwards, then a forward and a backward in turn, then the backwards that are left."""
    found = [_Action(stage, FORWARD, n) for stage, n in forwards[:ahead]]
    for number, (stage, n) in enumerate(backwards):
        if ahead + number < len(forwards):
            found.append(_Action(forwards[ahead + number][0], FORWARD, forwards[ahead + number][1]))
        found.append(_Action(stage, FULL_BACKWARD, n))
    return found


def breadth_first(rank: int, ranks: int, stages: int, count: int) -> list[_Action]:
    """All forwards of a stage, then those of the rank's next one; the backwards the other way."""
    mine = range(rank, stages, ranks)
    found = [_Action(stage, FORWARD, n) for stage in mine for n in range(count)]
    return found + [
        _Action(stage, FULL_BACKWARD, n) for stage in reversed(mine) for n in reversed(range(count))
    ]


def depth_first(rank: int, ranks: int, stages: int, count: int, hops: int = 2) -> list[_Action]:
    """Interleaved 1F1B: rounds of microbatches through all stages of the rank, backwards in turn.

    hops: how many forwards more a rank begins with for each rank that comes behind it.
    """
    rounds = max(1, count // ranks)
    each, mine = count // rounds, list(range(rank, stages, ranks))
    forwards, backwards = (
        [(stage, r * each + n) for r in range(rounds) for stage in order for n in range(each)]
        for order in (mine, mine[::-1])
    )
    ahead = min((len(mine) - 1) * each + hops * (ranks - 1 - rank), len(forwards))
    return _interleaved(forwards, backwards, ahead)


def split_backwards(actions: list[_Action], behind: int) -> list[_Action]:
    """The same with backwards in two parts: the inputs' at once, the weights' `behind` backwards later."""
    found: list[_Action] = []
    waiting: list[_Action] = []
    for action in actions:
        if action.computation_type is not FULL_BACKWARD:
            found.append(action)
            continue
        found.append(action._replace(computation_type=BACKWARD_INPUT))
        waiting.append(action._replace(computation_type=BACKWARD_WEIGHT))
        if len(waiting) > behind:
            found.append(waiting.pop(0))
    return found + waiting


def there_and_back(ranks: int, stages: int, count: int) -> dict[int, list[_Action]]:
    """Schedules in which the last rank's two stages follow each other: found by playing them through.

    In each unit of time a rank computes what it can: gradients of inputs first, which others wait for, then
    forwards, of later stages first, while it keeps at most 2 * ranks microbatches; then those of weights.
    """
    mine = generate_rank_to_stage_mapping(ranks, stages, "v")
    found: dict[int, list[_Action]] = {rank: [] for rank in range(ranks)}
    done: _Done = Counter()
    while any(len(actions) < 3 * len(mine[0]) * count for actions in found.values()):
        now = {rank: _next(mine[rank], stages, count, done, 2 * ranks) for rank in range(ranks)}
        if all(action is None for action in now.values()):
            now = {rank: _next(mine[rank], stages, count, done, stages * count) for rank in range(ranks)}
        for rank, action in now.items():
            if action is not None:
                found[rank].append(action)
                done[action[:2]] += 1
    return found


def _next(mine: list[int], stages: int, count: int, done: _Done, most: int) -> _Action | None:
    """What a rank can do now, that has the stages `mine`."""
    kept = sum(done[stage, FORWARD] - done[stage, BACKWARD_WEIGHT] for stage in mine)
    tries = [(stage, BACKWARD_INPUT) for stage in mine]
    if kept < most:
        tries += [(stage, FORWARD) for stage in reversed(mine)]
    tries += [(stage, BACKWARD_WEIGHT) for stage in mine]
    for stage, kind in tries:
        number = done[stage, kind]
        action = _Action(stage, kind, number)
        if number < count and all(number < done[before[:2]] for before in _needed(action, stages)):
            return action
    return None


def _needed(action: _Action, stages: int) -> set[_Action]:
    """What comes before an action."""
    stage, kind, n, _ = action
    if kind is FORWARD:
        return {_Action(stage - 1, FORWARD, n)} if stage else set()
    if kind is BACKWARD_WEIGHT:
        return {_Action(stage, BACKWARD_INPUT, n)}
    following = {_Action(stage + 1, BACKWARD_INPUT, n)} if stage < stages - 1 else set()
    return {_Action(stage, FORWARD, n)} | following


# --- what goes from rank to rank ------------------------------------------------------------------------


def with_transfers(
    orders: dict[int, list[_Action | None]], ranks: dict[int, int], backward: bool = True
) -> dict[int, list[_Action]]:
    """What ranks compute, and in between what they send and receive; RuntimeError where none can go on.

    Found by playing the schedules through. A message is begun at both of its ends before either rank begins
    a later one: so ranks agree on the order of all messages, which some backends move one after the other.
    """
    left = {rank: _computed(row, backward) for rank, row in orders.items()}
    found: dict[int, list[_Action]] = {rank: [] for rank in orders}
    done: set[_Action] = set()
    last = max(ranks)
    while any(left.values()):
        before = len(done)
        for rank, row in left.items():
            if row and _waited_for(row[-1], last) <= done:
                action = row.pop()
                done.add(_begun(action))
                found[rank].append(action)
                for number, transfer in _transfers(action, ranks, last):
                    found[number].append(transfer)
        if len(done) == before:
            raise RuntimeError(f"no rank can go on: {[row[-1] for row in left.values() if row]}")
    return found


def _computed(row: list[_Action | None], backward: bool) -> list[_Action]:
    """What a rank computes, the last thing first."""
    parts = [part for action in row if action is not None for part in action.sub_actions or (action,)]
    return [
        part
        for part in reversed(parts)
        if part.is_compute_op and part.microbatch_index is not None
        if backward or part.computation_type is FORWARD
    ]


def _begun(action: _Action) -> _Action:
    """An action; of a whole backward its first part, which others wait for."""
    return action._replace(computation_type=BACKWARD_INPUT) if _goes_back(action) else action


def _goes_back(action: _Action) -> bool:
    """Whether a gradient goes to the stage before."""
    return action.computation_type in (BACKWARD_INPUT, FULL_BACKWARD)


def _waited_for(action: _Action, last: int) -> set[_Action]:
    """What comes before an action."""
    return _needed(_begun(action), last + 1)


def _transfers(action: _Action, ranks: dict[int, int], last: int) -> list[tuple[int, _Action]]:
    """(rank, what it does) to bring an action's result to the stage that waits for it, on another rank."""
    stage, kind, n, _ = action
    if kind is FORWARD:
        other, kinds = stage + 1, (_ComputationType.SEND_F, _ComputationType.RECV_F)
    elif _goes_back(action):
        other, kinds = stage - 1, (_ComputationType.SEND_B, _ComputationType.RECV_B)
    else:
        return []
    if not 0 <= other <= last or ranks[other] == ranks[stage]:
        return []
    return [(ranks[stage], _Action(stage, kinds[0], n)), (ranks[other], _Action(other, kinds[1], n))]
