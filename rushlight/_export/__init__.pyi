# Written by `python tools/stubs.py`.
"""torch._export: what tools about exported programs ask for."""

from rushlight.export.ahead import aot_compile as aot_compile
from rushlight.export.ahead import aot_load as aot_load
from rushlight._export import config as config
from rushlight._export import converter as converter
from rushlight._export import db as db
from rushlight._export import pass_base as pass_base
from rushlight._export import passes as passes
from rushlight._export import serde as serde
from rushlight._export import utils as utils
from rushlight._export import verifier as verifier
def __dir__() -> list[str]: ...
