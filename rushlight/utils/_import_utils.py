"""torch.utils._import_utils: is a package there?"""

from __future__ import annotations

from importlib.util import find_spec


def _check_module_exists(*names: str) -> bool:
    """Whether all these modules could be imported; only the packages that they lie in are."""
    try:
        return all(find_spec(name) is not None for name in names)
    except ImportError:
        return False
