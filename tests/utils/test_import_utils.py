"""torch.utils._import_utils: packages that may be there."""

import sys
from types import ModuleType

from rushlight.utils import _import_utils


def test_dill_leaves_pickle_as_it_was(monkeypatch):
    asked = []
    dill = ModuleType("dill")
    dill.__spec__ = _import_utils.find_spec("json")
    dill.extend = lambda use_dill: asked.append(use_dill)
    monkeypatch.setitem(sys.modules, "dill", dill)
    _import_utils.import_dill.cache_clear()
    assert _import_utils.dill_available() and _import_utils.import_dill() is dill and asked == [False]
    monkeypatch.setattr(_import_utils, "_check_module_exists", lambda *names: False)
    _import_utils.import_dill.cache_clear()
    assert _import_utils.import_dill() is None
    _import_utils.import_dill.cache_clear()
