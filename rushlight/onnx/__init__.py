"""torch.onnx: exported programs as ONNX models; needs the package `onnx` (pip install 'rushlight[onnx]').

`exporter.py` is export(), `builder.py` writes nodes. What each op is in ONNX's is said by ops.tsv, a line
each, in the names of builder.py and forms.py; a pointwise op that has no line there is its scalar expression
(derived.py).
"""

from __future__ import annotations

from rushlight._engine.lazy import homes, lazy_names

__getattr__, __dir__ = lazy_names(globals(), homes(__name__))
