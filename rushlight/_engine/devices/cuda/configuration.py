"""What RUSHLIGHT_CUDA says: which devices there are, real or simulated, and whether programs are checked.

off                        none, even if there is a driver
driver                     the real ones, by NVIDIA's driver; an error where there is none
simulated                  one simulated device with 16 GiB of memory
simulated:2x24GB           two of them with 24 GiB each
simulated:a100-40gb        one that is called so and has the memory of that card (cards.tsv)
simulated:2xa100-40gb      two
simulated,check            the strict mode: what real hardware would do wrong now and then raises an error
simulated,kernels          pointwise work runs by the device's own kernels, as blocks and threads
"""

from __future__ import annotations

import os
import re
from difflib import get_close_matches
from typing import NamedTuple

GIB = 1 << 30
_UNITS = {"mb": 1 << 20, "gb": GIB, "mib": 1 << 20, "gib": GIB}


class Card(NamedTuple):
    """What a program can ask of a device: name, bytes of memory, capability, multiprocessors, bytes of L2."""

    name: str
    memory: int
    capability: tuple[int, int]
    processors: int
    l2: int


class Setting(NamedTuple):
    """The devices, whether programs are checked strictly, and whether kernels run as blocks and threads.

    real: whether the devices are the driver's; then `cards` is empty.
    """

    cards: tuple[Card, ...]
    check: bool
    kernels: bool
    real: bool = False


def cards() -> dict[str, Card]:
    """The table of cards, by the names that the setting takes."""
    found = {}
    with open(os.path.join(os.path.dirname(__file__), "cards.tsv"), encoding="utf-8") as lines:
        for line in lines:
            key, name, memory, capability, processors, l2 = line.rstrip("\n").split("\t")
            major, minor = map(int, capability.split("."))
            found[key] = Card(name, int(memory), (major, minor), int(processors), int(l2))
    return found


# Of a device that no card is named for: an A100's figures but for the memory.
_PLAIN = Card("A100", 16 * GIB, (8, 0), 108, 41943040)


def parse(text: str) -> Setting:
    """The Setting that a text means; RuntimeError says what was expected."""
    if text.strip().lower() == "driver":
        return Setting((), False, True, True)
    kind, *options = text.strip().lower().split(",")
    way, colon, which = kind.partition(":")
    if way != "simulated" or (colon and not which):
        raise _wrong(text, "it is 'off', 'driver', or begins with 'simulated'")
    for option in options:
        if option not in ("check", "kernels"):
            raise _wrong(text, f"the options are 'check' and 'kernels', not {option!r}")
    count, card = _card(text, which)
    shown = f"Simulated {card.name}" if "simulated" not in card.name.lower() else card.name
    return Setting((card._replace(name=shown),) * count, "check" in options, "kernels" in options)


def _card(text: str, which: str) -> tuple[int, Card]:
    if not which:
        return 1, _PLAIN
    match = re.fullmatch(r"(?:(\d+)x)?(?:(\d+(?:\.\d+)?)([mg]i?b)|([a-z][a-z0-9-]*))", which)
    if match is None:
        raise _wrong(
            text,
            "behind the colon stands a card, or a size of memory like 24GB, perhaps with a "
            "number of devices before it",
        )
    count, size, unit, name = match.groups()
    number = int(count or 1)
    if not 1 <= number <= 64:
        raise _wrong(text, f"there may be 1 to 64 devices, not {number}")
    if name is None:
        memory = int(float(size) * _UNITS[unit])
        if memory < 32 << 20:
            raise _wrong(text, "a device has at least 32MB of memory")
        return number, _PLAIN._replace(memory=memory)
    known = cards()
    if name not in known:
        close = [key for key in known if key.startswith(name)] or get_close_matches(name, known, 1, 0.4)
        raise _wrong(
            text,
            f"no card is called {name!r}; "
            + (f"did you mean {close[0]!r}?" if close else f"known: {', '.join(known)}"),
        )
    return number, known[name]


def _wrong(text: str, why: str) -> RuntimeError:
    return RuntimeError(
        f"RUSHLIGHT_CUDA={text!r} is no setting: {why}. Examples: 'simulated', "
        "'driver', 'simulated:2x24GB', 'simulated:a100-40gb', 'simulated:8GB,check', 'simulated,kernels'"
    )
