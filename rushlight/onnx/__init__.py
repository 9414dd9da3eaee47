"""torch.onnx: exported programs as ONNX models; needs the package `onnx` (pip install 'rushlight[onnx]').

`exporter.py` is export(), `builder.py` writes nodes. What each op is in ONNX's is said by ops.py, a
function each, with the help of forms.py; a pointwise op that has none there is its scalar expression, atom by
atom (derived.py, atoms.py).
"""

from __future__ import annotations

from rushlight._engine.lazy import homes, lazy_names

__getattr__, __dir__ = lazy_names(globals(), homes("rushlight.onnx"))
