# Written by `python tools/stubs.py`.
"""torch.compiler: what a program says to compile(), or asks it, beside calling it."""

from rushlight.compiler._cache import CacheInfo as CacheInfo
from rushlight.compiler import _cache as _cache
from rushlight._dynamo.api import allow_in_graph as allow_in_graph
from rushlight._dynamo.api import assume_constant_result as assume_constant_result
from rushlight._dynamo.api import compile as compile
from rushlight.compiler import config as config
from rushlight._dynamo.api import cudagraph_mark_step_begin as cudagraph_mark_step_begin
from rushlight._dynamo.api import cudagraph_mark_warmup_incomplete as cudagraph_mark_warmup_incomplete
from rushlight._dynamo.api import disable as disable
from rushlight._dynamo.api import get_default_backend as get_default_backend
from rushlight._dynamo.api import is_compiling as is_compiling
from rushlight._dynamo.api import is_dynamo_compiling as is_dynamo_compiling
from rushlight._dynamo.api import is_exporting as is_exporting
from rushlight.compiler.guards import keep_portable_guards_unsafe as keep_portable_guards_unsafe
from rushlight.compiler.guards import keep_tensor_guards_unsafe as keep_tensor_guards_unsafe
from rushlight._dynamo.api import list_backends as list_backends
from rushlight.compiler._cache import load_cache_artifacts as load_cache_artifacts
from rushlight._dynamo.decorators import nested_compile_region as nested_compile_region
from rushlight._dynamo.decorators import nonstrict_trace as nonstrict_trace
from rushlight._dynamo.api import reset as reset
from rushlight.compiler._cache import save_cache_artifacts as save_cache_artifacts
from rushlight._dynamo.api import set_default_backend as set_default_backend
from rushlight._dynamo.stances import set_enable_guard_collectives as set_enable_guard_collectives
from rushlight._dynamo.stances import set_stance as set_stance
from rushlight.compiler.guards import skip_all_guards_unsafe as skip_all_guards_unsafe
from rushlight.compiler.guards import skip_guard_on_all_nn_modules_unsafe as skip_guard_on_all_nn_modules_unsafe
from rushlight.compiler.guards import skip_guard_on_globals_unsafe as skip_guard_on_globals_unsafe
from rushlight.compiler.guards import skip_guard_on_inbuilt_nn_modules_unsafe as skip_guard_on_inbuilt_nn_modules_unsafe
from rushlight._dynamo.decorators import substitute_in_graph as substitute_in_graph
from rushlight._dynamo.decorators import wrap_numpy as wrap_numpy
def __dir__() -> list[str]: ...
__all__ = ['CacheInfo', 'allow_in_graph', 'assume_constant_result', 'compile', 'cudagraph_mark_step_begin',
    'cudagraph_mark_warmup_incomplete', 'disable', 'get_default_backend', 'is_compiling',
    'is_dynamo_compiling', 'is_exporting', 'keep_portable_guards_unsafe', 'keep_tensor_guards_unsafe',
    'list_backends', 'load_cache_artifacts', 'nested_compile_region', 'nonstrict_trace', 'reset',
    'save_cache_artifacts', 'set_default_backend', 'set_enable_guard_collectives', 'set_stance',
    'skip_all_guards_unsafe', 'skip_guard_on_all_nn_modules_unsafe', 'skip_guard_on_globals_unsafe',
    'skip_guard_on_inbuilt_nn_modules_unsafe', 'substitute_in_graph', 'wrap_numpy', 'config']
