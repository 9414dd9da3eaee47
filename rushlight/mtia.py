"""torch.mtia: says that there is no accelerator of Meta's."""

from rushlight._engine.names.absent_devices import functions

__path__: list[str] = []  # modules below it: names/placeholders.tsv

globals().update(functions("mtia"))
