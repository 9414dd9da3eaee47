"""Which tests of a file tools/pytorch_tests.py runs; its plugin asks the same."""

from __future__ import annotations

import fnmatch
import hashlib


def draw(
    tests: list[str], start: int, most: int, match: str, left_out: list[str], seed: str = ""
) -> list[str]:
    """`most` of the tests, from number `start` on in an order that their ids and the seed decide.

    Drawing more adds to the same ones; another start or seed draws others.
    """
    wanted = [
        test
        for test in tests
        if match in test and not any(fnmatch.fnmatchcase(test, pattern) for pattern in left_out)
    ]
    return sorted(wanted, key=lambda test: hashlib.sha1((seed + test).encode()).digest())[
        start : start + most
    ]
