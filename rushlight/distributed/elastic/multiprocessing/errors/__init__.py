"""torch.distributed.elastic.multiprocessing.errors: `record`, which keeps what a worker failed of."""

from __future__ import annotations

import functools
import json
import os
import time
import traceback
from collections.abc import Callable
from typing import Any

__all__ = ["record"]


def record(fn: Callable[..., Any], error_handler: Any = None) -> Callable[..., Any]:
    """A decorator of a program's main function: exceptions are written to the file TORCHELASTIC_ERROR_FILE.

    The file is JSON, {"message": {"message": "ValueError: ...", "extraInfo": {"py_callstack", "timestamp"}}};
    the launcher names it with --log-dir. The exception goes on.
    """

    @functools.wraps(fn)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        try:
            return fn(*args, **kwargs)
        except Exception as error:
            file = os.environ.get("TORCHELASTIC_ERROR_FILE")
            if file:
                extra = {"py_callstack": traceback.format_exc(), "timestamp": str(int(time.time()))}
                message = {"message": f"{type(error).__name__}: {error}", "extraInfo": extra}
                with open(file, "w", encoding="utf-8") as stream:
                    json.dump({"message": message}, stream)
            raise

    return wrapped
