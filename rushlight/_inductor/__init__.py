"""torch._inductor: what programs ask of PyTorch's compiler by this name, packages compiled ahead of time."""
from rushlight._dynamo.api import cudagraph_mark_step_begin as cudagraph_mark_step_begin
from rushlight._inductor import config as config
from rushlight.export.ahead import (aot_compile as aot_compile,
    aoti_compile_and_package as aoti_compile_and_package, aoti_load_package as aoti_load_package)
