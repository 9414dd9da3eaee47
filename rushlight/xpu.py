"""torch.xpu: says that there is no GPU of Intel's."""

from rushlight._engine.names.absent_devices import functions

__path__: list[str] = []  # modules below it: names/placeholders.tsv

globals().update(functions("xpu"))
