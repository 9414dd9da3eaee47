# Written by `python tools/stubs.py`.
"""torch.export: a module's call as a graph of aten ops with its state, which runs without the module's code.

`listener.py` records, `tracing.py` tells several records as one graph, `program.py` is the result,
`files/` its file.
"""

from rushlight.export.symbols import AdditionalInputs as AdditionalInputs
from rushlight.export.decomp_utils import CustomDecompTable as CustomDecompTable
from rushlight.export.symbols import Dim as Dim
from rushlight.export.signature import ExportBackwardSignature as ExportBackwardSignature
from rushlight.export.signature import ExportGraphSignature as ExportGraphSignature
from rushlight.export.program import ExportedProgram as ExportedProgram
from rushlight.export.unflattening import FlatArgsAdapter as FlatArgsAdapter
from rushlight.export.program import ModuleCallEntry as ModuleCallEntry
from rushlight.export.program import ModuleCallSignature as ModuleCallSignature
from rushlight.export.symbols import ShapesCollection as ShapesCollection
from rushlight.export.unflattening import UnflattenedModule as UnflattenedModule
from rushlight.export.experimental import _restore_state_dict as _restore_state_dict
from rushlight.export import _tree_utils as _tree_utils
from rushlight.export import _unlift as _unlift
from rushlight.export import decomp_utils as decomp_utils
from rushlight.export.program import default_decompositions as default_decompositions
from rushlight.export.symbols import dims as dims
from rushlight.export._draft_export import draft_export as draft_export
from rushlight.export.tracing import export as export
from rushlight.export.files.saving import load as load
from rushlight.export import passes as passes
from rushlight.export import program as program
from rushlight.export.tracing import register_dataclass as register_dataclass
from rushlight.export.files.saving import save as save
from rushlight.export.unflattening import unflatten as unflatten
def __dir__() -> list[str]: ...
