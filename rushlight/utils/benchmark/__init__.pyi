# Written by `python tools/stubs.py`.
"""torch.utils.benchmark: time statements, and set measurements side by side."""

from rushlight.utils.benchmark.utils.compare import Colorize as Colorize
from rushlight.utils.benchmark.utils.compare import Compare as Compare
from rushlight.utils.benchmark.utils.timer import Language as Language
from rushlight.utils.benchmark.utils.common import Measurement as Measurement
from rushlight.utils.benchmark.utils.common import TaskSpec as TaskSpec
from rushlight.utils.benchmark.utils.timer import Timer as Timer
from rushlight.utils.benchmark.utils.common import ordered_unique as ordered_unique
from rushlight.utils.benchmark.utils.common import select_unit as select_unit
from rushlight.utils.benchmark.utils.common import set_torch_threads as set_torch_threads
from rushlight.utils.benchmark.utils.timer import timer as timer
from rushlight.utils.benchmark.utils.common import trim_sigfig as trim_sigfig
from rushlight.utils.benchmark.utils.common import unit_to_english as unit_to_english
from rushlight.utils.benchmark import utils as utils
def __dir__() -> list[str]: ...
__all__ = ['Colorize', 'Compare', 'Language', 'Measurement', 'TaskSpec', 'Timer', 'ordered_unique',
    'select_unit', 'set_torch_threads', 'timer', 'trim_sigfig', 'unit_to_english']
