"""How builders were called before torchvision 0.13: `pretrained=`, and options by their place."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from rushlight._engine.core.callers import warn
from rushlight_vision.models.weights import WeightsEnum

_SINCE = "deprecated since 0.13 and may be removed in the future"
_ABSENT: Any = object()


def sequence_to_str(seq: Sequence[str], separate_last: str = "") -> str:
    """'a', 'b', and 'c'."""
    quoted = [f"'{name}'" for name in seq]
    if len(quoted) < 2:
        return "".join(quoted)
    comma = "" if separate_last and len(quoted) == 2 else ","
    return f"{', '.join(quoted[:-1])}{comma} {separate_last}{quoted[-1]}"


def _by_name(order: Sequence[str], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Arguments given by their place, as keywords; that warns. TypeError for too many."""
    if len(args) > len(order):
        raise TypeError(
            f"expected at most {len(order)} arguments by place ({', '.join(order)}), got {len(args)}"
        )
    if args:
        names = order[: len(args)]
        warn(
            f"Using {sequence_to_str(names, separate_last='and ')} as positional parameter(s) is {_SINCE}. "
            "Please use keyword parameter(s) instead."
        )
        kwargs.update(zip(names, args, strict=True))


def _as_weights(builder: str, name: str, older: str, default: Any, kwargs: dict[str, Any]) -> None:
    """Puts what `older` (pretrained) means, or a bool given as weights, under `name`; that warns."""
    given = kwargs.get(name, _ABSENT)
    newer = given is None or isinstance(given, (WeightsEnum, str))
    if newer or (given is _ABSENT and older not in kwargs):
        return
    if given is not _ABSENT:
        kwargs[older] = kwargs.pop(name)
    else:
        warn(f"The parameter '{older}' is {_SINCE}, please use '{name}' instead.")
    chosen, asked = None, kwargs[older]
    if asked:
        chosen = default(kwargs) if callable(default) and not isinstance(default, WeightsEnum) else default
        if not isinstance(chosen, WeightsEnum):
            raise ValueError(f"No weights available for model {builder}")
    newest = f" You can also use `{name}={type(chosen).__name__}.DEFAULT` to get the most up-to-date weights."
    warn(
        f"Arguments other than a weight enum or `None` for '{name}' are {_SINCE}. The current behavior is "
        f"equivalent to passing `{name}={chosen}`.{newest if asked else ''}"
    )
    del kwargs[older]
    kwargs[name] = chosen


def called_as_before(
    order: Sequence[str], builder: Callable[..., Any], weights: dict[str, tuple[str, Any]]
) -> Callable[..., Any]:
    """The builder, which takes the options of `order` by their place, and older names of weights."""

    @wraps(builder)
    def build(*args: Any, **kwargs: Any) -> Any:
        _by_name(order, args, kwargs)
        for name, (older, default) in weights.items():
            _as_weights(builder.__name__, name, older, default, kwargs)
        return builder(**kwargs)

    return build


def handle_legacy_interface(**weights: tuple[str, Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator of builders with options by keyword alone: NAME=(older name, weights or what makes them).

    The options may come by their place, and the older name means these weights, or none; both warn. What
    makes the weights is called with the keywords. ValueError where weights are asked for and there are none.
    """

    def decorate(builder: Callable[..., Any]) -> Callable[..., Any]:
        parameters = inspect.signature(builder).parameters.values()
        order = [p.name for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
        return called_as_before(order, builder, weights)

    return decorate
