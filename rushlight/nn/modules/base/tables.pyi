# Written by `python tools/stubs.py`.
"""What Module.__init__ makes and all parts of Module use, with its types."""
from builtins import bool as _bool
from collections.abc import Callable, Iterator
from typing import Any

class Tables:
    """The base of Module's parts, which says what they find in an instance.

    `_parameters`, `_buffers` and `_modules` hold what is registered, by name; None reserves a name. The
    others hold hooks, or mark those that are called with keywords, or always.
    """

    children: Callable[[], Iterator[Any]]
    forward: Callable[..., Any]
    training: _bool
