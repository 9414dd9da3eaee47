"""The line search of L-BFGS: a step that satisfies the strong Wolfe conditions, as in minFunc."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

SUFFICIENT_DECREASE, CURVATURE = 1e-4, 0.9
MOST_TRIALS = 25


class Point(NamedTuple):
    """A trial: how far along the direction, loss and gradient there, the slope along the direction."""

    t: Any
    loss: float
    grad: Any
    slope: Any


def cubic_minimum(a: Point, b: Point, bounds: tuple[Any, Any] | None = None) -> Any:
    """Where the cubic through losses and slopes at two points is least, within bounds (the points)."""
    low, high = bounds or ((a.t, b.t) if a.t <= b.t else (b.t, a.t))
    d1 = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.t - b.t)
    square = d1 ** 2 - a.slope * b.slope
    if not square >= 0:
        return (low + high) / 2.0
    d2 = square.sqrt()
    left, right = (a, b) if a.t <= b.t else (b, a)
    share = (right.slope + d2 - d1) / (right.slope - left.slope + 2 * d2)
    return min(max(right.t - (right.t - left.t) * share, low), high)


class Search:
    """One search: `at(t)` evaluates (loss, flat gradient) at a distance along `direction`."""

    def __init__(self, at: Callable[[Any], tuple[float, Any]], direction: Any, start: Point,
                 tolerance_change: float = 1e-9) -> None:
        self.at, self.direction, self.start = at, direction, start
        self.tolerance, self.evaluations, self.trials = tolerance_change, 0, 0

    def run(self, t: Any) -> Point:
        """The step to take, from a first guess."""
        bracket, done = self._bracket(t)
        if self.trials == MOST_TRIALS:
            bracket = [self.start, bracket[-1]]
        low = 0 if bracket[0].loss <= bracket[-1].loss else 1
        return bracket[low] if done else self._zoom(bracket, low)

    def _try(self, t: Any) -> Point:
        loss, grad = self.at(t)
        self.evaluations += 1
        return Point(t, loss, grad, grad.dot(self.direction))

    def _too_high(self, point: Point) -> bool:
        start = self.start
        return bool(point.loss > start.loss + SUFFICIENT_DECREASE * point.t * start.slope)

    def _flat_enough(self, point: Point) -> bool:
        return bool(abs(point.slope) <= -CURVATURE * self.start.slope)

    def _bracket(self, t: Any) -> tuple[list[Point], bool]:
        """Two points that enclose a good one, or a good one (True)."""
        before, new = self.start._replace(t=0), self._try(t)
        while self.trials < MOST_TRIALS:
            if self._too_high(new) or (self.trials > 1 and new.loss >= before.loss):
                return [before, new], False
            if self._flat_enough(new):
                return [new], True
            if new.slope >= 0:
                return [before, new], False
            bounds = new.t + 0.01 * (new.t - before.t), new.t * 10
            before, new = new, self._try(cubic_minimum(before, new, bounds))
            self.trials += 1
        return [before, new], False

    def _zoom(self, bracket: list[Point], low: int) -> Point:
        """The bracket narrowed until its lower end is good, or too narrow."""
        size, stuck = self.direction.abs().max(), False
        while self.trials < MOST_TRIALS:
            first, last = bracket
            if abs(last.t - first.t) * size < self.tolerance:
                break
            t, stuck = _inside(cubic_minimum(first, last), first.t, last.t, stuck)
            new = self._try(t)
            self.trials += 1
            if self._too_high(new) or new.loss >= bracket[low].loss:
                bracket[1 - low] = new
                low = 0 if bracket[0].loss <= bracket[1].loss else 1
                continue
            done = self._flat_enough(new)
            if not done and new.slope * (bracket[1 - low].t - bracket[low].t) >= 0:
                bracket[1 - low] = bracket[low]
            bracket[low] = new
            if done:
                break
        return bracket[low]


def _inside(t: Any, a: Any, b: Any, stuck: bool) -> tuple[Any, bool]:
    """Keep away from the ends of a bracket after a second try near them; (t, whether it was near)."""
    low, high = min(a, b), max(a, b)
    margin = 0.1 * (high - low)
    if not min(high - t, t - low) < margin:
        return t, False
    if not (stuck or t >= high or t <= low):
        return t, True
    return (high - margin if abs(t - high) < abs(t - low) else low + margin), False
