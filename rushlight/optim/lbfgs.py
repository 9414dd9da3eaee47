"""L-BFGS: quasi-Newton steps from the last changes of the gradient (Nocedal, 1980)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import rushlight
from rushlight._engine.autograd.grad_mode import enable_grad, no_grad
from rushlight._engine.tensors.tensor import Tensor
from rushlight.optim.checks import check_lr
from rushlight.optim.optimizer import Optimizer, ParamsT

# Of the line search.
SUFFICIENT_DECREASE, CURVATURE = 1e-4, 0.9
MOST_TRIALS = 25


class LBFGS(Optimizer):
    """Up to max_iter quasi-Newton iterations in every step; all parameters as one vector.

    step(closure) calls the closure again and again: it must clear gradients, compute the loss, run
    backward and return the loss. line_search_fn is None (steps of lr) or "strong_wolfe"; `maximize` goes up.
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
        *,
        maximize: bool = False,
    ) -> None:
        check_lr(lr)
        super().__init__(
            params,
            {
                "lr": lr,
                "max_iter": max_iter,
                "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
                "tolerance_grad": tolerance_grad,
                "tolerance_change": tolerance_change,
                "history_size": history_size,
                "line_search_fn": line_search_fn,
                **({"maximize": True} if maximize else {}),
            },
        )  # absent in files of older releases
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")
        self._params: list[Tensor] = self.param_groups[0]["params"]
        self._numel_cache: int | None = None

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._params, self._numel_cache = self.param_groups[0]["params"], None

    # --- parameters as one vector -------------------------------------------------------------------

    def _numel(self) -> int:
        """How many numbers the parameters are, real and imaginary parts apart."""
        if self._numel_cache is None:
            self._numel_cache = sum(p.numel() * (1 + p.is_complex()) for p in self._params)
        return self._numel_cache

    def _gather_flat_grad(self) -> Tensor:
        """All gradients as one vector, with zeros where there is none."""
        grads = (rushlight.zeros_like(p) if p.grad is None else p.grad for p in self._params)
        dense = (g.to_dense() if g.is_sparse else g for g in grads)
        return rushlight.cat([_real(g.resolve_conj()).reshape(-1) for g in dense])

    def _add_grad(self, step_size: Any, update: Tensor) -> None:
        """Move the parameters by step_size * update."""
        offset = 0
        for p in map(_real, self._params):
            count = p.numel()
            p.add_(update[offset : offset + count].view_as(p), alpha=step_size)
            offset += count
        if offset != self._numel():
            raise AssertionError(f"Expected offset {offset} to equal {self._numel()}")

    def _clone_param(self) -> list[Tensor]:
        """Copies of the parameters."""
        return [p.clone(memory_format=rushlight.contiguous_format) for p in self._params]

    def _set_param(self, params_data: list[Tensor]) -> None:
        """Give the parameters these values."""
        for p, value in zip(self._params, params_data, strict=True):
            p.copy_(value)

    def _directional_evaluate(
        self, closure: Callable[[], Any], x: list[Tensor], t: Any, d: Tensor
    ) -> tuple[float, Tensor]:
        """(loss, flat gradient) at t along d; then the parameters are x."""
        self._add_grad(t, d)
        loss = float(closure())
        flat_grad = self._gather_flat_grad()
        self._set_param(x)
        return loss, flat_grad

    def step(self, closure: Callable[[], Any]) -> Any:
        """Iterate; the loss of the first evaluation is returned."""
        with no_grad():
            return _Run(self, enable_grad()(closure)).loop()


