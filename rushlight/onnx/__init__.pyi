# Written by `python tools/stubs.py`.
"""torch.onnx: exported programs as ONNX models; needs the package `onnx` (pip install 'rushlight[onnx]').

`exporter.py` is export(), `builder.py` writes nodes. What each op is in ONNX's is said by ops.py, a
function each, with the help of forms.py; a pointwise op that has none there is its scalar expression, atom by
atom (derived.py, atoms.py).
"""

from rushlight.onnx.exporter import ONNXProgram as ONNXProgram
from rushlight.onnx.errors import OnnxExporterError as OnnxExporterError
from rushlight.onnx import errors as errors
from rushlight.onnx.exporter import export as export
from rushlight.onnx.exporter import is_in_onnx_export as is_in_onnx_export
from rushlight.onnx.errors import producer_version as producer_version
def __dir__() -> list[str]: ...
