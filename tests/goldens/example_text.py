"""A text for the character-level GPT that is the same on every machine: made by a small grammar."""

from __future__ import annotations

import random

NOUNS = "rush light wick flame reed tallow lamp spark ember glow".split()
VERBS = "holds feeds meets lifts keeps finds turns".split()
LINES = (
    "def {a}_{b}(x, y={n}):",
    "    return x * {n} + y - {m}",
    "    if x > {n}: raise ValueError('{a} {v} {b}')",
    "# The {a} {v} the {b}; the {c} {v} {n} of them.",
    "for {a} in range({n}, {m}): print({a}, '{c}')",
    "class {c}(dict): pass",
    "",
)


def example_text(lines: int = 3000, seed: int = 7) -> str:
    """About a hundred thousand characters that look a little like Python."""
    # random.Random's choice and randrange may change between versions; random() may not.
    draw = random.Random(seed).random

    def pick(options: tuple[str, ...] | list[str]) -> str:
        return options[int(draw() * len(options))]

    return (
        "\n".join(
            pick(LINES).format(
                a=pick(NOUNS),
                b=pick(NOUNS),
                c=pick(NOUNS),
                v=pick(VERBS),
                n=int(draw() * 10),
                m=int(draw() * 90) + 10,
            )
            for _ in range(lines)
        )
        + "\n"
    )
