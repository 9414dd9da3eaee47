"""torch.mps: says that there is no GPU of Apple's."""
from rushlight.base.absent import functions

__path__: list[str] = []  # modules below it: base/nowhere.tsv

globals().update(functions("mps"))