class _Run:
    """One call of step()."""

    # At the point where the search is.
    loss: float
    grad: Tensor

    def __init__(self, optimizer: LBFGS, closure: Callable[[], Any]) -> None:
        self.optimizer, self.options = optimizer, optimizer.param_groups[0]
        self.closure, self.sign = closure, -1 if self.options.get("maximize") else 1
        self.state = optimizer.state[optimizer._params[0]]
        self.state.setdefault("func_evals", 0)
        self.state.setdefault("n_iter", 0)
        self.evaluations = self.iterations = 0

    def loop(self) -> Any:
        first = self.closure()
        self.loss, self.grad = self.sign * float(first), self._flat_grad()
        self._count(1)
        while not self._converged() and self._iterate():
            pass
        return first

    def _count(self, evaluations: int) -> None:
        self.evaluations += evaluations
        self.state["func_evals"] += evaluations

    def _converged(self) -> bool:
        return bool(self.grad.abs().max() <= self.options["tolerance_grad"])

    def _iterate(self) -> bool:
        """One iteration; whether another may follow."""
        state, options = self.state, self.options
        self.iterations += 1
        state["n_iter"] += 1
        first = state["n_iter"] == 1
        _begin(state, self.grad) if first else _turn(state, self.grad, options["history_size"])
        state["prev_flat_grad"], state["prev_loss"] = self.grad.clone(), self.loss
        state["t"] = (min(1.0, 1.0 / self.grad.abs().sum()) if first else 1) * options["lr"]
        slope = self.grad.dot(state["d"])
        if slope > -options["tolerance_change"]:
            return False
        self._move(slope)
        return not self._enough()

    def _move(self, slope: Tensor) -> None:
        """Go along the direction and evaluate there."""
        state, kind = self.state, self.options["line_search_fn"]
        if kind is not None:
            if kind != "strong_wolfe":
                raise RuntimeError(f"only 'strong_wolfe' is supported, got line_search_fn={kind!r}")
            self._search(slope)
        else:
            self.optimizer._add_grad(state["t"], state["d"])
            if self.iterations != self.options["max_iter"]:
                self.loss, self.grad = self._evaluate()
                self._count(1)

    def _search(self, slope: Tensor) -> None:
        state, optimizer = self.state, self.optimizer
        start = optimizer._clone_param()

        def at(t: Any) -> tuple[float, Tensor]:
            loss, grad = optimizer._directional_evaluate(self.closure, start, t, state["d"])
            return self.sign * loss, self._signed(grad)

        most = self.options["max_eval"] - self.evaluations
        search = Search(at, state["d"], Point(0, self.loss, self.grad, slope), most=most)
        found = search.run(state["t"])
        state["t"], self.loss, self.grad = found.t, found.loss, found.grad
        optimizer._add_grad(found.t, state["d"])
        self._count(search.evaluations)

    def _enough(self) -> bool:
        state, options = self.state, self.options
        change = options["tolerance_change"]
        return bool(
            self.iterations == options["max_iter"]
            or self.evaluations >= options["max_eval"]
            or self._converged()
            or state["d"].mul(state["t"]).abs().max() <= change
            or abs(self.loss - state["prev_loss"]) < change
        )

    def _evaluate(self) -> tuple[float, Tensor]:
        return self.sign * float(self.closure()), self._flat_grad()

    def _flat_grad(self) -> Tensor:
        return self._signed(self.optimizer._gather_flat_grad())

    def _signed(self, grad: Tensor) -> Tensor:
        return grad if self.sign > 0 else grad.neg()


def _real(p: Tensor) -> Tensor:
    return rushlight.view_as_real(p) if p.is_complex() else p


def _begin(state: dict[str, Any], grad: Tensor) -> None:
    """The first direction is down the gradient."""
    state.update(d=grad.neg(), old_dirs=[], old_stps=[], ro=[], H_diag=1)


def _turn(state: dict[str, Any], grad: Tensor, size: int) -> None:
    """The next direction: the gradient through the inverse Hessian that the history implies."""
    changes, steps, ro = state["old_dirs"], state["old_stps"], state["ro"]
    y, s = grad.sub(state["prev_flat_grad"]), state["d"].mul(state["t"])
    curvature = y.dot(s)
    if curvature > 1e-10:
        for history, value in ((changes, y), (steps, s), (ro, 1.0 / curvature)):
            if len(history) == size:
                history.pop(0)
            history.append(value)
        state["H_diag"] = curvature / y.dot(y)
    al = state.setdefault("al", [None] * size)
    direction = grad.neg()
    for i in reversed(range(len(changes))):
        al[i] = steps[i].dot(direction) * ro[i]
        direction.add_(changes[i], alpha=-al[i].item())
    direction = direction.mul(state["H_diag"])
    for i in range(len(changes)):
        direction.add_(steps[i], alpha=(al[i] - changes[i].dot(direction) * ro[i]).item())
    state["d"] = direction


# --- the line search: a step that satisfies the strong Wolfe conditions, as in minFunc --------------


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
    square = d1**2 - a.slope * b.slope
    if not square >= 0:
        return (low + high) / 2.0
    d2 = square.sqrt()
    left, right = (a, b) if a.t <= b.t else (b, a)
    share = (right.slope + d2 - d1) / (right.slope - left.slope + 2 * d2)
    return min(max(right.t - (right.t - left.t) * share, low), high)


class Search:
    """One search: `at(t)` evaluates (loss, flat gradient) at a distance along `direction`."""

    def __init__(
        self,
        at: Callable[[Any], tuple[float, Any]],
        direction: Any,
        start: Point,
        tolerance_change: float = 1e-9,
        decrease: float = SUFFICIENT_DECREASE,
        curvature: float = CURVATURE,
        most: int = MOST_TRIALS,
    ) -> None:
        self.at, self.direction, self.start = at, direction, start
        self.tolerance, self.evaluations, self.trials = tolerance_change, 0, 0
        self.decrease, self.curvature, self.most = decrease, curvature, most

    def run(self, t: Any) -> Point:
        """The step to take, from a first guess."""
        bracket, done = self._bracket(t)
        if self.trials == self.most:
            bracket = [self.start, bracket[-1]]
        low = 0 if bracket[0].loss <= bracket[-1].loss else 1
        return bracket[low] if done else self._zoom(bracket, low)

    def _try(self, t: Any) -> Point:
        loss, grad = self.at(t)
        self.evaluations += 1
        return Point(t, loss, grad, grad.dot(self.direction))

    def _too_high(self, point: Point) -> bool:
        start = self.start
        return bool(point.loss > start.loss + self.decrease * point.t * start.slope)

    def _flat_enough(self, point: Point) -> bool:
        return bool(abs(point.slope) <= -self.curvature * self.start.slope)

    def _bracket(self, t: Any) -> tuple[list[Point], bool]:
        """Two points that enclose a good one, or a good one (True)."""
        before, new = self.start._replace(t=0), self._try(t)
        while self.trials < self.most:
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
        while self.trials < self.most:
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


# --- the same under the names that programs with line searches of their own import --------------------


def _cubic_interpolate(
    x1: Any, f1: Any, g1: Any, x2: Any, f2: Any, g2: Any, bounds: tuple[Any, Any] | None = None
) -> Any:
    """Where the cubic through losses f and slopes g at x1 and x2 is least, within bounds (the points)."""
    return cubic_minimum(Point(x1, f1, None, g1), Point(x2, f2, None, g2), bounds)


def _strong_wolfe(
    obj_func: Callable[[Any, Any, Any], tuple[float, Any]],
    x: Any,
    t: Any,
    d: Any,
    f: float,
    g: Any,
    gtd: Any,
    c1: float = SUFFICIENT_DECREASE,
    c2: float = CURVATURE,
    tolerance_change: float = 1e-9,
    max_ls: int = MOST_TRIALS,
) -> tuple[float, Any, Any, int]:
    """A step along d from x, where loss, gradient and slope are f, g and gtd; t is the first guess.

    obj_func(x, t, d) gives (loss, flat gradient) at x + t d. Returns (loss, gradient, t, evaluations).
    """

    def at(distance: Any) -> tuple[float, Any]:
        return obj_func(x, distance, d)

    search = Search(at, d, Point(0, f, g, gtd), tolerance_change, c1, c2, max_ls)
    found = search.run(t)
    return found.loss, found.grad, found.t, search.evaluations
