# Written by `python tools/stubs.py`.
"""Rushlight: PyTorch's programming model, in Python that one person can read.

`import rushlight as torch` and write PyTorch. Nothing but this file is loaded until a name is first
mentioned: ops are generated from the table, everything else comes from the module that homes.tsv says.
"""
import numpy as np
from builtins import bool as _bool, complex as _complex, float as _float, int as _int, type as _type
from collections.abc import Callable, Iterator, Sequence
from rushlight._engine.autograd.node import Node
from rushlight._engine.core import dtype as dt
from rushlight._engine.core.device import device as _device
from rushlight._engine.core.dtype import dtype as _dtype
from rushlight._engine.tensors.geometry import MemoryFormat, StorageLayout
from rushlight._engine.tensors.kind import Kind
from rushlight._engine.tensors.storages.storage import Storage as _Storage
from rushlight._engine.tensors.storages.typed import _OfDtype
from rushlight._engine.tensors.tensor import TensorMeta as _TensorMeta
from rushlight.return_types import aminmax as _aminmax_result, cummax as _cummax_result, cummin as _cummin_result, frexp as _frexp_result, geqrf as _geqrf_result, histogram as _histogram_result, histogramdd as _histogramdd_result, kthvalue as _kthvalue_result, lu_unpack as _lu_unpack_result, max as _max_result, median as _median_result, min as _min_result, mode as _mode_result, nanmedian as _nanmedian_result, qr as _qr_result, slogdet as _slogdet_result, sort as _sort_result, svd as _svd_result, topk as _topk_result, triangular_solve as _triangular_solve_result
from rushlight.utils.hooks import RemovableHandle
from typing import Any, Literal, Self, final, overload

from rushlight._engine.names.absent_devices import AcceleratorError as AcceleratorError
from rushlight.checkpointing import Checkpoint as Checkpoint
from rushlight.library import DispatchKey as DispatchKey
from rushlight.cpu.queue import Event as Event
from rushlight._engine.tensors.generator import Generator as Generator
from rushlight.amp import GradScaler as GradScaler
from rushlight._engine.names.absent_devices import OutOfMemoryError as OutOfMemoryError
from rushlight._engine.serialization.file_reader import PyTorchFileReader as PyTorchFileReader
from rushlight.jit import ScriptFunction as ScriptFunction
from rushlight.jit import ScriptModule as ScriptModule
from rushlight._engine.core.size import Size as Size
from rushlight._engine.tensors.storages.typed import Storage as Storage
from rushlight.cpu.queue import Stream as Stream
from rushlight.export.numbers.symbolic import SymBool as SymBool
from rushlight.export.numbers.symbolic import SymFloat as SymFloat
from rushlight.export.numbers.symbolic import SymInt as SymInt
from rushlight.library import Tag as Tag
from rushlight._engine.tensors.storages.typed import TypedStorage as TypedStorage
from rushlight._engine.tensors.storages.untyped import UntypedStorage as UntypedStorage
from rushlight import _C as _C
from rushlight import __config__ as __config__
from rushlight import __future__ as __future__
from rushlight.torch_version import __version__ as __version__
from rushlight.amp.unscaling import _amp_foreach_non_finite_check_and_unscale_ as _amp_foreach_non_finite_check_and_unscale_
from rushlight.amp.unscaling import _amp_update_scale_ as _amp_update_scale_
from rushlight.toplevel.checks import _assert as _assert
from rushlight.toplevel.checks import _assert_async as _assert_async
from rushlight.toplevel.checks import _assert_scalar as _assert_scalar
from rushlight.toplevel.checks import _assert_tensor_metadata as _assert_tensor_metadata
from rushlight.toplevel.checks import _check as _check
from rushlight.toplevel.checks import _check_index as _check_index
from rushlight.toplevel.checks import _check_is_size as _check_is_size
from rushlight.toplevel.checks import _check_not_implemented as _check_not_implemented
from rushlight.toplevel.checks import _check_tensor_all as _check_tensor_all
from rushlight.toplevel.checks import _check_tensor_all_with as _check_tensor_all_with
from rushlight.toplevel.checks import _check_type as _check_type
from rushlight.toplevel.checks import _check_value as _check_value
from rushlight.toplevel.checks import _check_with as _check_with
from rushlight.ao.quantized_tensors import _choose_qparams_per_tensor as _choose_qparams_per_tensor
from rushlight import _classes as _classes
from rushlight.sparse.unchecked import _convert_indices_from_coo_to_csr as _convert_indices_from_coo_to_csr
from rushlight.sparse.unchecked import _convert_indices_from_csr_to_coo as _convert_indices_from_csr_to_coo
from rushlight.toplevel.functions import _convolution as _convolution
from rushlight import _custom_op as _custom_op
from rushlight import _custom_ops as _custom_ops
from rushlight import _decomp as _decomp
from rushlight.distributions.families.implicit import _dirichlet_grad as _dirichlet_grad
from rushlight._dynamo.api import _disable_dynamo as _disable_dynamo
from rushlight._torch_dispatch.functionalization import _disable_functionalization as _disable_functionalization
from rushlight import _dispatch as _dispatch
from rushlight import _dynamo as _dynamo
from rushlight.ao.quantized_tensors import _empty_affine_quantized as _empty_affine_quantized
from rushlight.ao.quantized_tensors import _empty_per_channel_affine_quantized as _empty_per_channel_affine_quantized
from rushlight._torch_dispatch.functionalization import _enable_functionalization as _enable_functionalization
from rushlight import _export as _export
from rushlight._torch_dispatch.functionalization import _freeze_functional_tensor as _freeze_functional_tensor
from rushlight._torch_dispatch.functionalization import _from_functional_tensor as _from_functional_tensor
from rushlight.toplevel.checks import _functional_assert_async as _functional_assert_async
from rushlight._torch_dispatch.functionalization import _functionalize_commit_update as _functionalize_commit_update
from rushlight._torch_dispatch.functionalization import _functionalize_has_metadata_mutation as _functionalize_has_metadata_mutation
from rushlight._torch_dispatch.functionalization import _functionalize_replace as _functionalize_replace
from rushlight._torch_dispatch.functionalization import _functionalize_sync as _functionalize_sync
from rushlight import _functorch as _functorch
from rushlight.optim.fused_steps import _fused_adam_ as _fused_adam_
from rushlight.optim.fused_steps import _fused_adamw_ as _fused_adamw_
from rushlight.nn.attention import _fused_sdp_choice as _fused_sdp_choice
from rushlight.optim.fused_steps import _fused_sgd_ as _fused_sgd_
from rushlight.nn.scaled import _grouped_mm as _grouped_mm
from rushlight.toplevel.functions import _has_compatible_shallow_copy_type as _has_compatible_shallow_copy_type
from rushlight import _higher_order_ops as _higher_order_ops
from rushlight.toplevel.functions import _int_mm as _int_mm
from rushlight.toplevel.functions import _is_all_true as _is_all_true
from rushlight.toplevel.functions import _is_any_true as _is_any_true
from rushlight._torch_dispatch.functionalization import _is_functional_tensor as _is_functional_tensor
from rushlight import _jit_internal as _jit_internal
from rushlight import _library as _library
from rushlight.toplevel.functions import _log_softmax as _log_softmax
from rushlight import _logging as _logging
from rushlight.ao.quantized_tensors import _make_per_channel_quantized_tensor as _make_per_channel_quantized_tensor
from rushlight.ao.quantized_tensors import _make_per_tensor_quantized_tensor as _make_per_tensor_quantized_tensor
from rushlight._torch_dispatch.functionalization import _mirror_autograd_meta_to as _mirror_autograd_meta_to
from rushlight.toplevel.encoder import _native_multi_head_attention as _native_multi_head_attention
from rushlight.nested.strided_layout import _nested_from_padded as _nested_from_padded
from rushlight.nested.strided_layout import _nested_from_padded_and_nested_example as _nested_from_padded_and_nested_example
from rushlight._C import _nnpack_available as _nnpack_available
from rushlight import _ops as _ops
from rushlight.toplevel.functions import _prelu_kernel as _prelu_kernel
from rushlight import _prims as _prims
from rushlight import _prims_common as _prims_common
from rushlight import _refs as _refs
from rushlight.toplevel.encoder import _rowwise_prune as _rowwise_prune
from rushlight.toplevel.functions import _running_with_deploy as _running_with_deploy
from rushlight.nn.scaled import _scaled_grouped_mm as _scaled_grouped_mm
from rushlight.nn.scaled import _scaled_mm as _scaled_mm
from rushlight.toplevel.functions import _shape_as_tensor as _shape_as_tensor
from rushlight.toplevel.functions import _softmax as _softmax
from rushlight.sparse.unchecked import _sparse_broadcast_to as _sparse_broadcast_to
from rushlight.sparse.unchecked import _sparse_bsc_tensor_unsafe as _sparse_bsc_tensor_unsafe
from rushlight.sparse.unchecked import _sparse_bsr_tensor_unsafe as _sparse_bsr_tensor_unsafe
from rushlight.sparse.unchecked import _sparse_compressed_tensor_unsafe as _sparse_compressed_tensor_unsafe
from rushlight.sparse.unchecked import _sparse_compressed_tensor_with_dims as _sparse_compressed_tensor_with_dims
from rushlight.sparse.unchecked import _sparse_coo_tensor_unsafe as _sparse_coo_tensor_unsafe
from rushlight.sparse.unchecked import _sparse_csc_tensor_unsafe as _sparse_csc_tensor_unsafe
from rushlight.sparse.unchecked import _sparse_csr_tensor_unsafe as _sparse_csr_tensor_unsafe
from rushlight.sparse.unchecked import _sparse_mm as _sparse_mm
from rushlight.sparse.unchecked import _sparse_sum as _sparse_sum
from rushlight.toplevel.functions import _stack as _stack
from rushlight.distributions.families.implicit import _standard_gamma_grad as _standard_gamma_grad
from rushlight import _subclasses as _subclasses
from rushlight.toplevel.functions import _sym_acos as _sym_acos
from rushlight.toplevel.functions import _sym_asin as _sym_asin
from rushlight.toplevel.functions import _sym_atan as _sym_atan
from rushlight.toplevel.functions import _sym_cos as _sym_cos
from rushlight.toplevel.functions import _sym_cosh as _sym_cosh
from rushlight.toplevel.functions import _sym_log2 as _sym_log2
from rushlight.toplevel.functions import _sym_sin as _sym_sin
from rushlight.toplevel.functions import _sym_sinh as _sym_sinh
from rushlight.toplevel.functions import _sym_sqrt as _sym_sqrt
from rushlight.toplevel.functions import _sym_tan as _sym_tan
from rushlight.toplevel.functions import _sym_tanh as _sym_tanh
from rushlight._torch_dispatch.functionalization import _sync as _sync
from rushlight._torch_dispatch.functionalization import _to_functional_tensor as _to_functional_tensor
from rushlight.toplevel.encoder import _transform_bias_rescale_qkv as _transform_bias_rescale_qkv
from rushlight.toplevel.encoder import _transformer_encoder_layer_fwd as _transformer_encoder_layer_fwd
from rushlight.toplevel.functions import _unique as _unique
from rushlight.toplevel.functions import _unique2 as _unique2
from rushlight import _utils as _utils
from rushlight import _utils_internal as _utils_internal
from rushlight.sparse.unchecked import _validate_compressed_sparse_indices as _validate_compressed_sparse_indices
from rushlight.sparse.unchecked import _validate_sparse_bsc_tensor_args as _validate_sparse_bsc_tensor_args
from rushlight.sparse.unchecked import _validate_sparse_bsr_tensor_args as _validate_sparse_bsr_tensor_args
from rushlight.sparse.unchecked import _validate_sparse_compressed_tensor_args as _validate_sparse_compressed_tensor_args
from rushlight.sparse.unchecked import _validate_sparse_coo_tensor_args as _validate_sparse_coo_tensor_args
from rushlight.sparse.unchecked import _validate_sparse_csc_tensor_args as _validate_sparse_csc_tensor_args
from rushlight.sparse.unchecked import _validate_sparse_csr_tensor_args as _validate_sparse_csr_tensor_args
from rushlight import _vmap_internals as _vmap_internals
from rushlight.toplevel.functions import _weight_norm as _weight_norm
from rushlight import accelerator as accelerator
from rushlight.toplevel.functions import affine_grid_generator as affine_grid_generator
from rushlight import amp as amp
from rushlight import ao as ao
from rushlight._engine.tensors.execution import are_deterministic_algorithms_enabled as are_deterministic_algorithms_enabled
from rushlight import array_api as array_api
from rushlight._engine.tensors.construction.factories import as_tensor as as_tensor
from rushlight._engine.tensors.construction.factories import asarray as asarray
from rushlight.amp import autocast as autocast
from rushlight.amp.state import autocast_decrement_nesting as autocast_decrement_nesting
from rushlight.amp.state import autocast_increment_nesting as autocast_increment_nesting
from rushlight import autograd as autograd
from rushlight import backends as backends
from rushlight.toplevel.functions import batch_norm as batch_norm
from rushlight.toplevel.functions import binary_cross_entropy_with_logits as binary_cross_entropy_with_logits
from rushlight._engine.tensors.queries import broadcast_shapes as broadcast_shapes
from rushlight._engine.tensors.queries import can_cast as can_cast
from rushlight._engine.tensors.geometry import channels_last as channels_last
from rushlight._engine.tensors.geometry import channels_last_3d as channels_last_3d
from rushlight._classes import classes as classes
from rushlight.amp.state import clear_autocast_cache as clear_autocast_cache
from rushlight._dynamo.api import compile as compile
from rushlight.toplevel.functions import compiled_with_cxx11_abi as compiled_with_cxx11_abi
from rushlight import compiler as compiler
from rushlight.toplevel.functions import cond as cond
from rushlight._engine.tensors.geometry import contiguous_format as contiguous_format
from rushlight.toplevel.functions import convolution as convolution
from rushlight.toplevel.functions import cosine_embedding_loss as cosine_embedding_loss
from rushlight import cpu as cpu
from rushlight import cuda as cuda
from rushlight.toplevel.cudnn import cudnn_convolution as cudnn_convolution
from rushlight.toplevel.cudnn import cudnn_convolution_add_relu as cudnn_convolution_add_relu
from rushlight.toplevel.cudnn import cudnn_convolution_relu as cudnn_convolution_relu
from rushlight.toplevel.cudnn import cudnn_convolution_transpose as cudnn_convolution_transpose
from rushlight.random import default_generator as default_generator
from rushlight.ao.quantized_tensors import dequantize as dequantize
from rushlight._engine.core.device import device as device
from rushlight import distributed as distributed
from rushlight import distributions as distributions
from rushlight.toplevel.functions import dsmm as dsmm
from rushlight._engine.core.dtype import dtype as dtype
from rushlight.toplevel.removed import eig as eig
from rushlight.toplevel.functions import embedding_renorm_ as embedding_renorm_
from rushlight._engine.autograd.grad_mode import enable_grad as enable_grad
from rushlight._dynamo.graphs.report import explain as explain
from rushlight import export as export
from rushlight import fft as fft
from rushlight._engine.tensors.limits import finfo as finfo
from rushlight import foreach as foreach
from rushlight.toplevel.functions import fork as fork
from rushlight.toplevel.functions import frobenius_norm as frobenius_norm
from rushlight._engine.tensors.construction.interop import from_dlpack as from_dlpack
from rushlight._engine.tensors.construction.factories import from_file as from_file
from rushlight._engine.tensors.construction.interop import from_numpy as from_numpy
from rushlight._engine.tensors.construction.factories import frombuffer as frombuffer
from rushlight import func as func
from rushlight.ao.quantization.fake_quantize import fused_moving_avg_obs_fake_quant as fused_moving_avg_obs_fake_quant
from rushlight import fx as fx
from rushlight.amp.state import get_autocast_cpu_dtype as get_autocast_cpu_dtype
from rushlight.amp.state import get_autocast_dtype as get_autocast_dtype
from rushlight.amp.state import get_autocast_gpu_dtype as get_autocast_gpu_dtype
from rushlight._engine.tensors.queries import get_default_device as get_default_device
from rushlight._engine.core.dtype import get_default_dtype as get_default_dtype
from rushlight._engine.tensors.execution import get_deterministic_debug_mode as get_deterministic_debug_mode
from rushlight._engine.tensors.queries import get_device as get_device
from rushlight._engine.tensors.queries import get_device_module as get_device_module
from rushlight._engine.tensors.execution import get_float32_matmul_precision as get_float32_matmul_precision
from rushlight._engine.tensors.execution import get_num_interop_threads as get_num_interop_threads
from rushlight._engine.tensors.execution import get_num_threads as get_num_threads
from rushlight.random import get_rng_state as get_rng_state
from rushlight.toplevel.functions import has_lapack as has_lapack
from rushlight.toplevel.functions import has_mkl as has_mkl
from rushlight.toplevel.functions import has_openmp as has_openmp
from rushlight.toplevel.functions import has_spectral as has_spectral
from rushlight.toplevel.functions import hinge_embedding_loss as hinge_embedding_loss
from rushlight.sparse.products import hsmm as hsmm
from rushlight.sparse.products import hspmm as hspmm
from rushlight import hub as hub
from rushlight._engine.tensors.limits import iinfo as iinfo
from rushlight._engine.autograd.grad_mode import inference_mode as inference_mode
from rushlight.random import initial_seed as initial_seed
from rushlight.launcher import install_as_torch as install_as_torch
from rushlight.toplevel.functions import instance_norm as instance_norm
from rushlight.ao.quantized_tensors import int_repr as int_repr
from rushlight._engine.autograd.anomaly_mode import is_anomaly_check_nan_enabled as is_anomaly_check_nan_enabled
from rushlight._engine.autograd.anomaly_mode import is_anomaly_enabled as is_anomaly_enabled
from rushlight.amp.state import is_autocast_cache_enabled as is_autocast_cache_enabled
from rushlight.amp.state import is_autocast_cpu_enabled as is_autocast_cpu_enabled
from rushlight.amp.state import is_autocast_enabled as is_autocast_enabled
from rushlight._engine.tensors.queries import is_complex as is_complex
from rushlight._engine.tensors.queries import is_conj as is_conj
from rushlight._engine.tensors.execution import is_deterministic_algorithms_warn_only_enabled as is_deterministic_algorithms_warn_only_enabled
from rushlight.toplevel.functions import is_distributed as is_distributed
from rushlight._engine.tensors.queries import is_floating_point as is_floating_point
from rushlight._engine.autograd.grad_mode import is_grad_enabled as is_grad_enabled
from rushlight._engine.tensors.queries import is_inference as is_inference
from rushlight._engine.autograd.grad_mode import is_inference_mode_enabled as is_inference_mode_enabled
from rushlight._engine.tensors.queries import is_neg as is_neg
from rushlight._engine.tensors.queries import is_nonzero as is_nonzero
from rushlight._engine.tensors.queries import is_same_size as is_same_size
from rushlight._engine.tensors.queries import is_signed as is_signed
from rushlight._engine.tensors.queries import is_storage as is_storage
from rushlight._engine.tensors.queries import is_tensor as is_tensor
from rushlight.toplevel.functions import is_vulkan_available as is_vulkan_available
from rushlight.toplevel.functions import is_warn_always_enabled as is_warn_always_enabled
from rushlight.nested.tensor import jagged as jagged
from rushlight import jit as jit
from rushlight.toplevel.functions import kl_div as kl_div
layout = StorageLayout
from rushlight.toplevel.functions import legacy_contiguous_format as legacy_contiguous_format
from rushlight import library as library
from rushlight import linalg as linalg
from rushlight.serialization import load as load
from rushlight.toplevel.lobpcg import lobpcg as lobpcg
from rushlight.toplevel.removed import lstsq as lstsq
from rushlight.random import manual_seed as manual_seed
from rushlight import masked as masked
from rushlight.toplevel.removed import matrix_rank as matrix_rank
memory_format = MemoryFormat
from rushlight import monitor as monitor
from rushlight import mps as mps
from rushlight import mtia as mtia
from rushlight import multiprocessing as multiprocessing
from rushlight.toplevel.functions import native_norm as native_norm
from rushlight import nested as nested
from rushlight import nn as nn
from rushlight._engine.autograd.grad_mode import no_grad as no_grad
from rushlight.toplevel.functions import norm_except_dim as norm_except_dim
from rushlight.toplevel.functions import nuclear_norm as nuclear_norm
from rushlight._engine.tensors.queries import numel as numel
from rushlight import onnx as onnx
from rushlight import ops as ops
from rushlight import optim as optim
from rushlight import overrides as overrides
from rushlight import package as package
from rushlight.ao.quantized_tensors import per_channel_affine as per_channel_affine
from rushlight.ao.quantized_tensors import per_channel_affine_float_qparams as per_channel_affine_float_qparams
from rushlight.ao.quantized_tensors import per_channel_symmetric as per_channel_symmetric
from rushlight.ao.quantized_tensors import per_tensor_affine as per_tensor_affine
from rushlight.ao.quantized_tensors import per_tensor_symmetric as per_tensor_symmetric
from rushlight.toplevel.functions import poisson_nll_loss as poisson_nll_loss
from rushlight._engine.tensors.geometry import preserve_format as preserve_format
from rushlight import profiler as profiler
from rushlight._engine.core.promotion import promote_types as promote_types
from rushlight.ao.quantized_tensors import q_per_channel_axis as q_per_channel_axis
from rushlight.ao.quantized_tensors import q_per_channel_scales as q_per_channel_scales
from rushlight.ao.quantized_tensors import q_per_channel_zero_points as q_per_channel_zero_points
from rushlight.ao.quantized_tensors import q_scale as q_scale
from rushlight.ao.quantized_tensors import q_zero_point as q_zero_point
from rushlight.ao.quantized_tensors import qscheme as qscheme
from rushlight.ao.quantized_tensors import quantize_per_channel as quantize_per_channel
from rushlight.ao.quantized_tensors import quantize_per_tensor as quantize_per_tensor
from rushlight.ao.quantized_tensors import quantize_per_tensor_dynamic as quantize_per_tensor_dynamic
from rushlight import quasirandom as quasirandom
from rushlight import random as random
from rushlight._engine.tensors.queries import result_type as result_type
from rushlight import return_types as return_types
from rushlight.toplevel.functions import saddmm as saddmm
from rushlight.serialization import save as save
from rushlight.random import seed as seed
from rushlight import serialization as serialization
from rushlight._engine.autograd.anomaly_mode import set_anomaly_enabled as set_anomaly_enabled
from rushlight.amp.state import set_autocast_cache_enabled as set_autocast_cache_enabled
from rushlight.amp.state import set_autocast_cpu_dtype as set_autocast_cpu_dtype
from rushlight.amp.state import set_autocast_cpu_enabled as set_autocast_cpu_enabled
from rushlight.amp.state import set_autocast_dtype as set_autocast_dtype
from rushlight.amp.state import set_autocast_enabled as set_autocast_enabled
from rushlight.amp.state import set_autocast_gpu_dtype as set_autocast_gpu_dtype
from rushlight._engine.tensors.queries import set_default_device as set_default_device
from rushlight._engine.core.dtype import set_default_dtype as set_default_dtype
from rushlight._engine.tensors.queries import set_default_tensor_type as set_default_tensor_type
from rushlight._engine.tensors.execution import set_deterministic_debug_mode as set_deterministic_debug_mode
from rushlight._engine.tensors.execution import set_float32_matmul_precision as set_float32_matmul_precision
from rushlight.toplevel.functions import set_flush_denormal as set_flush_denormal
from rushlight._engine.autograd.grad_mode import set_grad_enabled as set_grad_enabled
from rushlight._engine.tensors.execution import set_num_interop_threads as set_num_interop_threads
from rushlight._engine.tensors.execution import set_num_threads as set_num_threads
from rushlight._engine.tensors.printing import set_printoptions as set_printoptions
from rushlight.random import set_rng_state as set_rng_state
from rushlight.toplevel.functions import set_warn_always as set_warn_always
from rushlight import signal as signal
from rushlight.toplevel.functions import smm as smm
from rushlight.toplevel.removed import solve as solve
from rushlight import sparse as sparse
from rushlight._engine.tensors.geometry import sparse_bsc as sparse_bsc
from rushlight.sparse import sparse_bsc_tensor as sparse_bsc_tensor
from rushlight._engine.tensors.geometry import sparse_bsr as sparse_bsr
from rushlight.sparse import sparse_bsr_tensor as sparse_bsr_tensor
from rushlight.sparse import sparse_compressed_tensor as sparse_compressed_tensor
from rushlight._engine.tensors.geometry import sparse_coo as sparse_coo
from rushlight.sparse import sparse_coo_tensor as sparse_coo_tensor
from rushlight._engine.tensors.geometry import sparse_csc as sparse_csc
from rushlight.sparse import sparse_csc_tensor as sparse_csc_tensor
from rushlight._engine.tensors.geometry import sparse_csr as sparse_csr
from rushlight.sparse import sparse_csr_tensor as sparse_csr_tensor
from rushlight import special as special
from rushlight.toplevel.functions import spmm as spmm
from rushlight.sparse.unchecked import sspaddmm as sspaddmm
from rushlight._engine.tensors.geometry import strided as strided
from rushlight.nn.summary import summary as summary
from rushlight.toplevel.functions import sym_constrain_range as sym_constrain_range
from rushlight.toplevel.functions import sym_constrain_range_for_size as sym_constrain_range_for_size
from rushlight.toplevel.functions import sym_float as sym_float
from rushlight.toplevel.functions import sym_fresh_size as sym_fresh_size
from rushlight.toplevel.functions import sym_int as sym_int
from rushlight.toplevel.functions import sym_ite as sym_ite
from rushlight.toplevel.functions import sym_max as sym_max
from rushlight.toplevel.functions import sym_min as sym_min
from rushlight.toplevel.functions import sym_not as sym_not
from rushlight.toplevel.functions import sym_sqrt as sym_sqrt
from rushlight.toplevel.functions import sym_sum as sym_sum
from rushlight.toplevel.removed import symeig as symeig
from rushlight._engine.tensors.construction.factories import tensor as tensor
from rushlight import testing as testing
from rushlight.toplevel.functions import threshold as threshold
from rushlight.toplevel.functions import threshold_ as threshold_
from rushlight._engine.tensors.construction.interop import to_dlpack as to_dlpack
from rushlight import torch_version as torch_version
from rushlight.toplevel.functions import triplet_margin_loss as triplet_margin_loss
from rushlight._engine.tensors.queries import typename as typename
from rushlight import types as types
from rushlight.toplevel.functions import unique_dim as unique_dim
from rushlight._engine.tensors.execution import use_deterministic_algorithms as use_deterministic_algorithms
from rushlight import utils as utils
from rushlight import version as version
from rushlight.func.vmapping import vmap as vmap
from rushlight.toplevel.functions import wait as wait
from rushlight.toplevel.functions import while_loop as while_loop
from rushlight import xpu as xpu
class Tensor(metaclass=_TensorMeta):
    """A multi-dimensional array; make one with torch.tensor, torch.zeros, torch.from_numpy, ..."""

    _array: np.ndarray[Any, Any]
    _kind: Kind
    _grad_node: Any
    _output_nr: _int
    _storage: _Storage | None
    _view_of: Any
    _grad: Any
    _hidden: Any
    _memory: np.ndarray[Any, Any]
    _geometry: np.ndarray[Any, Any]
    @property
    def H(self) -> Tensor:
        """The conjugate transpose of a matrix."""
    @property
    def T(self) -> Tensor:
        """The dims reversed; meant for matrices."""
    def __array__(self, dtype: _dtype | None = None, copy: _bool | None = None) -> np.ndarray[Any, Any]: ...
    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        """The array API standard's functions for this tensor."""
    __array_priority__: _int
    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: _bool = False) -> Any: ...
    def __bool__(self) -> _bool: ...
    def __complex__(self) -> _complex: ...
    def __contains__(self, element: Any) -> _bool: ...
    def __deepcopy__(self, memo: dict[_int, Any]) -> Tensor: ...
    def __delitem__(self, index: Any) -> None: ...
    def __dlpack__(self, *, stream: _int = -1, max_version: Any = None, dl_device: Any = None, copy: _bool | None = None) -> Any: ...
    def __dlpack_device__(self) -> tuple[_int, _int]: ...
    def __float__(self) -> _float: ...
    def __format__(self, spec: str) -> str: ...
    def __getitem__(self, index: Any) -> Tensor: ...
    def __hash__(self) -> _int: ...
    def __index__(self) -> _int: ...
    def __int__(self) -> _int: ...
    def __iter__(self) -> Iterator[Tensor]: ...
    def __len__(self) -> _int: ...
    def __long__(self) -> _int: ...
    def __new__(cls, *args: Any, **kwargs: Any) -> Self: ...
    def __nonzero__(self) -> _bool: ...
    def __rdiv__(self, other: Tensor) -> Any:
        """other / self under Python 2's name, which PyTorch has kept."""
    def __repr__(self) -> str: ...
    def __reversed__(self) -> Tensor: ...
    __setitem__: Any
    def __setstate__(self, state: Any) -> None: ...
    def __str__(self) -> str: ...
    @classmethod
    def __torch_dispatch__(cls, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Tensor.__torch_dispatch__: run the op as if no class heard of it."""
    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = ..., kwargs: Any = ...) -> Any: ...
    @property
    def _base(self) -> Tensor | None: ...
    def _is_view(self) -> _bool: ...
    def _state(self, state: Tensor) -> Tensor:
        """What an optimizer keeps of this parameter: a tensor of its memory's shape, perhaps of its class."""
    @property
    def _version(self) -> _int: ...
    def as_subclass(self, cls: _type) -> Any:
        """A view of the whole tensor that is an instance of `cls`, a subclass of Tensor."""
    def backward(self, gradient: Tensor | None = None, retain_graph: _bool | None = None, create_graph: _bool = False, inputs: Any = None) -> None:
        """Add the gradients of this tensor to the leaves' `.grad`; a scalar needs no `gradient`."""
    def const_data_ptr(self) -> _int:
        """data_ptr(), by who only reads."""
    @property
    def data(self) -> Tensor:
        """The same data with its own version counter, so that autograd does not see writes."""
    @data.setter
    def data(self, value: Tensor) -> None: ...
    @data.deleter
    def data(self) -> None: ...
    def data_ptr(self) -> _int:
        """The address of the first element; 0 for an empty tensor; on meta, where none is, as from 0 on."""
    def dequantize(self) -> Tensor:
        """The numbers as float32; of quantized tensors, what they stand for."""
    def detach(self) -> Tensor:
        """The same data outside the graph: it shares memory and version, and tracks nothing."""
    def detach_(self) -> Tensor:
        """Cut this tensor off from its graph, in place."""
    @property
    def device(self) -> _device:
        """Where the memory is."""
    def dim(self) -> _int:
        """The number of dims."""
    def dim_order(self, *, ambiguity_check: _bool = False) -> tuple[_int, ...]:
        """The dims from the outermost to the innermost in memory.

        ambiguity_check: False by default; True, or a list of memory formats of which exactly one must fit: a
        RuntimeError where dims of size 1 or of equal strides leave the order open.
        """
    @property
    def dtype(self) -> _dtype:
        """The element type."""
    def element_size(self) -> _int:
        """Bytes of one element."""
    def get_device(self) -> _int:
        """The number of the device; -1 for the CPU."""
    @property
    def grad(self) -> Tensor | None:
        """The gradient accumulated by backward(), or None."""
    @grad.setter
    def grad(self, value: Tensor | None) -> None: ...
    @grad.deleter
    def grad(self) -> None: ...
    @property
    def grad_dtype(self) -> dt.dtype | None:
        """What dtype this leaf's gradients are turned into: its own, unless set; None: as they come."""
    @grad_dtype.setter
    def grad_dtype(self, value: dt.dtype | None) -> None: ...
    @property
    def grad_fn(self) -> Node | None:
        """The node that made this tensor; None for a leaf."""
    @property
    def imag(self) -> Tensor:
        """The imaginary part, as a view."""
    @imag.setter
    def imag(self, value: Tensor) -> None: ...
    def index(self, *args: Any, **kwargs: Any) -> Any:
        """NotImplementedError: it needs functorch.dim, which Rushlight has not."""
    def int_repr(self, *args: Any, **kwargs: Any) -> Any:
        """NotImplementedError: it is of quantized tensors."""
    def is_complex(self) -> _bool:
        """Whether the dtype is complex."""
    def is_conj(self) -> _bool:
        """Whether it is a view that is conjugated when it is read."""
    def is_contiguous(self, memory_format: MemoryFormat = ...) -> _bool:
        """Whether the elements lie in the order of `memory_format` without gaps."""
    @property
    def is_cpu(self) -> _bool:
        """Whether the memory is the CPU's."""
    @property
    def is_cuda(self) -> _bool:
        """Whether the memory is a CUDA device's."""
    def is_distributed(self) -> _bool:
        """False: no tensor is."""
    def is_floating_point(self) -> _bool:
        """Whether the dtype is a floating-point one."""
    @property
    def is_hpu(self) -> Any: ...
    def is_inference(self) -> _bool:
        """Whether it was made in inference mode."""
    @property
    def is_ipu(self) -> Any: ...
    @property
    def is_leaf(self) -> _bool:
        """Whether no op made it (as far as autograd knows)."""
    @property
    def is_maia(self) -> Any: ...
    @property
    def is_meta(self) -> _bool:
        """Whether the tensor has a shape and no data."""
    @property
    def is_mkldnn(self) -> Any: ...
    @property
    def is_mps(self) -> Any: ...
    @property
    def is_mtia(self) -> Any: ...
    def is_neg(self) -> _bool:
        """Whether it is a view that is negated when it is read."""
    @property
    def is_nested(self) -> Any: ...
    def is_nonzero(self) -> _bool:
        """Whether the one element is not zero; RuntimeError for several or none."""
    def is_pinned(self, device: str | _int | _device | None = None) -> _bool:
        """Whether the memory is page-locked, for copies to and from CUDA devices."""
    @property
    def is_quantized(self) -> Any: ...
    def is_same_size(self, other: Tensor) -> _bool:
        """Whether the shapes are equal. RuntimeError beside a nested tensor."""
    def is_set_to(self, other: Tensor) -> _bool:
        """Whether both see the same memory in the same way."""
    def is_shared(self) -> _bool:
        """Whether other processes can see the memory, after share_memory_() or a way through a queue."""
    def is_signed(self) -> _bool:
        """Whether the dtype has negative numbers."""
    @property
    def is_sparse(self) -> Any: ...
    @property
    def is_sparse_csr(self) -> Any: ...
    @property
    def is_vulkan(self) -> Any: ...
    @property
    def is_xla(self) -> Any: ...
    @property
    def is_xpu(self) -> Any: ...
    def item(self) -> _int | _float | _bool:
        """The value of a tensor with one element, as a Python number."""
    @property
    def itemsize(self) -> _int:
        """Bytes of one element."""
    @property
    def layout(self) -> StorageLayout:
        """torch.strided."""
    @property
    def mH(self) -> Tensor:
        """The last two dims swapped and conjugated."""
    @property
    def mT(self) -> Tensor:
        """The last two dims swapped."""
    def module_load(self, other: Tensor, assign: _bool = False) -> Tensor:
        """What load_state_dict exchanges this parameter or buffer for, given a value of the state dict, where
        torch.__future__.set_swap_module_params_on_conversion is on: this one with the other's numbers, or
        with assign the other. A subclass may answer otherwise, with a new tensor.
        """
    @property
    def name(self) -> None:
        """None: PyTorch's tensors have had no names since variables became tensors."""
    @property
    def nbytes(self) -> _int:
        """Bytes of all elements."""
    @property
    def ndim(self) -> _int:
        """The number of dims."""
    def ndimension(self) -> _int:
        """The number of dims."""
    def nelement(self) -> _int:
        """The number of elements."""
    def numel(self) -> _int:
        """The number of elements."""
    def numpy(self, *, force: _bool = False) -> np.ndarray[Any, Any]:
        """The NumPy array that shares this tensor's memory."""
    @property
    def output_nr(self) -> _int:
        """Which of grad_fn's results this is."""
    def q_per_channel_axis(self, *args: Any, **kwargs: Any) -> Any:
        """NotImplementedError: it is of quantized tensors."""
    def q_per_channel_scales(self, *args: Any, **kwargs: Any) -> Any:
        """NotImplementedError: it is of quantized tensors."""
    def q_per_channel_zero_points(self, *args: Any, **kwargs: Any) -> Any:
        """NotImplementedError: it is of quantized tensors."""
    def q_scale(self, *args: Any, **kwargs: Any) -> Any:
        """NotImplementedError: it is of quantized tensors."""
    def q_zero_point(self, *args: Any, **kwargs: Any) -> Any:
        """NotImplementedError: it is of quantized tensors."""
    def qscheme(self, *args: Any, **kwargs: Any) -> Any:
        """NotImplementedError: it is of quantized tensors."""
    @property
    def real(self) -> Tensor:
        """The real part, as a view; a real tensor is returned as it is."""
    @real.setter
    def real(self, value: Tensor) -> None: ...
    def register_hook(self, hook: Callable[[Tensor], Any]) -> RemovableHandle:
        """Call `hook(grad)` when this tensor's gradient is known; a result replaces it."""
    def register_post_accumulate_grad_hook(self, hook: Callable[[Tensor], None]) -> RemovableHandle:
        """Call `hook(tensor)` after backward() has added to this leaf's `.grad`."""
    @property
    def requires_grad(self) -> _bool:
        """Whether gradients flow into (or through) this tensor."""
    @requires_grad.setter
    def requires_grad(self, value: _bool) -> None: ...
    @requires_grad.deleter
    def requires_grad(self) -> None: ...
    def requires_grad_(self, requires_grad: _bool = True) -> Tensor:
        """Turn the tracking of a leaf on or off, in place."""
    def resize(self, *sizes: Any) -> Tensor:
        """The same elements in another shape, int by int; a view where the tensor is contiguous.

        Raises RuntimeError where the number of elements differs. Deprecated, as a UserWarning says: use
        reshape().
        """
    def resize_as(self, tensor: Tensor) -> Tensor:
        """resize() to the shape of another tensor."""
    def retain_grad(self) -> None:
        """Keep this non-leaf tensor's gradient in `.grad` during backward()."""
    @property
    def retains_grad(self) -> _bool:
        """Whether a non-leaf tensor keeps its gradient."""
    @property
    def shape(self) -> Size:
        """The sizes of all dims."""
    @overload
    def size(self, dim: None = None) -> Size:
        """All sizes, or the size of one dim."""
    @overload
    def size(self, dim: _int) -> _int:
        """All sizes, or the size of one dim."""
    def slice_inverse(self, src: Tensor, dim: _int = 0, start: _int | None = None, end: _int | None = None, step: _int = 1) -> Tensor:
        """The view of this tensor's memory of which `src`, a slice of such a one, tells sizes and strides."""
    def sparse_resize_(self, *args: Any, **kwargs: Any) -> Any:
        """NotImplementedError: it is of sparse tensors."""
    def sparse_resize_and_clear_(self, *args: Any, **kwargs: Any) -> Any:
        """NotImplementedError: it is of sparse tensors."""
    def storage(self) -> Any:
        """The storage with this tensor's dtype; PyTorch advises untyped_storage()."""
    def storage_offset(self) -> _int:
        """Elements from the start of the storage to the first element."""
    def storage_type(self) -> Any:
        """The class of this dtype's storages: torch.FloatStorage, ..."""
    @overload
    def stride(self, dim: None = None) -> tuple[_int, ...]:
        """Strides in elements: all, or of one dim."""
    @overload
    def stride(self, dim: _int) -> _int:
        """Strides in elements: all, or of one dim."""
    def to_device(self, device: str | _int | _device, /, *, stream: Any = None) -> Any:
        """The array API standard's name of `to(device)`."""
    def to_mkldnn(self, *args: Any, **kwargs: Any) -> Any:
        """NotImplementedError: it needs the MKL-DNN layout, which Rushlight has not."""
    def tolist(self) -> Any:
        """The values as nested lists of Python numbers; of a 0-d tensor, the number."""
    def untyped_storage(self) -> Any:
        """The storage: the memory shared by all views of this tensor."""
    @property
    def volatile(self) -> _bool:
        """False: torch.no_grad() is what it has become."""
    def __abs__(self) -> Tensor: ...
    def __add__(self, other: Tensor | _complex, /) -> Tensor: ...
    def __and__(self, other: Tensor | _complex, /) -> Tensor: ...
    def __div__(self, other: Tensor | _complex, /) -> Tensor: ...
    def __eq__(self, other: Any, /) -> Tensor: ...  # type: ignore[override]
    def __floordiv__(self, other: Tensor | _complex, /) -> Tensor: ...
    def __ge__(self, other: Tensor | _complex, /) -> Tensor: ...
    def __gt__(self, other: Tensor | _complex, /) -> Tensor: ...
    def __iadd__(self, other: Tensor | _complex, /) -> Tensor: ...
    def __iand__(self, other: Tensor | _complex, /) -> Tensor: ...
    def __idiv__(self, other: Tensor | _complex, /) -> Tensor: ...
    def __ifloordiv__(self, other: Tensor | _complex, /) -> Tensor: ...
    def __ilshift__(self, other: Tensor | _complex, /) -> Tensor: ...
    def __imatmul__(self, other: Tensor, /) -> Tensor: ...
    def __imod__(self, other: Tensor | _complex, /) -> Tensor: ...
    def __imul__(self, other: Tensor | _complex, /) -> Tensor: ...
    def __invert__(self) -> Tensor: ...
    def __ior__(self, other: Tensor | _complex, /) -> Tensor: ...
    def __ipow__(self, other: Tensor | _complex, /) -> Tensor: ...
    def __irshift__(self, other: Tensor | _complex, /) -> Tensor: ...
    def __isub__(self, other: Tensor | _complex, /) -> Tensor: ...
    def __itruediv__(self, other: Tensor | _complex, /) -> Tensor: ...
    def __ixor__(self, other: Tensor | _complex, /) -> Tensor: ...
    def __le__(self, other: Tensor | _complex, /) -> Tensor: ...
    def __lshift__(self, other: Tensor | _complex, /) -> Tensor: ...
    def __lt__(self, other: Tensor | _complex, /) -> Tensor: ...
    def __matmul__(self, other: Tensor, /) -> Tensor: ...
    def __mod__(self, other: Tensor | _complex, /) -> Tensor: ...
    def __mul__(self, other: Tensor | _complex, /) -> Tensor: ...
    def __ne__(self, other: Any, /) -> Tensor: ...  # type: ignore[override]
    def __neg__(self) -> Tensor: ...
    def __or__(self, other: Tensor | _complex, /) -> Tensor: ...
    def __pos__(self) -> Tensor: ...
    def __pow__(self, other: Tensor | _complex, /) -> Tensor: ...
    def __radd__(self, other: Tensor | _complex, /) -> Tensor: ...
    def __rand__(self, other: Tensor | _complex, /) -> Tensor: ...
    def __rfloordiv__(self, other: Tensor | _complex, /) -> Tensor: ...
    def __rlshift__(self, other: Tensor | _complex, /) -> Tensor: ...
    def __rmatmul__(self, other: Tensor, /) -> Tensor: ...
    def __rmod__(self, other: Tensor | _complex, /) -> Tensor: ...
    def __rmul__(self, other: Tensor | _complex, /) -> Tensor: ...
    def __ror__(self, other: Tensor | _complex, /) -> Tensor: ...
    def __rpow__(self, other: Tensor | _complex, /) -> Tensor: ...
    def __rrshift__(self, other: Tensor | _complex, /) -> Tensor: ...
    def __rshift__(self, other: Tensor | _complex, /) -> Tensor: ...
    def __rsub__(self, other: Tensor | _complex, /) -> Tensor: ...
    def __rtruediv__(self, other: Tensor | _complex, /) -> Tensor: ...
    def __rxor__(self, other: Tensor | _complex, /) -> Tensor: ...
    def __sub__(self, other: Tensor | _complex, /) -> Tensor: ...
    def __truediv__(self, other: Tensor | _complex, /) -> Tensor: ...
    def __xor__(self, other: Tensor | _complex, /) -> Tensor: ...
    def apply_(self, callable: Callable[[Any], Any]) -> Tensor:
        """Replace each element by callable(element), Python numbers both, in place: any dtype and shape; slow.

        RuntimeError for a tensor that requires grad, TypeError for a result that is no number.
        """
    def bfloat16(self, *, memory_format: MemoryFormat | None = None) -> Tensor:
        """to(torch.bfloat16)."""
    def bool(self, *, memory_format: MemoryFormat | None = None) -> Tensor:
        """to(torch.bool)."""
    def byte(self, *, memory_format: MemoryFormat | None = None) -> Tensor:
        """to(torch.uint8)."""
    def cdouble(self, *, memory_format: MemoryFormat | None = None) -> Tensor:
        """to(torch.complex128)."""
    def cfloat(self, *, memory_format: MemoryFormat | None = None) -> Tensor:
        """to(torch.complex64)."""
    def char(self, *, memory_format: MemoryFormat | None = None) -> Tensor:
        """to(torch.int8)."""
    def contiguous(self, memory_format: MemoryFormat = ...) -> Tensor:
        """This tensor if its elements lie in that order, else a copy."""
    def copy_(self, other: Tensor, non_blocking: _bool = False) -> Tensor:
        """Write `other`, broadcast and converted, into this tensor; it may be a number."""
    def cpu(self, memory_format: MemoryFormat = ...) -> Tensor:
        """In the CPU's memory."""
    def cuda(self, device: str | _int | _device | None = None, non_blocking: _bool = False, memory_format: MemoryFormat = ...) -> Tensor:
        """In the memory of a CUDA device: of the current one, or of that with a number; itself if there."""
    def double(self, *, memory_format: MemoryFormat | None = None) -> Tensor:
        """to(torch.float64)."""
    def eig(self, *args: Any, **kwargs: Any) -> Any: ...
    def fill_(self, value: Any) -> Tensor:
        """Write one number (or 0-d tensor) everywhere."""
    def float(self, *, memory_format: MemoryFormat | None = None) -> Tensor:
        """to(torch.float32)."""
    def half(self, *, memory_format: MemoryFormat | None = None) -> Tensor:
        """to(torch.float16)."""
    def int(self, *, memory_format: MemoryFormat | None = None) -> Tensor:
        """to(torch.int32)."""
    def ipu(self, device: str | _int | _device | None = None, non_blocking: _bool = False, memory_format: MemoryFormat = ...) -> Tensor:
        """In the memory of an IPU: of the current one, or of that with a number; itself if there."""
    def long(self, *, memory_format: MemoryFormat | None = None) -> Tensor:
        """to(torch.int64)."""
    def lstsq(self, *args: Any, **kwargs: Any) -> Any: ...
    def map2_(self, x: Tensor, y: Tensor, callable: Callable[[Any, Any, Any], Any]) -> Tensor:
        """Replace each element a by callable(a, b, c), from `x` and `y` as in map_."""
    def map_(self, other: Tensor, callable: Callable[[Any, Any], Any]) -> Tensor:
        """Replace each element a by callable(a, b), b from `other`: of the same dtype, expanded to this shape."""
    def mtia(self, device: str | _int | _device | None = None, non_blocking: _bool = False, memory_format: MemoryFormat = ...) -> Tensor:
        """In the memory of an MTIA device: of the current one, or of that with a number; itself if there."""
    def new(self, *args: Any, **kwargs: Any) -> Tensor:
        """Tensor.new(...): like torch.Tensor(...), in this tensor's dtype and on its device, or another of its
        type (device=).
        """
    def new_tensor(self, data: Any, *, dtype: _dtype | None = None, device: str | _int | _device | None = None, requires_grad: _bool = False, layout: StorageLayout | None = None, pin_memory: _bool = False) -> Tensor:
        """A new leaf with a copy of data, in this tensor's dtype and on its device."""
    def pin_memory(self, device: str | _int | _device | None = None) -> Tensor:
        """A copy in page-locked memory, which copies to and from CUDA devices need not wait for; itself if it
        is.
        """
    def record_stream(self, s: Sequence[_int] | _int) -> None:
        """Keep a CUDA tensor's memory from being handed out again before a stream is through with its present
        work.
        """
    def resize_(self, *sizes: _int | Sequence[_int], memory_format: MemoryFormat = ...) -> Tensor:
        """Give this tensor another shape; its storage grows where it must, old bytes are kept."""
    def resize_as_(self, the_template: Tensor, *, memory_format: MemoryFormat | None = None) -> Tensor:
        """Give this tensor another's shape; with a memory format also its strides, preserved ones the other's."""
    def set_(self, source: Any = None, storage_offset: _int = 0, size: Sequence[_int] | _int | None = None, stride: _int | Sequence[_int] | None = None) -> Tensor:
        """Make this tensor see another tensor's (or a storage's) memory."""
    def share_memory_(self) -> Tensor:
        """Move this tensor's storage, and all tensors that see it, into memory that other processes can see.

        A forked process, or one that the tensor is sent to by torch.multiprocessing, reads and writes it.
        """
    def short(self, *, memory_format: MemoryFormat | None = None) -> Tensor:
        """to(torch.int16)."""
    def solve(self, *args: Any, **kwargs: Any) -> Any: ...
    def symeig(self, *args: Any, **kwargs: Any) -> Any: ...
    def to(self, *args: Any, **kwargs: Any) -> Tensor:
        """Converted to a dtype, a device, or another tensor's; itself where nothing changes."""
    def type(self, dtype: _dtype | None = None, non_blocking: _bool = False, **kwargs: Any) -> Any:
        """The legacy type's name; with an argument, a conversion."""
    def view(self, *given: _int | Sequence[_int] | dt.dtype, size: _int | Sequence[_int] | None = None, dtype: dt.dtype | None = None) -> Tensor:
        """The same elements in another shape, or the same bytes as another dtype."""
    def xpu(self, device: str | _int | _device | None = None, non_blocking: _bool = False, memory_format: MemoryFormat = ...) -> Tensor:
        """In the memory of an XPU: of the current one, or of that with a number; itself if there."""
    def zero_(self) -> Tensor:
        """Write zeros everywhere."""
    def ccol_indices(self) -> Tensor: ...
    def coalesce(t) -> Tensor:
        """The same tensor with places in order, each once."""
    def col_indices(self) -> Tensor: ...
    def crow_indices(self) -> Tensor: ...
    def dense_dim(self) -> _int:
        """How many dims lie in values: all, of a dense tensor."""
    def hspmm(mat1, mat2: Any) -> Tensor:
        """torch.hspmm: mat1 @ mat2, the rows that mat1 has anything in as the values of a hybrid tensor."""
    def indices(self) -> Tensor: ...
    def is_coalesced(self) -> _bool: ...
    def resize_as_sparse_(t, template: Any) -> Tensor:
        """The shape of another sparse tensor; of a compressed one its places, too, and memory for its values."""
    def row_indices(self) -> Tensor: ...
    def smm(self, mat2: Tensor) -> Tensor:
        """The matrix product of a sparse matrix and another."""
    def sparse_dim(self) -> _int:
        """How many dims the indices count: none, of a dense tensor."""
    def sparse_mask(t, mask: Tensor) -> Tensor:
        """A tensor's numbers at the places that mask has."""
    def sspaddmm(input, mat1: Any, mat2: Any, *, beta: _int = 1, alpha: Tensor | _float = 1) -> Tensor:
        """torch.sspaddmm: beta * input + alpha * (mat1 @ mat2) of sparse input and mat1, sparse."""
    def to_dense(t, dtype: _dtype | None = None, masked_grad: Any = None) -> Tensor:
        """A dense tensor of the same numbers.

        masked_grad: taken as True, that is, what is not specified has no gradient.
        """
    def to_sparse(t, sparse_dim: Any = None, *, layout: StorageLayout | None = None, blocksize: Any = None, dense_dim: Any = None) -> Tensor:
        """A dense tensor's nonzero values and their places, counted in the first sparse_dim dims; or a compressed
        layout, with the last dense_dim dims in the values.
        """
    def to_sparse_bsc(self, *args: Any, **options: Any) -> Tensor:
        """The same matrix as torch.sparse_bsc."""
    def to_sparse_bsr(self, *args: Any, **options: Any) -> Tensor:
        """The same matrix as torch.sparse_bsr."""
    def to_sparse_coo(self) -> Tensor:
        """The same tensor as COO."""
    def to_sparse_csc(self, *args: Any, **options: Any) -> Tensor:
        """The same matrix as torch.sparse_csc."""
    def to_sparse_csr(self, *args: Any, **options: Any) -> Tensor:
        """The same matrix as torch.sparse_csr."""
    def values(self) -> Tensor: ...
    def _conj(input) -> Tensor:
        """The complex conjugate, as a view that is conjugated when it is read; a real tensor itself."""
    def _conj_physical(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The complex conjugate, written out.

        Any shape.
        """
    def _conj_physical_(input) -> Tensor:
        """In-place version of _conj_physical."""
    def _neg_view(input) -> Tensor:
        """The negative, as a view that is negated when it is read."""
    def abs(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The absolute value (of a complex number, its modulus).

        Any shape. Of complex numbers the result is real.
        """
    def abs_(input) -> Tensor:
        """In-place version of abs."""
    def absolute(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The absolute value (of a complex number, its modulus).

        Any shape. Of complex numbers the result is real.
        """
    def absolute_(input) -> Tensor:
        """In-place version of abs."""
    def acos(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The arc cosine.

        Any shape. Integers give the default floating dtype.
        """
    def acos_(input) -> Tensor:
        """In-place version of acos."""
    def acosh(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The inverse hyperbolic cosine.

        Any shape. Integers give the default floating dtype.
        """
    def acosh_(input) -> Tensor:
        """In-place version of acosh."""
    def add(input, other: Tensor | _int | _float | _complex, *, alpha: _int | _float | _complex = 1, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """input + alpha * other.

        Shapes broadcast, and dtypes are promoted.
        """
    def add_(input, other: Tensor | _int | _float | _complex, *, alpha: _int | _float | _complex = 1) -> Tensor:
        """In-place version of add."""
    def addbmm(input, batch1: Tensor, batch2: Tensor, *, beta: _int | _float | _complex = 1, alpha: _int | _float | _complex = 1, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """beta * input + alpha * the sum of batch1 @ batch2 over the batch."""
    def addbmm_(input, batch1: Tensor, batch2: Tensor, *, beta: _int | _float | _complex = 1, alpha: _int | _float | _complex = 1) -> Tensor:
        """In-place version of addbmm."""
    def addcdiv(input, tensor1: Tensor, tensor2: Tensor, *, value: _int | _float | _complex = 1, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """input + value * tensor1 / tensor2.

        Shapes broadcast, and dtypes are promoted.
        """
    def addcdiv_(input, tensor1: Tensor, tensor2: Tensor, *, value: _int | _float | _complex = 1) -> Tensor:
        """In-place version of addcdiv."""
    def addcmul(input, tensor1: Tensor, tensor2: Tensor, *, value: _int | _float | _complex = 1, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """input + value * tensor1 * tensor2.

        Shapes broadcast, and dtypes are promoted.
        """
    def addcmul_(input, tensor1: Tensor, tensor2: Tensor, *, value: _int | _float | _complex = 1) -> Tensor:
        """In-place version of addcmul."""
    def addmm(input, mat1: Tensor, mat2: Tensor, *, beta: _int | _float | _complex = 1, alpha: _int | _float | _complex = 1, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """beta * input + alpha * (mat1 @ mat2): (n, k) @ (k, m), to which input broadcasts. With beta 0, input is
        not read.
        """
    def addmm_(input, mat1: Tensor, mat2: Tensor, *, beta: _int | _float | _complex = 1, alpha: _int | _float | _complex = 1) -> Tensor:
        """In-place version of addmm."""
    def addmv(input, mat: Tensor, vec: Tensor, *, beta: _int | _float | _complex = 1, alpha: _int | _float | _complex = 1, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """beta * input + alpha * (mat @ vec)."""
    def addmv_(input, mat: Tensor, vec: Tensor, *, beta: _int | _float | _complex = 1, alpha: _int | _float | _complex = 1) -> Tensor:
        """In-place version of addmv."""
    def addr(input, vec1: Tensor, vec2: Tensor, *, beta: _int | _float | _complex = 1, alpha: _int | _float | _complex = 1, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """beta * input + alpha * the outer product of two vectors."""
    def addr_(input, vec1: Tensor, vec2: Tensor, *, beta: _int | _float | _complex = 1, alpha: _int | _float | _complex = 1) -> Tensor:
        """In-place version of addr."""
    def adjoint(input) -> Tensor:
        """The last two dims swapped and conjugated."""
    def all(input, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """Whether all elements are nonzero.

        dim: one or several, by default all; with keepdim they stay, with size 1. The result is bool.
        """
    def allclose(input, other: Tensor, rtol: _float = 1e-05, atol: _float = 1e-08, equal_nan: _bool = False) -> _bool:
        """Whether all elements are close, as a bool: |input - other| <= atol + rtol |other|; equal_nan: nan
        equals nan.
        """
    def amax(input, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The largest element; nan if there is one.

        dim: one or several, by default all; with keepdim they stay, with size 1.
        """
    def amin(input, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The smallest element; nan if there is one.

        dim: one or several, by default all; with keepdim they stay, with size 1.
        """
    def aminmax(input, *, dim: _int | None = None, keepdim: _bool = False, out: Tensor | Sequence[Tensor] | None = None) -> _aminmax_result:
        """(min, max) along dim, or over all elements."""
    def angle(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The angle of a complex number; of a real one 0 or pi (nan stays)."""
    def any(input, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """Whether any element is nonzero.

        dim: one or several, by default all; with keepdim they stay, with size 1. The result is bool.
        """
    def arccos(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The arc cosine.

        Any shape. Integers give the default floating dtype.
        """
    def arccos_(input) -> Tensor:
        """In-place version of acos."""
    def arccosh(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The inverse hyperbolic cosine.

        Any shape. Integers give the default floating dtype.
        """
    def arccosh_(input) -> Tensor:
        """In-place version of acosh."""
    def arcsin(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The arc sine.

        Any shape. Integers give the default floating dtype.
        """
    def arcsin_(input) -> Tensor:
        """In-place version of asin."""
    def arcsinh(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The inverse hyperbolic sine.

        Any shape. Integers give the default floating dtype.
        """
    def arcsinh_(input) -> Tensor:
        """In-place version of asinh."""
    def arctan(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The arc tangent.

        Any shape. Integers give the default floating dtype.
        """
    def arctan2(input, other: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The angle of the point (other, input).

        Shapes broadcast, and dtypes are promoted. Integers give the default floating dtype.
        """
    def arctan2_(input, other: Tensor) -> Tensor:
        """In-place version of atan2."""
    def arctan_(input) -> Tensor:
        """In-place version of atan."""
    def arctanh(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The inverse hyperbolic tangent.

        Any shape. Integers give the default floating dtype.
        """
    def arctanh_(input) -> Tensor:
        """In-place version of atanh."""
    def argmax(input, dim: _int | None = None, keepdim: _bool = False, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The position of the largest element."""
    def argmin(input, dim: _int | None = None, keepdim: _bool = False, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The position of the smallest element."""
    def argsort(input, dim: _int = -1, descending: _bool = False, *, stable: _bool = False) -> Tensor:
        """The positions that sort the elements along dim."""
    def argwhere(input) -> Tensor:
        """The positions of the nonzero elements, one row each."""
    def as_strided(input, size: _int | Sequence[_int], stride: _int | Sequence[_int], storage_offset: _int | None = None) -> Tensor:
        """A view with given sizes, strides and offset of the whole storage."""
    def as_strided_(input, size: _int | Sequence[_int], stride: _int | Sequence[_int], storage_offset: _int | None = None) -> Tensor:
        """In-place version of as_strided."""
    def as_strided_scatter(input, src: Tensor, size: _int | Sequence[_int], stride: _int | Sequence[_int], storage_offset: _int | None = None) -> Tensor:
        """input with the elements of its storage that as_strided shows replaced by src."""
    def asin(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The arc sine.

        Any shape. Integers give the default floating dtype.
        """
    def asin_(input) -> Tensor:
        """In-place version of asin."""
    def asinh(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The inverse hyperbolic sine.

        Any shape. Integers give the default floating dtype.
        """
    def asinh_(input) -> Tensor:
        """In-place version of asinh."""
    def atan(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The arc tangent.

        Any shape. Integers give the default floating dtype.
        """
    def atan2(input, other: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The angle of the point (other, input).

        Shapes broadcast, and dtypes are promoted. Integers give the default floating dtype.
        """
    def atan2_(input, other: Tensor) -> Tensor:
        """In-place version of atan2."""
    def atan_(input) -> Tensor:
        """In-place version of atan."""
    def atanh(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The inverse hyperbolic tangent.

        Any shape. Integers give the default floating dtype.
        """
    def atanh_(input) -> Tensor:
        """In-place version of atanh."""
    def baddbmm(input, batch1: Tensor, batch2: Tensor, *, beta: _int | _float | _complex = 1, alpha: _int | _float | _complex = 1, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """beta * input + alpha * (batch1 @ batch2): (b, n, k) @ (b, k, m), to which input broadcasts."""
    def baddbmm_(input, batch1: Tensor, batch2: Tensor, *, beta: _int | _float | _complex = 1, alpha: _int | _float | _complex = 1) -> Tensor:
        """In-place version of baddbmm."""
    def bernoulli(input, p: _float | None = None, *, generator: Generator | None = None, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """Ones with the probabilities in input (or all with probability p), else zeros: of the input's shape and
        dtype.
        """
    def bernoulli_(input, p: Tensor | _int | _float | _complex = 0.5, *, generator: Generator | None = None) -> Tensor:
        """In-place version of bernoulli_fill."""
    def bincount(input, weights: Tensor | None = None, minlength: _int = 0) -> Tensor:
        """How often each of 0, 1, 2, ... occurs in a vector; with weights, the sum of theirs."""
    def bitwise_and(input, other: Tensor | _int | _float | _complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The bits set in both.

        Shapes broadcast, and dtypes are promoted.
        """
    def bitwise_and_(input, other: Tensor | _int | _float | _complex) -> Tensor:
        """In-place version of bitwise_and."""
    def bitwise_left_shift(input, other: Tensor | _int | _float | _complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """input * 2 ** other.

        Shapes broadcast, and dtypes are promoted.
        """
    def bitwise_left_shift_(input, other: Tensor | _int | _float | _complex) -> Tensor:
        """In-place version of bitwise_left_shift."""
    def bitwise_not(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The bits flipped; of a bool, its opposite.

        Any shape.
        """
    def bitwise_not_(input) -> Tensor:
        """In-place version of bitwise_not."""
    def bitwise_or(input, other: Tensor | _int | _float | _complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The bits set in either.

        Shapes broadcast, and dtypes are promoted.
        """
    def bitwise_or_(input, other: Tensor | _int | _float | _complex) -> Tensor:
        """In-place version of bitwise_or."""
    def bitwise_right_shift(input, other: Tensor | _int | _float | _complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """input / 2 ** other, floored.

        Shapes broadcast, and dtypes are promoted.
        """
    def bitwise_right_shift_(input, other: Tensor | _int | _float | _complex) -> Tensor:
        """In-place version of bitwise_right_shift."""
    def bitwise_xor(input, other: Tensor | _int | _float | _complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The bits set in exactly one.

        Shapes broadcast, and dtypes are promoted.
        """
    def bitwise_xor_(input, other: Tensor | _int | _float | _complex) -> Tensor:
        """In-place version of bitwise_xor."""
    def bmm(input, mat2: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The products of two batches of matrices: (b, n, k) @ (b, k, m) -> (b, n, m); nothing broadcasts
        (RuntimeError).
        """
    @overload
    def broadcast_to(input, *size: _int) -> Tensor:
        """input expanded to a shape."""
    @overload
    def broadcast_to(input, size: Sequence[_int]) -> Tensor:
        """input expanded to a shape."""
    def cauchy_(input, median: _float = 0.0, sigma: _float = 1.0, *, generator: Generator | None = None) -> Tensor:
        """In-place version of cauchy."""
    def ceil(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The least integer not below.

        Any shape.
        """
    def ceil_(input) -> Tensor:
        """In-place version of ceil."""
    def cholesky(input, upper: _bool = False, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """linalg.cholesky in its older spelling."""
    def cholesky_inverse(input, upper: _bool = False, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """A^-1, from A's Cholesky factor (L, or U with upper=True)."""
    def cholesky_solve(input, input2: Tensor, upper: _bool = False, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """X with A X = input, from A's Cholesky factor input2 (L, or U with upper=True)."""
    def chunk(input, chunks: _int, dim: _int = 0) -> tuple[Tensor, ...]:
        """Views: at most `chunks` pieces of equal size along dim (the last may be smaller); RuntimeError for
        none.
        """
    def clamp(input, min: Tensor | _int | _float | _complex | None = None, max: Tensor | _int | _float | _complex | None = None, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """input between min and max, numbers or tensors that broadcast; where min > max, max. RuntimeError for
        neither.

        Shapes broadcast, and dtypes are promoted.
        """
    def clamp_(input, min: Tensor | _int | _float | _complex | None = None, max: Tensor | _int | _float | _complex | None = None) -> Tensor:
        """In-place version of clamp."""
    def clamp_max(input, max: Tensor | _int | _float | _complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """input, at most max.

        Shapes broadcast, and dtypes are promoted.
        """
    def clamp_max_(input, max: Tensor | _int | _float | _complex) -> Tensor:
        """In-place version of clamp_max."""
    def clamp_min(input, min: Tensor | _int | _float | _complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """input, at least min.

        Shapes broadcast, and dtypes are promoted.
        """
    def clamp_min_(input, min: Tensor | _int | _float | _complex) -> Tensor:
        """In-place version of clamp_min."""
    def clip(input, min: Tensor | _int | _float | _complex | None = None, max: Tensor | _int | _float | _complex | None = None, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """input between min and max, numbers or tensors that broadcast; where min > max, max. RuntimeError for
        neither.

        Shapes broadcast, and dtypes are promoted.
        """
    def clip_(input, min: Tensor | _int | _float | _complex | None = None, max: Tensor | _int | _float | _complex | None = None) -> Tensor:
        """In-place version of clamp."""
    def clone(input, *, memory_format: MemoryFormat | None = None) -> Tensor:
        """A copy with its own memory."""
    def combinations(input, r: _int = 2, with_replacement: _bool = False) -> Tensor:
        """All choices of r elements of a vector, in the vector's order, as rows."""
    def conj(input) -> Tensor:
        """The complex conjugate, as a view that is conjugated when it is read; a real tensor itself."""
    def conj_physical(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The complex conjugate, written out; real numbers as they are."""
    def conj_physical_(input) -> Tensor:
        """In-place version of conj_physical."""
    def copysign(input, other: Tensor | _int | _float | _complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The size of input with the sign of other.

        Shapes broadcast, and dtypes are promoted. Integers give the default floating dtype.
        """
    def copysign_(input, other: Tensor | _int | _float | _complex) -> Tensor:
        """In-place version of copysign."""
    def corrcoef(input) -> Tensor:
        """The correlation of variables (rows): their covariance over their standard deviations."""
    def cos(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The cosine of radians.

        Any shape. Integers give the default floating dtype.
        """
    def cos_(input) -> Tensor:
        """In-place version of cos."""
    def cosh(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The hyperbolic cosine.

        Any shape. Integers give the default floating dtype.
        """
    def cosh_(input) -> Tensor:
        """In-place version of cosh."""
    def count_nonzero(input, dim: _int | Sequence[_int] | None = None) -> Tensor:
        """The number of elements that are not 0."""
    def cov(input, *, correction: _int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None) -> Tensor:
        """The covariance of variables (rows) over observations (columns).

        fweights: how often each observation occurs, int.  aweights: its relative weight.
        """
    def cross(input, other: Tensor, dim: _int | None = None, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """linalg.cross; without dim, along the first dim of size 3."""
    def cummax(input, dim: _int, *, out: Tensor | Sequence[Tensor] | None = None) -> _cummax_result:
        """The largest of the elements up to each one along dim, and where it is."""
    def cummin(input, dim: _int, *, out: Tensor | Sequence[Tensor] | None = None) -> _cummin_result:
        """The smallest of the elements up to each one along dim, and where it is."""
    def cumprod(input, dim: _int, *, dtype: _dtype | None = None, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The products of the elements up to each one along dim."""
    def cumprod_(input, dim: _int, *, dtype: _dtype | None = None) -> Tensor:
        """In-place version of cumprod."""
    def cumsum(input, dim: _int, *, dtype: _dtype | None = None, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The sums of the elements up to each one along dim; integers are added in int64."""
    def cumsum_(input, dim: _int, *, dtype: _dtype | None = None) -> Tensor:
        """In-place version of cumsum."""
    def deg2rad(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """Degrees as radians.

        Any shape. Integers give the default floating dtype.
        """
    def deg2rad_(input) -> Tensor:
        """In-place version of deg2rad."""
    def det(input) -> Tensor:
        """linalg.det in its older spelling."""
    def diag(input, diagonal: _int = 0, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """Of a vector, the matrix with it as a diagonal; of a matrix, a copy of its diagonal."""
    def diag_embed(input, offset: _int = 0, dim1: _int = -2, dim2: _int = -1) -> Tensor:
        """input's last dim as the diagonal of matrices that lie in dim1 and dim2 of the result."""
    def diagflat(input, offset: _int = 0) -> Tensor:
        """The matrix with input's elements as a diagonal."""
    def diagonal(input, offset: _int = 0, dim1: _int = 0, dim2: _int = 1) -> Tensor:
        """A diagonal of each matrix over dims dim1 and dim2, as a new last dim."""
    def diagonal_scatter(input, src: Tensor, offset: _int = 0, dim1: _int = 0, dim2: _int = 1) -> Tensor:
        """input with its diagonal replaced by src."""
    def diff(input, n: _int = 1, dim: _int = -1, prepend: Tensor | None = None, append: Tensor | None = None, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The n-th differences of neighbours along dim, with tensors put before and behind first."""
    def digamma(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The derivative of lgamma.

        Any shape. Integers give the default floating dtype.
        """
    def digamma_(input) -> Tensor:
        """In-place version of digamma."""
    def dist(input, other: Tensor, p: _int | _float | _complex = 2) -> Tensor:
        """The norm of input - other."""
    def div(input, other: Tensor | _int | _float | _complex, *, rounding_mode: str | None = None, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """input / other; rounding_mode "trunc" or "floor" rounds the quotient."""
    def div_(input, other: Tensor | _int | _float | _complex, *, rounding_mode: str | None = None) -> Tensor:
        """In-place version of div."""
    def divide(input, other: Tensor | _int | _float | _complex, *, rounding_mode: str | None = None, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """input / other; rounding_mode "trunc" or "floor" rounds the quotient."""
    def divide_(input, other: Tensor | _int | _float | _complex, *, rounding_mode: str | None = None) -> Tensor:
        """In-place version of div."""
    def dot(input, tensor: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The sum of products of two vectors of one size and dtype: (n,) and (n,) -> ()."""
    def dsplit(input, indices_or_sections: _int | Sequence[_int] | Tensor) -> tuple[Tensor, ...]:
        """Pieces along dim 2."""
    def eq(input, other: Tensor | _int | _float | _complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """Whether input equals other.

        Shapes broadcast, and dtypes are promoted. The result is bool.
        """
    def eq_(input, other: Tensor | _int | _float | _complex) -> Tensor:
        """In-place version of eq."""
    def equal(input, other: Tensor) -> _bool:
        """Whether shapes and all elements are equal."""
    def erf(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The error function.

        Any shape. Integers give the default floating dtype.
        """
    def erf_(input) -> Tensor:
        """In-place version of erf."""
    def erfc(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """1 - erf(input).

        Any shape. Integers give the default floating dtype.
        """
    def erfc_(input) -> Tensor:
        """In-place version of erfc."""
    def erfinv(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The inverse of the error function.

        Any shape. Integers give the default floating dtype.
        """
    def erfinv_(input) -> Tensor:
        """In-place version of erfinv."""
    def exp(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """e to the power of input.

        Any shape. Integers give the default floating dtype.
        """
    def exp2(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """2 to the power of input.

        Any shape. Integers give the default floating dtype.
        """
    def exp2_(input) -> Tensor:
        """In-place version of exp2."""
    def exp_(input) -> Tensor:
        """In-place version of exp."""
    @overload
    def expand(input, *size: _int, implicit: _bool = False) -> Tensor:
        """Dims of size 1 repeated without a copy; -1 leaves a size as it is."""
    @overload
    def expand(input, size: Sequence[_int], *, implicit: _bool = False) -> Tensor:
        """Dims of size 1 repeated without a copy; -1 leaves a size as it is."""
    def expand_as(input, other: Tensor) -> Tensor:
        """expand(other.size())."""
    def expm1(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """exp(input) - 1, exact near 0.

        Any shape. Integers give the default floating dtype.
        """
    def expm1_(input) -> Tensor:
        """In-place version of expm1."""
    def exponential_(input, lambd: _float = 1.0, *, generator: Generator | None = None) -> Tensor:
        """In-place version of exponential."""
    def fill_diagonal_(input, fill_value: _int | _float | _complex, wrap: _bool = False) -> Tensor:
        """A number written where all coordinates are equal; if `wrap`, to each block of a tall matrix."""
    def fix(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The integer part.

        Any shape.
        """
    def fix_(input) -> Tensor:
        """In-place version of trunc."""
    def flatten(input, start_dim: _int = 0, end_dim: _int = -1) -> Tensor:
        """Dims start_dim to end_dim as one: (a, b, c) and 1, -1 give (a, b * c); a view where one exists, else a
        copy.
        """
    @overload
    def flip(input, *dims: _int) -> Tensor:
        """The order of the elements along each of dims reversed."""
    @overload
    def flip(input, dims: Sequence[_int]) -> Tensor:
        """The order of the elements along each of dims reversed."""
    def fliplr(input) -> Tensor:
        """The columns in reverse order."""
    def flipud(input) -> Tensor:
        """The rows in reverse order."""
    def float_power(input, exponent: Tensor | _int | _float | _complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """input to the power of exponent, in double precision.

        Shapes broadcast, and dtypes are promoted.
        """
    def float_power_(input, exponent: Tensor | _int | _float | _complex) -> Tensor:
        """In-place version of float_power."""
    def floor(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The greatest integer not above.

        Any shape.
        """
    def floor_(input) -> Tensor:
        """In-place version of floor."""
    def floor_divide(input, other: Tensor | _int | _float | _complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The quotient rounded towards minus infinity.

        Shapes broadcast, and dtypes are promoted.
        """
    def floor_divide_(input, other: Tensor | _int | _float | _complex) -> Tensor:
        """In-place version of floor_divide."""
    def fmax(input, other: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The larger of two; a nan gives way to a number.

        Shapes broadcast, and dtypes are promoted.
        """
    def fmin(input, other: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The smaller of two; a nan gives way to a number.

        Shapes broadcast, and dtypes are promoted.
        """
    def fmod(input, other: Tensor | _int | _float | _complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The remainder with the sign of the dividend, as C's fmod.

        Shapes broadcast, and dtypes are promoted.
        """
    def fmod_(input, other: Tensor | _int | _float | _complex) -> Tensor:
        """In-place version of fmod."""
    def frac(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """input - trunc(input).

        Any shape.
        """
    def frac_(input) -> Tensor:
        """In-place version of frac."""
    def frexp(input, *, out: Tensor | Sequence[Tensor] | None = None) -> _frexp_result:
        """(mantissa, exponent) with input = mantissa * 2 ** exponent and 0.5 <= |mantissa| < 1."""
    def gather(input, dim: _int, index: Tensor, *, sparse_grad: _bool = False, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """out[.., i, ..] = input[.., index[.., i, ..], ..] along dim: of the shape of the index (int64 or int32).

        Sizes of the index are at most the input's in the other dims; nothing broadcasts. RuntimeError for these,
        and for an index outside [0, size).
        """
    def gcd(input, other: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The greatest common divisor.

        Shapes broadcast, and dtypes are promoted.
        """
    def gcd_(input, other: Tensor) -> Tensor:
        """In-place version of gcd."""
    def ge(input, other: Tensor | _int | _float | _complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """Whether input is at least other.

        Shapes broadcast, and dtypes are promoted. The result is bool.
        """
    def ge_(input, other: Tensor | _int | _float | _complex) -> Tensor:
        """In-place version of ge."""
    def geometric_(input, p: _float, *, generator: Generator | None = None) -> Tensor:
        """In-place version of geometric."""
    def geqrf(input, *, out: Tensor | Sequence[Tensor] | None = None) -> _geqrf_result:
        """(a, tau): R above and the reflections below the diagonal, as LAPACK stores a QR decomposition."""
    def ger(input, vec2: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """All products of two vectors: (n), (m) -> (n, m)."""
    def greater(input, other: Tensor | _int | _float | _complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """Whether input is above other.

        Shapes broadcast, and dtypes are promoted. The result is bool.
        """
    def greater_(input, other: Tensor | _int | _float | _complex) -> Tensor:
        """In-place version of gt."""
    def greater_equal(input, other: Tensor | _int | _float | _complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """Whether input is at least other.

        Shapes broadcast, and dtypes are promoted. The result is bool.
        """
    def greater_equal_(input, other: Tensor | _int | _float | _complex) -> Tensor:
        """In-place version of ge."""
    def gt(input, other: Tensor | _int | _float | _complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """Whether input is above other.

        Shapes broadcast, and dtypes are promoted. The result is bool.
        """
    def gt_(input, other: Tensor | _int | _float | _complex) -> Tensor:
        """In-place version of gt."""
    def hardshrink(input, lambd: _int | _float | _complex = 0.5) -> Tensor:
        """x, 0 where |x| <= lambd.

        Any shape.
        """
    def hash_tensor(input, dim: _int | Sequence[_int] | None = (), *, keepdim: _bool = False, mode: _int = 0, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The bits of all elements, as float64 or int64, combined by xor: uint64."""
    def heaviside(input, values: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """0 below 0, `values` at 0, 1 above.

        Shapes broadcast, and dtypes are promoted.
        """
    def heaviside_(input, values: Tensor) -> Tensor:
        """In-place version of heaviside."""
    def histc(input, bins: _int = 100, min: _int | _float | _complex = 0, max: _int | _float | _complex = 0, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """How many elements fall into each of `bins` equal intervals between min and max.

        min = max takes the smallest and largest element; elements outside are left out.
        """
    def histogram(input, bins: _int | Tensor, *, range: Sequence[_float] | None = None, weight: Tensor | None = None, density: _bool = False, out: Tensor | Sequence[Tensor] | None = None) -> _histogram_result:
        """(hist, bin_edges) of all elements.

        bins: the number of bins of equal width over `range` (that of the data), or a tensor of edges.
        """
    def hsplit(input, indices_or_sections: _int | Sequence[_int] | Tensor) -> tuple[Tensor, ...]:
        """Pieces along dim 1 (dim 0 of vectors)."""
    def hypot(input, other: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """sqrt(input ** 2 + other ** 2) without overflow.

        Shapes broadcast, and dtypes are promoted.
        """
    def hypot_(input, other: Tensor) -> Tensor:
        """In-place version of hypot."""
    def i0(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The modified Bessel function of order 0.

        Any shape. Integers give the default floating dtype.
        """
    def i0_(input) -> Tensor:
        """In-place version of i0."""
    def igamma(input, other: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The lower regularised incomplete gamma function P(input, other).

        Shapes broadcast, and dtypes are promoted.
        """
    def igamma_(input, other: Tensor) -> Tensor:
        """In-place version of igamma."""
    def igammac(input, other: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The upper regularised incomplete gamma function Q(input, other).

        Shapes broadcast, and dtypes are promoted.
        """
    def igammac_(input, other: Tensor) -> Tensor:
        """In-place version of igammac."""
    def index_add(input, dim: _int, index: Tensor, source: Tensor, *, alpha: _int | _float | _complex = 1, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """input with alpha * source's slices added to the slices at `index` (int vector) along dim. A copy;
        RuntimeError outside.
        """
    def index_add_(input, dim: _int, index: Tensor, source: Tensor, *, alpha: _int | _float | _complex = 1) -> Tensor:
        """In-place version of index_add."""
    def index_copy(input, dim: _int, index: Tensor, source: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """input with the slices at `index` along dim replaced by source's slices."""
    def index_copy_(input, dim: _int, index: Tensor, source: Tensor) -> Tensor:
        """In-place version of index_copy."""
    def index_fill(input, dim: _int, index: Tensor, value: Tensor | _int | _float | _complex) -> Tensor:
        """input with the slices at `index` along dim filled with one number (or 0-d tensor)."""
    def index_fill_(input, dim: _int, index: Tensor, value: Tensor | _int | _float | _complex) -> Tensor:
        """In-place version of index_fill."""
    def index_put(input, indices: Sequence[Tensor | None], values: Tensor, accumulate: _bool = False) -> Tensor:
        """input with input[indices] = values; accumulate adds, repeated positions too."""
    def index_put_(input, indices: Sequence[Tensor | None], values: Tensor, accumulate: _bool = False) -> Tensor:
        """In-place version of index_put."""
    def index_reduce(input, dim: _int, index: Tensor, source: Tensor, reduce: str, *, include_self: _bool = True, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """input with source's slices combined in at `index`; reduce: prod, mean, amax or amin."""
    def index_reduce_(input, dim: _int, index: Tensor, source: Tensor, reduce: str, *, include_self: _bool = True) -> Tensor:
        """In-place version of index_reduce."""
    def index_select(input, dim: _int, index: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The slices of input at the positions `index` (int vector) along dim: a copy, dim of the index's size.
        IndexError outside.
        """
    def inner(input, other: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The sum of products over the last dims."""
    def inverse(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """linalg.inv in its older spelling."""
    def isclose(input, other: Tensor, rtol: _float = 1e-05, atol: _float = 1e-08, equal_nan: _bool = False) -> Tensor:
        """|input - other| <= atol + rtol |other|, elementwise, as bool; infinities equal themselves, nan with
        equal_nan.
        """
    def isfinite(input) -> Tensor:
        """Whether the element is neither infinite nor nan.

        Any shape. The result is bool.
        """
    def isinf(input) -> Tensor:
        """Whether the element is infinite.

        Any shape. The result is bool.
        """
    def isnan(input) -> Tensor:
        """Whether the element is nan.

        Any shape. The result is bool.
        """
    def isneginf(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """Whether the element is -inf.

        Any shape. The result is bool.
        """
    def isposinf(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """Whether the element is +inf.

        Any shape. The result is bool.
        """
    def isreal(input) -> Tensor:
        """Whether the imaginary part is 0.

        Any shape. The result is bool.
        """
    def istft(input, n_fft: _int, hop_length: _int | None = None, win_length: _int | None = None, window: Tensor | None = None, center: _bool = True, normalized: _bool = False, onesided: _bool | None = None, length: _int | None = None, return_complex: _bool = False) -> Tensor:
        """The signal (..., time) of spectra (..., frequencies, frames), by least squares: the inverse of stft."""
    def kron(input, other: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """Kronecker's product: every element of input times the whole of other, block by block."""
    def kthvalue(input, k: _int, dim: _int = -1, keepdim: _bool = False, *, out: Tensor | Sequence[Tensor] | None = None) -> _kthvalue_result:
        """(the k-th smallest element along dim, from 1; where it is: int64), without the dim unless keepdim."""
    def lcm(input, other: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The least common multiple.

        Shapes broadcast, and dtypes are promoted.
        """
    def lcm_(input, other: Tensor) -> Tensor:
        """In-place version of lcm."""
    def ldexp(input, other: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """input * 2 ** other; in three steps where other is whole, so that only the result may overflow."""
    def ldexp_(input, other: Tensor) -> Tensor:
        """In-place version of ldexp."""
    def le(input, other: Tensor | _int | _float | _complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """Whether input is at most other.

        Shapes broadcast, and dtypes are promoted. The result is bool.
        """
    def le_(input, other: Tensor | _int | _float | _complex) -> Tensor:
        """In-place version of le."""
    def lerp(input, end: Tensor, weight: Tensor | _int | _float | _complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """input + weight * (end - input), exact at both ends.

        Shapes broadcast, and dtypes are promoted.
        """
    def lerp_(input, end: Tensor, weight: Tensor | _int | _float | _complex) -> Tensor:
        """In-place version of lerp."""
    def less(input, other: Tensor | _int | _float | _complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """Whether input is below other.

        Shapes broadcast, and dtypes are promoted. The result is bool.
        """
    def less_(input, other: Tensor | _int | _float | _complex) -> Tensor:
        """In-place version of lt."""
    def less_equal(input, other: Tensor | _int | _float | _complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """Whether input is at most other.

        Shapes broadcast, and dtypes are promoted. The result is bool.
        """
    def less_equal_(input, other: Tensor | _int | _float | _complex) -> Tensor:
        """In-place version of le."""
    def lgamma(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The logarithm of |gamma(input)|.

        Any shape. Integers give the default floating dtype.
        """
    def lgamma_(input) -> Tensor:
        """In-place version of lgamma."""
    def log(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The natural logarithm.

        Any shape. Integers give the default floating dtype.
        """
    def log10(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The logarithm to base 10.

        Any shape. Integers give the default floating dtype.
        """
    def log10_(input) -> Tensor:
        """In-place version of log10."""
    def log1p(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """log(1 + input), exact near 0.

        Any shape. Integers give the default floating dtype.
        """
    def log1p_(input) -> Tensor:
        """In-place version of log1p."""
    def log2(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The logarithm to base 2.

        Any shape. Integers give the default floating dtype.
        """
    def log2_(input) -> Tensor:
        """In-place version of log2."""
    def log_(input) -> Tensor:
        """In-place version of log."""
    def log_normal_(input, mean: _float = 1.0, std: _float = 2.0, *, generator: Generator | None = None) -> Tensor:
        """In-place version of log_normal."""
    def log_softmax(input, dim: _int, dtype: _dtype | None = None, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """log(softmax(input)) along dim, without overflow."""
    def logaddexp(input, other: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """log(exp(input) + exp(other)) without overflow.

        Shapes broadcast, and dtypes are promoted. Integers give the default floating dtype.
        """
    def logaddexp2(input, other: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """log2(2 ** input + 2 ** other) without overflow.

        Shapes broadcast, and dtypes are promoted. Integers give the default floating dtype.
        """
    def logcumsumexp(input, dim: _int, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """log of the running sums of exp(input) along dim, without overflow."""
    def logdet(input) -> Tensor:
        """log det(A) (*) of square matrices (*, n, n); -inf of a singular one, nan for a negative determinant."""
    def logical_and(input, other: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """Whether both are nonzero.

        Shapes broadcast, and dtypes are promoted. The result is bool.
        """
    def logical_and_(input, other: Tensor) -> Tensor:
        """In-place version of logical_and."""
    def logical_not(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """Whether input is zero.

        Any shape. The result is bool.
        """
    def logical_not_(input) -> Tensor:
        """In-place version of logical_not."""
    def logical_or(input, other: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """Whether either is nonzero.

        Shapes broadcast, and dtypes are promoted. The result is bool.
        """
    def logical_or_(input, other: Tensor) -> Tensor:
        """In-place version of logical_or."""
    def logical_xor(input, other: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """Whether exactly one is nonzero.

        Shapes broadcast, and dtypes are promoted. The result is bool.
        """
    def logical_xor_(input, other: Tensor) -> Tensor:
        """In-place version of logical_xor."""
    def logit(input, eps: _float | None = None, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """log(x / (1 - x)); with eps, x is first clamped to [eps, 1 - eps].

        Any shape. Integers give the default floating dtype.
        """
    def logit_(input, eps: _float | None = None) -> Tensor:
        """In-place version of logit."""
    def logsumexp(input, dim: _int | Sequence[_int], keepdim: _bool = False, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """log(sum(exp(input))) over dims, without overflow."""
    def lt(input, other: Tensor | _int | _float | _complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """Whether input is below other.

        Shapes broadcast, and dtypes are promoted. The result is bool.
        """
    def lt_(input, other: Tensor | _int | _float | _complex) -> Tensor:
        """In-place version of lt."""
    def lu(A, pivot: _bool = True, get_infos: _bool = False, *, out: Tensor | Sequence[Tensor] | None = None) -> Any:
        """(LU, pivots), and infos with get_infos: linalg.lu_factor_ex in its older spelling."""
    def lu_solve(input, LU_data: Tensor, LU_pivots: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """linalg.lu_solve with its operands in the older order."""
    def masked_fill(input, mask: Tensor, value: Tensor | _int | _float | _complex) -> Tensor:
        """A copy of input (broadcast with mask, bool) with one number (or 0-d tensor) where mask is true."""
    def masked_fill_(input, mask: Tensor, value: Tensor | _int | _float | _complex) -> Tensor:
        """In-place version of masked_fill."""
    def masked_scatter(input, mask: Tensor, source: Tensor) -> Tensor:
        """input (broadcast with mask) with source's elements, in order, where mask is true."""
    def masked_scatter_(input, mask: Tensor, source: Tensor) -> Tensor:
        """In-place version of masked_scatter."""
    def masked_select(input, mask: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The elements of input (broadcast with mask, bool) where mask is true, as a vector: a copy in row-major
        order.
        """
    def matmul(input, other: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The matrix product: (*, n, k) @ (*, k, m) -> (*, n, m), batch dims broadcast.

        A vector counts as a row in front and as a column behind, and the dim disappears: two vectors give a
        number. RuntimeError for 0 dims, sizes that do not fit, or two dtypes.
        """
    def matrix_exp(input) -> Tensor:
        """The matrix exponential of (*, n, n): Taylor's series of a scaled matrix, then repeated squaring."""
    def matrix_power(input, n: _int, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """linalg.matrix_power in its older spelling."""
    @overload
    def max(input, dim: None = None, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The largest element, or (values, indices) along dim."""
    @overload
    def max(input, other: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The largest element, or (values, indices) along dim."""
    @overload
    def max(input, dim: _int, keepdim: _bool = False, *, out: Tensor | Sequence[Tensor] | None = None) -> _max_result:
        """The largest element, or (values, indices) along dim."""
    def maximum(input, other: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The larger of two; nan if either is.

        Shapes broadcast, and dtypes are promoted.
        """
    def maximum_(input, other: Tensor) -> Tensor:
        """In-place version of maximum."""
    def mean(input, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, dtype: _dtype | None = None, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The arithmetic mean.

        dim: one or several, by default all; with keepdim they stay, with size 1. dtype: what the input is converted to first.
        """
    @overload
    def median(input, dim: None = None, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The (lower) median of all elements; with dim, (values, indices) along it. nan wins."""
    @overload
    def median(input, dim: _int, keepdim: _bool = False, *, out: Tensor | Sequence[Tensor] | None = None) -> _median_result:
        """The (lower) median of all elements; with dim, (values, indices) along it. nan wins."""
    @overload
    def min(input, dim: None = None, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The smallest element, or (values, indices) along dim."""
    @overload
    def min(input, other: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The smallest element, or (values, indices) along dim."""
    @overload
    def min(input, dim: _int, keepdim: _bool = False, *, out: Tensor | Sequence[Tensor] | None = None) -> _min_result:
        """The smallest element, or (values, indices) along dim."""
    def minimum(input, other: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The smaller of two; nan if either is.

        Shapes broadcast, and dtypes are promoted.
        """
    def minimum_(input, other: Tensor) -> Tensor:
        """In-place version of minimum."""
    def mm(input, mat2: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The product of two matrices: (n, k) @ (k, m) -> (n, m); both of one dtype, nothing broadcasts
        (RuntimeError).
        """
    def mode(input, dim: _int = -1, keepdim: _bool = False, *, out: Tensor | Sequence[Tensor] | None = None) -> _mode_result:
        """The most frequent element along dim (the smallest of several), and where it last is."""
    def moveaxis(input, source: _int | Sequence[_int], destination: _int | Sequence[_int]) -> Tensor:
        """Dims moved to other places, the rest in order."""
    def movedim(input, source: _int | Sequence[_int], destination: _int | Sequence[_int]) -> Tensor:
        """Dims moved to other places, the rest in order."""
    def msort(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The elements in order along the first dim."""
    def mul(input, other: Tensor | _int | _float | _complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """input * other.

        Shapes broadcast, and dtypes are promoted.
        """
    def mul_(input, other: Tensor | _int | _float | _complex) -> Tensor:
        """In-place version of mul."""
    def multinomial(input, num_samples: _int, replacement: _bool = False, *, generator: Generator | None = None, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """num_samples indices (int64) for each row of weights in input, (n,) or (m, n), drawn by them.

        RuntimeError for negative or infinite weights, rows that sum to 0, and more samples than weights without
        replacement.
        """
    def multiply(input, other: Tensor | _int | _float | _complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """input * other.

        Shapes broadcast, and dtypes are promoted.
        """
    def multiply_(input, other: Tensor | _int | _float | _complex) -> Tensor:
        """In-place version of mul."""
    def mv(input, vec: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """Matrix times vector: (n, m) and (m,) -> (n,); both of one dtype (RuntimeError)."""
    def mvlgamma(input, p: _int, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The logarithm of the multivariate gamma function of dimension p.

        Any shape. Integers give the default floating dtype.
        """
    def mvlgamma_(input, p: _int) -> Tensor:
        """In-place version of mvlgamma."""
    def nan_to_num(input, nan: _float | None = None, posinf: _float | None = None, neginf: _float | None = None, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """nan and infinities as finite numbers (0, the largest and the smallest by default)."""
    def nan_to_num_(input, nan: _float | None = None, posinf: _float | None = None, neginf: _float | None = None) -> Tensor:
        """In-place version of nan_to_num."""
    def nanmean(input, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, dtype: _dtype | None = None, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The mean of what is not nan."""
    @overload
    def nanmedian(input, dim: None = None, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The median of what is not nan; with dim, (values, indices) along it."""
    @overload
    def nanmedian(input, dim: _int, keepdim: _bool = False, *, out: Tensor | Sequence[Tensor] | None = None) -> _nanmedian_result:
        """The median of what is not nan; with dim, (values, indices) along it."""
    def nanquantile(input, q: Tensor | _float, dim: _int | None = None, keepdim: _bool = False, *, interpolation: str = 'linear', out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """quantile of what is not nan."""
    def nansum(input, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, dtype: _dtype | None = None, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The sum of what is not nan.

        dim: one or several, by default all; with keepdim they stay, with size 1. dtype: what the input is converted to first.
        """
    def narrow(input, dim: _int, start: _int | Tensor, length: _int) -> Tensor:
        """A view of `length` elements from `start` on, along dim; RuntimeError where these are not there."""
    def narrow_copy(input, dim: _int, start: _int, length: _int, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """narrow, copied."""
    def ne(input, other: Tensor | _int | _float | _complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """Whether input differs from other.

        Shapes broadcast, and dtypes are promoted. The result is bool.
        """
    def ne_(input, other: Tensor | _int | _float | _complex) -> Tensor:
        """In-place version of ne."""
    def neg(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """-input.

        Any shape.
        """
    def neg_(input) -> Tensor:
        """In-place version of neg."""
    def negative(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """-input.

        Any shape.
        """
    def negative_(input) -> Tensor:
        """In-place version of neg."""
    @overload
    def new_empty(input, *size: _int, dtype: _dtype | None = None, layout: StorageLayout | None = None, device: str | _int | _device | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False) -> Tensor:
        """Uninitialised memory of this tensor's dtype."""
    @overload
    def new_empty(input, size: Sequence[_int], *, dtype: _dtype | None = None, layout: StorageLayout | None = None, device: str | _int | _device | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False) -> Tensor:
        """Uninitialised memory of this tensor's dtype."""
    def new_empty_strided(input, size: _int | Sequence[_int], stride: _int | Sequence[_int], *, dtype: _dtype | None = None, layout: StorageLayout | None = None, device: str | _int | _device | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False) -> Tensor:
        """Uninitialised memory of this tensor's dtype with the given strides."""
    def new_full(input, size: _int | Sequence[_int], fill_value: _int | _float | _complex, *, dtype: _dtype | None = None, layout: StorageLayout | None = None, device: str | _int | _device | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False) -> Tensor:
        """One number, in this tensor's dtype."""
    @overload
    def new_ones(input, *size: _int, dtype: _dtype | None = None, layout: StorageLayout | None = None, device: str | _int | _device | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False) -> Tensor:
        """Ones of this tensor's dtype."""
    @overload
    def new_ones(input, size: Sequence[_int], *, dtype: _dtype | None = None, layout: StorageLayout | None = None, device: str | _int | _device | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False) -> Tensor:
        """Ones of this tensor's dtype."""
    @overload
    def new_zeros(input, *size: _int, dtype: _dtype | None = None, layout: StorageLayout | None = None, device: str | _int | _device | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False) -> Tensor:
        """Zeros of this tensor's dtype."""
    @overload
    def new_zeros(input, size: Sequence[_int], *, dtype: _dtype | None = None, layout: StorageLayout | None = None, device: str | _int | _device | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False) -> Tensor:
        """Zeros of this tensor's dtype."""
    def nextafter(input, other: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The next floating-point number from input towards other.

        Shapes broadcast, and dtypes are promoted.
        """
    def nextafter_(input, other: Tensor) -> Tensor:
        """In-place version of nextafter."""
    @overload
    def nonzero(input, *, as_tuple: Literal[False] = False, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The positions of the nonzero elements: int64 (count, dims), in row-major order; with as_tuple an index
        per dim.
        """
    @overload
    def nonzero(input, *, as_tuple: Literal[True], out: Tensor | Sequence[Tensor] | None = None) -> tuple[Tensor, ...]:
        """The positions of the nonzero elements: int64 (count, dims), in row-major order; with as_tuple an index
        per dim.
        """
    @overload
    def nonzero(input, *, as_tuple: _bool = False, out: Tensor | Sequence[Tensor] | None = None) -> Any:
        """The positions of the nonzero elements: int64 (count, dims), in row-major order; with as_tuple an index
        per dim.
        """
    def nonzero_static(input, *, size: _int, fill_value: _int = -1, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """nonzero with exactly `size` rows: cut off, or filled up with fill_value."""
    def norm(input, p: _int | _float | _complex | str | None = 'fro', dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, dtype: _dtype | None = None, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The vector norm of order p over dims (Frobenius: 2)."""
    def normal_(input, mean: _float = 0.0, std: _float = 1.0, *, generator: Generator | None = None) -> Tensor:
        """In-place version of normal_fill."""
    def not_equal(input, other: Tensor | _int | _float | _complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """Whether input differs from other.

        Shapes broadcast, and dtypes are promoted. The result is bool.
        """
    def not_equal_(input, other: Tensor | _int | _float | _complex) -> Tensor:
        """In-place version of ne."""
    def orgqr(input, tau: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The first columns of the product of the reflections that (input, tau) hold, as geqrf gives them."""
    def ormqr(input, tau: Tensor, other: Tensor, left: _bool = True, transpose: _bool = False, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """Q @ other (Q^H @ other with transpose; from the right without left), for geqrf's reflections."""
    def outer(input, vec2: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """All products of two vectors: (n), (m) -> (n, m)."""
    @overload
    def permute(input, *dims: _int) -> Tensor:
        """The dims in another order."""
    @overload
    def permute(input, dims: Sequence[_int]) -> Tensor:
        """The dims in another order."""
    def pinverse(input, rcond: _float = 1e-15) -> Tensor:
        """linalg.pinv in its older spelling."""
    def polygamma(input, n: _int, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The n-th derivative of digamma.

        Any shape. Integers give the default floating dtype.
        """
    def polygamma_(input, n: _int) -> Tensor:
        """In-place version of _polygamma."""
    def positive(input) -> Tensor:
        """input itself."""
    def pow(input, exponent: Tensor | _int | _float | _complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """input to the power of exponent.

        Shapes broadcast, and dtypes are promoted.
        """
    def pow_(input, exponent: Tensor | _int | _float | _complex) -> Tensor:
        """In-place version of pow."""
    def prelu(input, weight: Tensor) -> Tensor:
        """x above 0, else weight * x, with one weight, or one a channel (arXiv:1502.01852)."""
    def prod(input, dim: _int | None = None, keepdim: _bool = False, *, dtype: _dtype | None = None, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The product of all elements, or along one dim."""
    def put(input, index: Tensor, source: Tensor, accumulate: _bool = False) -> Tensor:
        """input, seen as flat, with source written (or added) at the positions `index`."""
    def put_(input, index: Tensor, source: Tensor, accumulate: _bool = False) -> Tensor:
        """In-place version of put."""
    def qr(input, some: _bool = True, *, out: Tensor | Sequence[Tensor] | None = None) -> _qr_result:
        """linalg.qr in its older spelling."""
    def quantile(input, q: Tensor | _float, dim: _int | None = None, keepdim: _bool = False, *, interpolation: str = 'linear', out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The values below which fractions q of the elements lie; nan where one is nan."""
    def rad2deg(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """Radians as degrees.

        Any shape. Integers give the default floating dtype.
        """
    def rad2deg_(input) -> Tensor:
        """In-place version of rad2deg."""
    def random_(input, from_: Any = None, to: Any = ..., *, generator: Generator | None = None) -> Tensor:
        """In-place version of random."""
    def ravel(input) -> Tensor:
        """All dims as one."""
    def reciprocal(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """1 / input.

        Any shape. Integers give the default floating dtype.
        """
    def reciprocal_(input) -> Tensor:
        """In-place version of reciprocal."""
    def relu(input, inplace: _bool = False) -> Tensor:
        """max(input, 0), nan kept; its gradient at 0 is 0.

        Any shape.
        """
    def relu_(input) -> Tensor:
        """In-place version of relu."""
    def remainder(input, other: Tensor | _int | _float | _complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The remainder with the sign of the divisor, as Python's %.

        Shapes broadcast, and dtypes are promoted.
        """
    def remainder_(input, other: Tensor | _int | _float | _complex) -> Tensor:
        """In-place version of remainder."""
    def renorm(input, p: _int | _float | _complex, dim: _int, maxnorm: _int | _float | _complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """input with each slice along dim scaled down so that its p-norm is at most maxnorm."""
    def renorm_(input, p: _int | _float | _complex, dim: _int, maxnorm: _int | _float | _complex) -> Tensor:
        """In-place version of renorm."""
    @overload
    def repeat(input, *repeats: _int) -> Tensor:
        """The tensor laid out repeats[i] times along each dim; more repeats than dims add dims."""
    @overload
    def repeat(input, repeats: Sequence[_int]) -> Tensor:
        """The tensor laid out repeats[i] times along each dim; more repeats than dims add dims."""
    def repeat_interleave(input, repeats: Tensor | _int, dim: _int | None = None, *, output_size: _int | None = None) -> Tensor:
        """Each element (or slice along dim) several times, one copy after the other.

        repeats: an int, or an int tensor with one number for each slice. With repeats alone, the
        positions repeated by it. dim None flattens input.
        """
    @overload
    def reshape(input, *shape: _int) -> Tensor:
        """The elements in row-major order in another shape: a view where one exists, else a copy.

        One size may be -1: what is left. RuntimeError where the sizes do not multiply to the number of elements.
        """
    @overload
    def reshape(input, shape: Sequence[_int]) -> Tensor:
        """The elements in row-major order in another shape: a view where one exists, else a copy.

        One size may be -1: what is left. RuntimeError where the sizes do not multiply to the number of elements.
        """
    def reshape_as(input, other: Tensor) -> Tensor:
        """reshape(other.size())."""
    def resolve_conj(input) -> Tensor:
        """A copy of a view that is conjugated when it is read; another tensor as it is."""
    def resolve_neg(input) -> Tensor:
        """A copy of a view that is negated when it is read; another tensor as it is."""
    def roll(input, shifts: _int | Sequence[_int], dims: _int | Sequence[_int] | None = ()) -> Tensor:
        """The elements moved on by shifts along dims, those that fall off entering at the start."""
    def rot90(input, k: _int = 1, dims: _int | Sequence[_int] = (0, 1)) -> Tensor:
        """Turned k times by 90 degrees in the plane of two dims."""
    def round(input, *, decimals: _int | None = None, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The nearest integer, halves to even; `decimals` digits after the point.

        Any shape.
        """
    def round_(input, *, decimals: _int | None = None) -> Tensor:
        """In-place version of round."""
    def rsqrt(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """1 / sqrt(input).

        Any shape. Integers give the default floating dtype.
        """
    def rsqrt_(input) -> Tensor:
        """In-place version of rsqrt."""
    def rsub(input, other: Tensor | _int | _float | _complex, *, alpha: _int | _float | _complex = 1) -> Tensor:
        """other - alpha * input.

        Shapes broadcast, and dtypes are promoted.
        """
    def scatter(input, dim: _int, index: Tensor, src: Tensor | _int | _float | _complex | None = None, value: _int | _float | _complex | None = None, *, reduce: str | None = None, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """input with src (or one number) written at [.., index[.., i, ..], ..] along dim.

        reduce: None writes; "add" and "multiply" combine with what is there.
        """
    def scatter_(input, dim: _int, index: Tensor, src: Tensor | _int | _float | _complex | None = None, value: _int | _float | _complex | None = None, *, reduce: str | None = None) -> Tensor:
        """In-place version of scatter."""
    def scatter_add(input, dim: _int, index: Tensor, src: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """input with src added at [.., index[.., i, ..], ..] along dim; index is int64, its sizes at most src's.
        A copy.
        """
    def scatter_add_(input, dim: _int, index: Tensor, src: Tensor) -> Tensor:
        """In-place version of scatter_add."""
    def scatter_reduce(input, dim: _int, index: Tensor, src: Tensor, reduce: str, *, include_self: _bool = True, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """input with src combined in along dim; reduce: "sum", "prod", "mean", "amax" or "amin".

        include_self: whether the elements of input that are written to take part.
        """
    def scatter_reduce_(input, dim: _int, index: Tensor, src: Tensor, reduce: str, *, include_self: _bool = True) -> Tensor:
        """In-place version of scatter_reduce."""
    def select(input, dim: _int, index: _int) -> Tensor:
        """One slice along dim; dim disappears."""
    def select_scatter(input, src: Tensor, dim: _int, index: _int) -> Tensor:
        """input with input.select(dim, index) replaced by src."""
    def selu(input, inplace: _bool = False) -> Tensor:
        """elu scaled so that unit variance is kept (arXiv:1706.02515).

        Any shape.
        """
    def selu_(input) -> Tensor:
        """In-place version of selu."""
    def sgn(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The sign; of a complex number, input / |input|.

        Any shape.
        """
    def sgn_(input) -> Tensor:
        """In-place version of sgn."""
    def sigmoid(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """1 / (1 + exp(-input)).

        Any shape. Integers give the default floating dtype.
        """
    def sigmoid_(input) -> Tensor:
        """In-place version of sigmoid."""
    def sign(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """-1, 0 or 1.

        Any shape.
        """
    def sign_(input) -> Tensor:
        """In-place version of sign."""
    def signbit(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """Whether the sign bit is set (of -0.0 too).

        Any shape. The result is bool.
        """
    def sin(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The sine of radians.

        Any shape. Integers give the default floating dtype.
        """
    def sin_(input) -> Tensor:
        """In-place version of sin."""
    def sinc(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """sin(pi x) / (pi x), 1 at 0.

        Any shape. Integers give the default floating dtype.
        """
    def sinc_(input) -> Tensor:
        """In-place version of sinc."""
    def sinh(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The hyperbolic sine.

        Any shape. Integers give the default floating dtype.
        """
    def sinh_(input) -> Tensor:
        """In-place version of sinh."""
    def slice_scatter(input, src: Tensor, dim: _int = 0, start: _int | None = None, end: _int | None = None, step: _int = 1, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """input with the elements start, start + step, ... before end along dim replaced by src."""
    def slogdet(input, *, out: Tensor | Sequence[Tensor] | None = None) -> _slogdet_result:
        """linalg.slogdet in its older spelling."""
    def softmax(input, dim: _int, dtype: _dtype | None = None, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """exp(input) / sum(exp(input)) along dim; `dtype` converts the input first."""
    def sort(input, dim: _int = -1, descending: _bool = False, stable: _bool | None = False, *, out: Tensor | Sequence[Tensor] | None = None) -> _sort_result:
        """(the elements in order along dim, where each was: int64), both of the input's shape; equal ones keep
        their order.
        """
    def split(input, split_size: _int | Sequence[_int], dim: _int = 0) -> tuple[Tensor, ...]:
        """Views: pieces of split_size along dim (the last may be smaller), or of a list of sizes, which sum to
        the dim's.
        """
    def split_with_sizes(input, split_sizes: _int | Sequence[_int], dim: _int = 0) -> tuple[Tensor, ...]:
        """Pieces of the given sizes along dim, as views."""
    def sqrt(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The square root.

        Any shape. Integers give the default floating dtype.
        """
    def sqrt_(input) -> Tensor:
        """In-place version of sqrt."""
    def square(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """input squared.

        Any shape.
        """
    def square_(input) -> Tensor:
        """In-place version of square."""
    @overload
    def squeeze(input, *dim: _int) -> Tensor:
        """Without dims of size 1 (only those named)."""
    @overload
    def squeeze(input, dim: Sequence[_int] | None = None) -> Tensor:
        """Without dims of size 1 (only those named)."""
    @overload
    def squeeze_(input, *dim: _int) -> Tensor:
        """In-place version of squeeze."""
    @overload
    def squeeze_(input, dim: Sequence[_int] | None = None) -> Tensor:
        """In-place version of squeeze."""
    def std(input, dim: _int | Sequence[_int] | _bool | None = None, unbiased: _bool | None = None, keepdim: _bool = False, *, correction: _int | _float | _complex | None = None, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The standard deviation: the square root of var."""
    def std_mean(input, dim: _int | Sequence[_int] | _bool | None = None, unbiased: _bool | None = None, keepdim: _bool = False, *, correction: _int | _float | _complex | None = None) -> tuple[Tensor, Tensor]:
        """(std, mean)."""
    def stft(input, n_fft: _int, hop_length: _int | None = None, win_length: _int | None = None, window: Tensor | None = None, center: _bool = True, pad_mode: str = 'reflect', normalized: _bool = False, onesided: _bool | None = None, return_complex: _bool | None = None, align_to_window: _bool | None = None) -> Tensor:
        """Spectra (..., frequencies, frames) of windows of a signal (..., time), hop_length apart.

        center: frames are centered at multiples of hop_length, the signal continued by pad_mode.
        normalized: spectra are divided by sqrt(n_fft).
        """
    def sub(input, other: Tensor | _int | _float | _complex, *, alpha: _int | _float | _complex = 1, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """input - alpha * other.

        Shapes broadcast, and dtypes are promoted.
        """
    def sub_(input, other: Tensor | _int | _float | _complex, *, alpha: _int | _float | _complex = 1) -> Tensor:
        """In-place version of sub."""
    def subtract(input, other: Tensor | _int | _float | _complex, *, alpha: _int | _float | _complex = 1, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """input - alpha * other.

        Shapes broadcast, and dtypes are promoted.
        """
    def subtract_(input, other: Tensor | _int | _float | _complex, *, alpha: _int | _float | _complex = 1) -> Tensor:
        """In-place version of sub."""
    def sum(input, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, dtype: _dtype | None = None, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The sum; integers are added up in int64.

        dim: one or several, by default all; with keepdim they stay, with size 1. dtype: what the input is converted to first.
        """
    @overload
    def sum_to_size(input, *size: _int) -> Tensor:
        """The sum over the dims in which a tensor of shape `size` would be broadcast to input's."""
    @overload
    def sum_to_size(input, size: Sequence[_int]) -> Tensor:
        """The sum over the dims in which a tensor of shape `size` would be broadcast to input's."""
    def svd(input, some: _bool = True, compute_uv: _bool = True, *, out: Tensor | Sequence[Tensor] | None = None) -> _svd_result:
        """(U, S, V) with input = U diag(S) V^H; zeros for U and V without compute_uv."""
    def swapaxes(input, dim0: _int, dim1: _int) -> Tensor:
        """Swap two dims."""
    def swapaxes_(input, dim0: _int, dim1: _int) -> Tensor:
        """In-place version of transpose."""
    def swapdims(input, dim0: _int, dim1: _int) -> Tensor:
        """Swap two dims."""
    def swapdims_(input, dim0: _int, dim1: _int) -> Tensor:
        """In-place version of transpose."""
    def t(input) -> Tensor:
        """The transpose of a matrix; vectors stay as they are."""
    def t_(input) -> Tensor:
        """In-place version of t."""
    def take(input, index: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The elements of input, seen as flat, at the positions `index` (int64), in the index's shape; IndexError
        outside.
        """
    def take_along_dim(input, indices: Tensor, dim: _int | None = None, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """gather with indices broadcast to input's other dims; dim None flattens input first."""
    def tan(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The tangent of radians.

        Any shape. Integers give the default floating dtype.
        """
    def tan_(input) -> Tensor:
        """In-place version of tan."""
    def tanh(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The hyperbolic tangent.

        Any shape. Integers give the default floating dtype.
        """
    def tanh_(input) -> Tensor:
        """In-place version of tanh."""
    def tensor_split(input, indices_or_sections: _int | Sequence[_int] | Tensor, dim: _int = 0) -> tuple[Tensor, ...]:
        """Pieces cut at indices, or a number of nearly equal pieces."""
    @overload
    def tile(input, *dims: _int) -> Tensor:
        """repeat, where fewer repeats than dims leave the first dims alone."""
    @overload
    def tile(input, dims: Sequence[_int]) -> Tensor:
        """repeat, where fewer repeats than dims leave the first dims alone."""
    def topk(input, k: _int, dim: _int = -1, largest: _bool = True, sorted: _bool = True, *, out: Tensor | Sequence[Tensor] | None = None) -> _topk_result:
        """(the k largest, or smallest, elements along dim, in order; where they are: int64), both with size k
        there.

        RuntimeError where k is more than the dim's size.
        """
    def trace(input) -> Tensor:
        """The sum of a matrix's diagonal."""
    def transpose(input, dim0: _int, dim1: _int) -> Tensor:
        """Swap two dims."""
    def transpose_(input, dim0: _int, dim1: _int) -> Tensor:
        """In-place version of transpose."""
    def triangular_solve(input, A: Tensor, upper: _bool = True, transpose: _bool = False, unitriangular: _bool = False, *, out: Tensor | Sequence[Tensor] | None = None) -> _triangular_solve_result:
        """(solution, a copy of A): linalg.solve_triangular in its older spelling."""
    def tril(input, diagonal: _int = 0, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The elements on and below a diagonal, zeros elsewhere."""
    def tril_(input, diagonal: _int = 0) -> Tensor:
        """In-place version of tril."""
    def triu(input, diagonal: _int = 0, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The elements on and above a diagonal, zeros elsewhere."""
    def triu_(input, diagonal: _int = 0) -> Tensor:
        """In-place version of triu."""
    def true_divide(input, other: Tensor | _int | _float | _complex, *, rounding_mode: str | None = None, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """input / other; rounding_mode "trunc" or "floor" rounds the quotient."""
    def true_divide_(input, other: Tensor | _int | _float | _complex, *, rounding_mode: str | None = None) -> Tensor:
        """In-place version of div."""
    def trunc(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The integer part.

        Any shape.
        """
    def trunc_(input) -> Tensor:
        """In-place version of trunc."""
    def type_as(input, other: Tensor) -> Tensor:
        """input in the dtype and on the device of other."""
    def unbind(input, dim: _int = 0) -> tuple[Tensor, ...]:
        """All slices along dim, as a tuple of views without that dim."""
    def unflatten(input, dim: _int, sizes: _int | Sequence[_int]) -> Tensor:
        """One dim cut into several; one of them may be -1."""
    def unfold(input, dimension: _int, size: _int, step: _int) -> Tensor:
        """All windows of `size` elements, `step` apart, along a dim, as a new last dim."""
    def uniform_(input, from_: _float = 0.0, to: _float = 1.0, *, generator: Generator | None = None) -> Tensor:
        """In-place version of uniform."""
    @overload
    def unique(input, sorted: _bool = True, return_inverse: Literal[False] = False, return_counts: Literal[False] = False, dim: _int | None = None) -> Tensor:
        """The different elements in order (slices, with dim), where each element went, and counts."""
    @overload
    def unique(input, sorted: _bool = True, return_counts: _bool = False, dim: _int | None = None, *, return_inverse: Literal[True]) -> tuple[Tensor, ...]:
        """The different elements in order (slices, with dim), where each element went, and counts."""
    @overload
    def unique(input, sorted: _bool = True, return_inverse: _bool = False, dim: _int | None = None, *, return_counts: Literal[True]) -> tuple[Tensor, ...]:
        """The different elements in order (slices, with dim), where each element went, and counts."""
    @overload
    def unique(input, sorted: _bool = True, return_inverse: _bool = False, return_counts: _bool = False, dim: _int | None = None) -> Any:
        """The different elements in order (slices, with dim), where each element went, and counts."""
    @overload
    def unique_consecutive(input, return_inverse: Literal[False] = False, return_counts: Literal[False] = False, dim: _int | None = None) -> Tensor:
        """The elements (slices, with dim) without those that equal their predecessor."""
    @overload
    def unique_consecutive(input, return_counts: _bool = False, dim: _int | None = None, *, return_inverse: Literal[True]) -> tuple[Tensor, ...]:
        """The elements (slices, with dim) without those that equal their predecessor."""
    @overload
    def unique_consecutive(input, return_inverse: _bool = False, dim: _int | None = None, *, return_counts: Literal[True]) -> tuple[Tensor, ...]:
        """The elements (slices, with dim) without those that equal their predecessor."""
    @overload
    def unique_consecutive(input, return_inverse: _bool = False, return_counts: _bool = False, dim: _int | None = None) -> Any:
        """The elements (slices, with dim) without those that equal their predecessor."""
    def unsafe_chunk(input, chunks: _int, dim: _int = 0) -> tuple[Tensor, ...]:
        """chunk, for callers who write to the parts."""
    def unsafe_split(input, split_size_or_sections: _int | Sequence[_int], dim: _int = 0) -> tuple[Tensor, ...]:
        """split, for callers who write to the parts."""
    def unsafe_split_with_sizes(input, split_sizes: _int | Sequence[_int], dim: _int = 0) -> tuple[Tensor, ...]:
        """split_with_sizes, for callers who write to the parts."""
    def unsqueeze(input, dim: _int) -> Tensor:
        """With a dim of size 1 put in at `dim`."""
    def unsqueeze_(input, dim: _int) -> Tensor:
        """In-place version of unsqueeze."""
    def var(input, dim: _int | Sequence[_int] | _bool | None = None, unbiased: _bool | None = None, keepdim: _bool = False, *, correction: _int | _float | _complex | None = None, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The variance: squared distances from the mean over n - correction (1 by default)."""
    def var_mean(input, dim: _int | Sequence[_int] | _bool | None = None, unbiased: _bool | None = None, keepdim: _bool = False, *, correction: _int | _float | _complex | None = None) -> tuple[Tensor, Tensor]:
        """(var, mean)."""
    def vdot(input, other: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The dot product with the first vector conjugated."""
    def view_as(input, other: Tensor) -> Tensor:
        """view(other.size())."""
    def view_as_complex(input) -> Tensor:
        """A real tensor with a last dim of 2 as a complex one."""
    def view_as_real(input) -> Tensor:
        """A complex tensor as a real one with a last dim of (real, imaginary)."""
    def vsplit(input, indices_or_sections: _int | Sequence[_int] | Tensor) -> tuple[Tensor, ...]:
        """Pieces along dim 0."""
    def where(input, condition: Tensor, other: Tensor | _int | _float | _complex) -> Tensor:
        """input where condition, else other."""
    def xlogy(input, other: Tensor | _int | _float | _complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """input * log(other), 0 where input is 0 (unless other is nan).

        Shapes broadcast, and dtypes are promoted. Integers give the default floating dtype.
        """
    def xlogy_(input, other: Tensor | _int | _float | _complex) -> Tensor:
        """In-place version of xlogy."""
bfloat16: _dtype
bits16: _dtype
bits1x8: _dtype
bits2x4: _dtype
bits4x2: _dtype
bits8: _dtype
bool: _dtype
cdouble: _dtype
cfloat: _dtype
chalf: _dtype
complex128: _dtype
complex32: _dtype
complex64: _dtype
double: _dtype
float: _dtype
float16: _dtype
float32: _dtype
float4_e2m1fn_x2: _dtype
float64: _dtype
float8_e4m3fn: _dtype
float8_e4m3fnuz: _dtype
float8_e5m2: _dtype
float8_e5m2fnuz: _dtype
float8_e8m0fnu: _dtype
half: _dtype
int: _dtype
int1: _dtype
int16: _dtype
int2: _dtype
int3: _dtype
int32: _dtype
int4: _dtype
int5: _dtype
int6: _dtype
int64: _dtype
int7: _dtype
int8: _dtype
long: _dtype
qint32: _dtype
qint8: _dtype
quint2x4: _dtype
quint4x2: _dtype
quint8: _dtype
short: _dtype
uint1: _dtype
uint16: _dtype
uint2: _dtype
uint3: _dtype
uint32: _dtype
uint4: _dtype
uint5: _dtype
uint6: _dtype
uint64: _dtype
uint7: _dtype
uint8: _dtype
@final
class BFloat16Tensor(Tensor): ...
@final
class BoolTensor(Tensor): ...
@final
class ByteTensor(Tensor): ...
@final
class CharTensor(Tensor): ...
@final
class DoubleTensor(Tensor): ...
@final
class FloatTensor(Tensor): ...
@final
class HalfTensor(Tensor): ...
@final
class IntTensor(Tensor): ...
@final
class LongTensor(Tensor): ...
@final
class ShortTensor(Tensor): ...
class BFloat16Storage(TypedStorage, metaclass=_OfDtype): ...
class BoolStorage(TypedStorage, metaclass=_OfDtype): ...
class ByteStorage(TypedStorage, metaclass=_OfDtype): ...
class CharStorage(TypedStorage, metaclass=_OfDtype): ...
class ComplexDoubleStorage(TypedStorage, metaclass=_OfDtype): ...
class ComplexFloatStorage(TypedStorage, metaclass=_OfDtype): ...
class DoubleStorage(TypedStorage, metaclass=_OfDtype): ...
class FloatStorage(TypedStorage, metaclass=_OfDtype): ...
class HalfStorage(TypedStorage, metaclass=_OfDtype): ...
class IntStorage(TypedStorage, metaclass=_OfDtype): ...
class LongStorage(TypedStorage, metaclass=_OfDtype): ...
class QInt32Storage(TypedStorage, metaclass=_OfDtype): ...
class QInt8Storage(TypedStorage, metaclass=_OfDtype): ...
class QUInt2x4Storage(TypedStorage, metaclass=_OfDtype): ...
class QUInt4x2Storage(TypedStorage, metaclass=_OfDtype): ...
class QUInt8Storage(TypedStorage, metaclass=_OfDtype): ...
class ShortStorage(TypedStorage, metaclass=_OfDtype): ...
def detach(self: Any) -> Tensor:
    """The same data outside the graph: it shares memory and version, and tracks nothing."""
def detach_(self: Any) -> Tensor:
    """Cut this tensor off from its graph, in place."""
def fill_(self: Tensor, value: Any) -> Tensor:
    """Write one number (or 0-d tensor) everywhere."""
def resize_as_(self: Tensor, the_template: Tensor, *, memory_format: MemoryFormat | None = None) -> Tensor:
    """Give this tensor another's shape; with a memory format also its strides, preserved ones the other's."""
def zero_(self: Tensor) -> Tensor:
    """Write zeros everywhere."""
newaxis: None
e: _float
inf: _float
nan: _float
pi: _float
def _add_relu(input: Tensor, other: Tensor | _int | _float | _complex, *, alpha: _int | _float | _complex = 1, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """relu of the sum."""
def _addmm_activation(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: _int | _float | _complex = 1, alpha: _int | _float | _complex = 1, use_gelu: _bool = False, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """relu or gelu of addmm; on CUDA gelu in tanh's form, as PyTorch's kernel there has it."""
def _chunk_cat(tensors: list[Tensor] | tuple[Tensor, ...] | Sequence[Tensor], dim: _int, num_chunks: _int, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """Each tensor, padded along dim to num_chunks equal parts, these flattened and joined part by part."""
def _conj(input: Tensor) -> Tensor:
    """The complex conjugate, as a view that is conjugated when it is read; a real tensor itself."""
def _conj_copy(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The conjugate, with memory of its own."""
def _conj_physical(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The complex conjugate, written out.

    Any shape.
    """
def _conj_physical_(input: Tensor) -> Tensor:
    """In-place version of _conj_physical."""
def _embedding_bag(weight: Tensor, indices: Tensor, offsets: Tensor, scale_grad_by_freq: _bool = False, mode: _int = 0, sparse: _bool = False, per_sample_weights: Tensor | None = None, include_last_offset: _bool = False, padding_idx: _int = -1) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """embedding_bag, with -1 for no padding."""
def _embedding_bag_forward_only(weight: Tensor, indices: Tensor, offsets: Tensor, scale_grad_by_freq: _bool = False, mode: _int = 0, sparse: _bool = False, per_sample_weights: Tensor | None = None, include_last_offset: _bool = False, padding_idx: _int = -1) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """embedding_bag, with -1 for no padding."""
def _fake_quantize_learnable_per_channel_affine(input: Tensor, scale: Tensor, zero_point: Tensor, axis: _int, quant_min: _int, quant_max: _int, grad_factor: _float = 1.0) -> Tensor:
    """fake_quantize_per_channel_affine with gradients of scale and zero_point, times grad_factor."""
def _fake_quantize_learnable_per_tensor_affine(input: Tensor, scale: Tensor, zero_point: Tensor, quant_min: _int, quant_max: _int, grad_factor: _float = 1.0) -> Tensor:
    """fake_quantize_per_tensor_affine with gradients of scale and zero_point, times grad_factor
    (arXiv:1902.08153).
    """
def _grid_sampler_2d_cpu_fallback(input: Tensor, grid: Tensor, interpolation_mode: _int, padding_mode: _int, align_corners: _bool) -> Tensor:
    """grid_sampler_2d."""
def _log_softmax_backward_data(grad_output: Tensor, output: Tensor, dim: _int, input_dtype: _dtype, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The gradient of log_softmax, from its result."""
def _masked_softmax(input: Tensor, mask: Tensor, dim: _int | None = None, mask_type: _int | None = None) -> Tensor:
    """softmax along dim (the last) of what mask leaves: True is left out.

    mask_type: 0 for a mask (L, L), 1 for one of keys (B, L), 2 for one of input's shape.
    """
def _native_batch_norm_legit(input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor, running_var: Tensor, training: _bool, momentum: _float | None = None, eps: _float | None = None, *, out: Tensor | Sequence[Tensor] | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """native_batch_norm; or without the running moments: (input, weight, bias, training, momentum, eps)."""
def _neg_view(input: Tensor) -> Tensor:
    """The negative, as a view that is negated when it is read."""
def _neg_view_copy(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The tensor with its sign turned, with memory of its own."""
def _reshape_alias_copy(input: Tensor, size: _int | Sequence[_int], stride: _int | Sequence[_int], *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """as_strided at the tensor's own place in its memory, copied."""
def _safe_softmax(input: Tensor, dim: _int, dtype: _dtype | None = None) -> Tensor:
    """softmax along dim; where all is -inf, zeros."""
def _sample_dirichlet(input: Tensor, generator: Generator | None = None) -> Tensor:
    """Dirichlet numbers along the last dim."""
def _segment_reduce(data: Tensor, reduce: str, *, lengths: Tensor | None = None, indices: Tensor | None = None, offsets: Tensor | None = None, axis: _int = 0, unsafe: _bool = False, initial: _int | _float | _complex | None = None, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """Each segment of rows along axis (by lengths or offsets) reduced: sum, mean, prod, max or min."""
def _softmax_backward_data(grad_output: Tensor, output: Tensor, dim: _int, input_dtype: _dtype, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The gradient of softmax, from its result."""
def _standard_gamma(input: Tensor, generator: Generator | None = None) -> Tensor:
    """For each shape parameter a gamma number of rate 1."""
def _unsafe_masked_index(input: Tensor, mask: Tensor, indices: Sequence[Tensor | None], fill: _int | _float | _complex) -> Tensor:
    """input[indices] where mask, else fill; where not, indices may lie outside."""
def _unsafe_masked_index_put_accumulate(input: Tensor, mask: Tensor, indices: Sequence[Tensor | None], values: Tensor) -> Tensor:
    """input with values added at indices where mask."""
def abs(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The absolute value (of a complex number, its modulus).

    Any shape. Of complex numbers the result is real.
    """
def abs_(input: Tensor) -> Tensor:
    """In-place version of abs."""
def absolute(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The absolute value (of a complex number, its modulus).

    Any shape. Of complex numbers the result is real.
    """
def absolute_(input: Tensor) -> Tensor:
    """In-place version of abs."""
def acos(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The arc cosine.

    Any shape. Integers give the default floating dtype.
    """
def acos_(input: Tensor) -> Tensor:
    """In-place version of acos."""
def acosh(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The inverse hyperbolic cosine.

    Any shape. Integers give the default floating dtype.
    """
def acosh_(input: Tensor) -> Tensor:
    """In-place version of acosh."""
def adaptive_avg_pool1d(input: Tensor, output_size: _int | Sequence[_int]) -> Tensor:
    """The mean of windows that divide the space of (N, C, L) or (C, L) into output_size parts."""
def adaptive_max_pool1d(input: Tensor, output_size: _int | Sequence[_int], return_indices: _bool = False) -> tuple[Tensor, Tensor]:
    """The maximum of windows that divide the space of (N, C, L) or (C, L) into output_size parts, and its place."""
def add(input: Tensor | _int | _float | _complex, other: Tensor | _int | _float | _complex, *, alpha: _int | _float | _complex = 1, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """input + alpha * other.

    Shapes broadcast, and dtypes are promoted.
    """
def add_(input: Tensor | _int | _float | _complex, other: Tensor | _int | _float | _complex, *, alpha: _int | _float | _complex = 1) -> Tensor:
    """In-place version of add."""
def addbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: _int | _float | _complex = 1, alpha: _int | _float | _complex = 1, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """beta * input + alpha * the sum of batch1 @ batch2 over the batch."""
def addbmm_(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: _int | _float | _complex = 1, alpha: _int | _float | _complex = 1) -> Tensor:
    """In-place version of addbmm."""
def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: _int | _float | _complex = 1, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """input + value * tensor1 / tensor2.

    Shapes broadcast, and dtypes are promoted.
    """
def addcdiv_(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: _int | _float | _complex = 1) -> Tensor:
    """In-place version of addcdiv."""
def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: _int | _float | _complex = 1, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """input + value * tensor1 * tensor2.

    Shapes broadcast, and dtypes are promoted.
    """
def addcmul_(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: _int | _float | _complex = 1) -> Tensor:
    """In-place version of addcmul."""
def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: _int | _float | _complex = 1, alpha: _int | _float | _complex = 1, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """beta * input + alpha * (mat1 @ mat2): (n, k) @ (k, m), to which input broadcasts. With beta 0, input is
    not read.
    """
def addmm_(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: _int | _float | _complex = 1, alpha: _int | _float | _complex = 1) -> Tensor:
    """In-place version of addmm."""
def addmv(input: Tensor, mat: Tensor, vec: Tensor, *, beta: _int | _float | _complex = 1, alpha: _int | _float | _complex = 1, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """beta * input + alpha * (mat @ vec)."""
def addmv_(input: Tensor, mat: Tensor, vec: Tensor, *, beta: _int | _float | _complex = 1, alpha: _int | _float | _complex = 1) -> Tensor:
    """In-place version of addmv."""
def addr(input: Tensor, vec1: Tensor, vec2: Tensor, *, beta: _int | _float | _complex = 1, alpha: _int | _float | _complex = 1, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """beta * input + alpha * the outer product of two vectors."""
def addr_(input: Tensor, vec1: Tensor, vec2: Tensor, *, beta: _int | _float | _complex = 1, alpha: _int | _float | _complex = 1) -> Tensor:
    """In-place version of addr."""
def adjoint(input: Tensor) -> Tensor:
    """The last two dims swapped and conjugated."""
def alias_copy(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The tensor, copied."""
def all(input: Tensor, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """Whether all elements are nonzero.

    dim: one or several, by default all; with keepdim they stay, with size 1. The result is bool.
    """
def allclose(input: Tensor, other: Tensor, rtol: _float = 1e-05, atol: _float = 1e-08, equal_nan: _bool = False) -> _bool:
    """Whether all elements are close, as a bool: |input - other| <= atol + rtol |other|; equal_nan: nan
    equals nan.
    """
def alpha_dropout(input: Tensor, p: _float, train: _bool) -> Tensor:
    """dropout that keeps SELU's mean and variance."""
def alpha_dropout_(input: Tensor, p: _float, train: _bool) -> Tensor:
    """alpha_dropout in place."""
def amax(input: Tensor, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The largest element; nan if there is one.

    dim: one or several, by default all; with keepdim they stay, with size 1.
    """
def amin(input: Tensor, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The smallest element; nan if there is one.

    dim: one or several, by default all; with keepdim they stay, with size 1.
    """
def aminmax(input: Tensor, *, dim: _int | None = None, keepdim: _bool = False, out: Tensor | Sequence[Tensor] | None = None) -> _aminmax_result:
    """(min, max) along dim, or over all elements."""
def angle(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The angle of a complex number; of a real one 0 or pi (nan stays)."""
def any(input: Tensor, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """Whether any element is nonzero.

    dim: one or several, by default all; with keepdim they stay, with size 1. The result is bool.
    """
@overload
def arange(end: _int | _float | _complex, *, dtype: _dtype | None = None, layout: StorageLayout | None = None, device: str | _int | _device | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """start (0), start + step, ... up to but not including end; int64 when all three are ints."""
@overload
def arange(start: _int | _float | _complex, end: _int | _float | _complex, step: _int | _float | _complex = 1, *, dtype: _dtype | None = None, layout: StorageLayout | None = None, device: str | _int | _device | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """start (0), start + step, ... up to but not including end; int64 when all three are ints."""
def arccos(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The arc cosine.

    Any shape. Integers give the default floating dtype.
    """
def arccos_(input: Tensor) -> Tensor:
    """In-place version of acos."""
def arccosh(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The inverse hyperbolic cosine.

    Any shape. Integers give the default floating dtype.
    """
def arccosh_(input: Tensor) -> Tensor:
    """In-place version of acosh."""
def arcsin(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The arc sine.

    Any shape. Integers give the default floating dtype.
    """
def arcsin_(input: Tensor) -> Tensor:
    """In-place version of asin."""
def arcsinh(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The inverse hyperbolic sine.

    Any shape. Integers give the default floating dtype.
    """
def arcsinh_(input: Tensor) -> Tensor:
    """In-place version of asinh."""
def arctan(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The arc tangent.

    Any shape. Integers give the default floating dtype.
    """
def arctan2(input: Tensor, other: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The angle of the point (other, input).

    Shapes broadcast, and dtypes are promoted. Integers give the default floating dtype.
    """
def arctan2_(input: Tensor, other: Tensor) -> Tensor:
    """In-place version of atan2."""
def arctan_(input: Tensor) -> Tensor:
    """In-place version of atan."""
def arctanh(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The inverse hyperbolic tangent.

    Any shape. Integers give the default floating dtype.
    """
def arctanh_(input: Tensor) -> Tensor:
    """In-place version of atanh."""
def argmax(input: Tensor, dim: _int | None = None, keepdim: _bool = False, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The position of the largest element."""
def argmin(input: Tensor, dim: _int | None = None, keepdim: _bool = False, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The position of the smallest element."""
def argsort(input: Tensor, dim: _int = -1, descending: _bool = False, *, stable: _bool = False) -> Tensor:
    """The positions that sort the elements along dim."""
def argwhere(input: Tensor) -> Tensor:
    """The positions of the nonzero elements, one row each."""
def as_strided(input: Tensor, size: _int | Sequence[_int], stride: _int | Sequence[_int], storage_offset: _int | None = None) -> Tensor:
    """A view with given sizes, strides and offset of the whole storage."""
def as_strided_(input: Tensor, size: _int | Sequence[_int], stride: _int | Sequence[_int], storage_offset: _int | None = None) -> Tensor:
    """In-place version of as_strided."""
def as_strided_copy(input: Tensor, size: _int | Sequence[_int], stride: _int | Sequence[_int], storage_offset: _int | None = None, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """as_strided, copied."""
def as_strided_scatter(input: Tensor, src: Tensor, size: _int | Sequence[_int], stride: _int | Sequence[_int], storage_offset: _int | None = None) -> Tensor:
    """input with the elements of its storage that as_strided shows replaced by src."""
def asin(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The arc sine.

    Any shape. Integers give the default floating dtype.
    """
def asin_(input: Tensor) -> Tensor:
    """In-place version of asin."""
def asinh(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The inverse hyperbolic sine.

    Any shape. Integers give the default floating dtype.
    """
def asinh_(input: Tensor) -> Tensor:
    """In-place version of asinh."""
def atan(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The arc tangent.

    Any shape. Integers give the default floating dtype.
    """
def atan2(input: Tensor, other: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The angle of the point (other, input).

    Shapes broadcast, and dtypes are promoted. Integers give the default floating dtype.
    """
def atan2_(input: Tensor, other: Tensor) -> Tensor:
    """In-place version of atan2."""
def atan_(input: Tensor) -> Tensor:
    """In-place version of atan."""
def atanh(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The inverse hyperbolic tangent.

    Any shape. Integers give the default floating dtype.
    """
def atanh_(input: Tensor) -> Tensor:
    """In-place version of atanh."""
def atleast_1d(*tensors: Tensor | Sequence[Tensor]) -> Any:
    """With dims of size 1, 1 in all."""
def atleast_2d(*tensors: Tensor | Sequence[Tensor]) -> Any:
    """With dims of size 1, 2 in all."""
def atleast_3d(*tensors: Tensor | Sequence[Tensor]) -> Any:
    """With dims of size 1, 3 in all."""
def avg_pool1d(input: Tensor, kernel_size: _int | Sequence[_int], stride: _int | Sequence[_int] = (), padding: _int | Sequence[_int] = 0, ceil_mode: _bool = False, count_include_pad: _bool = True) -> Tensor:
    """The mean of each window of (N, C, L) or (C, L).

    stride: kernel_size unless given. count_include_pad: padding counts as zeros, else not at all.
    Sizes and ceil_mode as of max_pool.
    """
def baddbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: _int | _float | _complex = 1, alpha: _int | _float | _complex = 1, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """beta * input + alpha * (batch1 @ batch2): (b, n, k) @ (b, k, m), to which input broadcasts."""
def baddbmm_(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: _int | _float | _complex = 1, alpha: _int | _float | _complex = 1) -> Tensor:
    """In-place version of baddbmm."""
def bartlett_window(window_length: _int, periodic: _bool = True, *, dtype: _dtype | None = None, layout: StorageLayout | None = None, device: str | _int | _device | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False) -> Tensor:
    """A triangle."""
def batch_norm_backward_elemt(grad_out: Tensor, input: Tensor, mean: Tensor, invstd: Tensor, weight: Tensor | None, sum_dy: Tensor, sum_dy_xmu: Tensor, count: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The gradient of a batch, from the sums of all batches and their sizes."""
def batch_norm_backward_reduce(grad_out: Tensor, input: Tensor, mean: Tensor, invstd: Tensor, weight: Tensor | None, input_g: _bool, weight_g: _bool, bias_g: _bool) -> Tensor:
    """(sums of grad_out, sums of grad_out * (input - mean), the gradients of weight and bias) of this batch;
    None for what is not asked for: input_g the first two, weight_g, bias_g.
    """
def batch_norm_elemt(input: Tensor, weight: Tensor | None, bias: Tensor | None, mean: Tensor, invstd: Tensor, eps: _float, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """(input - mean) * invstd * weight + bias, of the channels of (N, C, *)."""
def batch_norm_gather_stats(input: Tensor, mean: Tensor, invstd: Tensor, running_mean: Tensor | None, running_var: Tensor | None, momentum: _float, eps: _float, count: _int, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """batch_norm_gather_stats_with_counts of batches that are all of the same size."""
def batch_norm_gather_stats_with_counts(input: Tensor, mean: Tensor, invstd: Tensor, running_mean: Tensor | None, running_var: Tensor | None, momentum: _float, eps: _float, counts: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """(means, 1 / sqrt(variances + eps)) of all batches, from those of each, (batches, C), and their sizes.

    running_mean, running_var: (C,), moved by `momentum`, the variance unbiased.
    """
def batch_norm_stats(input: Tensor, eps: _float, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """(the means of the channels of (N, C, *), 1 / sqrt(their variances + eps)); float32 of two-byte ones."""
def bernoulli(input: Tensor, p: _float | None = None, *, generator: Generator | None = None, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """Ones with the probabilities in input (or all with probability p), else zeros: of the input's shape and
    dtype.
    """
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x1 @ weight[k] @ x2 for each k: (*, in1), (*, in2), (out, in1, in2) -> (*, out)."""
def bincount(input: Tensor, weights: Tensor | None = None, minlength: _int = 0) -> Tensor:
    """How often each of 0, 1, 2, ... occurs in a vector; with weights, the sum of theirs."""
def binomial(count: Tensor, prob: Tensor, generator: Generator | None = None) -> Tensor:
    """For each count and probability, the number of successes; both of one floating dtype."""
def bitwise_and(input: Tensor | _int | _float | _complex, other: Tensor | _int | _float | _complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The bits set in both.

    Shapes broadcast, and dtypes are promoted.
    """
def bitwise_and_(input: Tensor | _int | _float | _complex, other: Tensor | _int | _float | _complex) -> Tensor:
    """In-place version of bitwise_and."""
def bitwise_left_shift(input: Tensor | _int | _float | _complex, other: Tensor | _int | _float | _complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """input * 2 ** other.

    Shapes broadcast, and dtypes are promoted.
    """
def bitwise_left_shift_(input: Tensor | _int | _float | _complex, other: Tensor | _int | _float | _complex) -> Tensor:
    """In-place version of bitwise_left_shift."""
def bitwise_not(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The bits flipped; of a bool, its opposite.

    Any shape.
    """
def bitwise_not_(input: Tensor) -> Tensor:
    """In-place version of bitwise_not."""
def bitwise_or(input: Tensor | _int | _float | _complex, other: Tensor | _int | _float | _complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The bits set in either.

    Shapes broadcast, and dtypes are promoted.
    """
def bitwise_or_(input: Tensor | _int | _float | _complex, other: Tensor | _int | _float | _complex) -> Tensor:
    """In-place version of bitwise_or."""
def bitwise_right_shift(input: Tensor | _int | _float | _complex, other: Tensor | _int | _float | _complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """input / 2 ** other, floored.

    Shapes broadcast, and dtypes are promoted.
    """
def bitwise_right_shift_(input: Tensor | _int | _float | _complex, other: Tensor | _int | _float | _complex) -> Tensor:
    """In-place version of bitwise_right_shift."""
def bitwise_xor(input: Tensor | _int | _float | _complex, other: Tensor | _int | _float | _complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The bits set in exactly one.

    Shapes broadcast, and dtypes are promoted.
    """
def bitwise_xor_(input: Tensor | _int | _float | _complex, other: Tensor | _int | _float | _complex) -> Tensor:
    """In-place version of bitwise_xor."""
def blackman_window(window_length: _int, periodic: _bool = True, *, dtype: _dtype | None = None, layout: StorageLayout | None = None, device: str | _int | _device | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False) -> Tensor:
    """Two cosines: 0.42 - 0.5 cos + 0.08 cos."""
def block_diag(*tensors: Tensor | Sequence[Tensor]) -> Tensor:
    """The matrices along the diagonal of a matrix of zeros."""
def bmm(input: Tensor, mat2: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The products of two batches of matrices: (b, n, k) @ (b, k, m) -> (b, n, m); nothing broadcasts
    (RuntimeError).
    """
def broadcast_tensors(*tensors: Tensor | Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Views of the tensors in the shape that all of them broadcast to."""
@overload
def broadcast_to(input: Tensor, *size: _int) -> Tensor:
    """input expanded to a shape."""
@overload
def broadcast_to(input: Tensor, size: Sequence[_int]) -> Tensor:
    """input expanded to a shape."""
def bucketize(input: Tensor | _int | _float | _complex, boundaries: Tensor, *, out_int32: _bool = False, right: _bool = False, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The number of the bucket between boundaries that each value falls into."""
def cartesian_prod(*tensors: Tensor | Sequence[Tensor]) -> Tensor:
    """All tuples with one element of each vector, as rows; of one vector, the vector."""
def cat(tensors: list[Tensor] | tuple[Tensor, ...] | Sequence[Tensor], dim: _int = 0, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The tensors one after the other along an existing dim: sizes agree in the others (RuntimeError), dtypes
    are promoted.
    """
def cdist(x1: Tensor, x2: Tensor, p: _float = 2.0, compute_mode: str = 'use_mm_for_euclid_dist_if_necessary') -> Tensor:
    """The distances (..., P, R) between the vectors of x1 (..., P, M) and those of x2 (..., R, M)."""
def ceil(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The least integer not below.

    Any shape.
    """
def ceil_(input: Tensor) -> Tensor:
    """In-place version of ceil."""
def celu(input: Tensor, alpha: _int | _float | _complex = 1.0, inplace: _bool = False) -> Tensor:
    """max(0, x) + min(0, alpha (exp(x / alpha) - 1)).

    Any shape.
    """
def celu_(input: Tensor, alpha: _int | _float | _complex = 1.0) -> Tensor:
    """In-place version of celu."""
def chain_matmul(*matrices: Tensor | Sequence[Tensor], out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """linalg.multi_dot of matrices, given one by one; a single one is returned as it is."""
def channel_shuffle(input: Tensor, groups: _int) -> Tensor:
    """Channels of (N, C, *) dealt out over groups (arXiv:1707.01083)."""
def cholesky(input: Tensor, upper: _bool = False, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """linalg.cholesky in its older spelling."""
def cholesky_inverse(input: Tensor, upper: _bool = False, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """A^-1, from A's Cholesky factor (L, or U with upper=True)."""
def cholesky_solve(input: Tensor, input2: Tensor, upper: _bool = False, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """X with A X = input, from A's Cholesky factor input2 (L, or U with upper=True)."""
def chunk(input: Tensor, chunks: _int, dim: _int = 0) -> tuple[Tensor, ...]:
    """Views: at most `chunks` pieces of equal size along dim (the last may be smaller); RuntimeError for
    none.
    """
def clamp(input: Tensor, min: Tensor | _int | _float | _complex | None = None, max: Tensor | _int | _float | _complex | None = None, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """input between min and max, numbers or tensors that broadcast; where min > max, max. RuntimeError for
    neither.

    Shapes broadcast, and dtypes are promoted.
    """
def clamp_(input: Tensor, min: Tensor | _int | _float | _complex | None = None, max: Tensor | _int | _float | _complex | None = None) -> Tensor:
    """In-place version of clamp."""
def clamp_max(input: Tensor, max: Tensor | _int | _float | _complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """input, at most max.

    Shapes broadcast, and dtypes are promoted.
    """
def clamp_max_(input: Tensor, max: Tensor | _int | _float | _complex) -> Tensor:
    """In-place version of clamp_max."""
def clamp_min(input: Tensor, min: Tensor | _int | _float | _complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """input, at least min.

    Shapes broadcast, and dtypes are promoted.
    """
def clamp_min_(input: Tensor, min: Tensor | _int | _float | _complex) -> Tensor:
    """In-place version of clamp_min."""
def clip(input: Tensor, min: Tensor | _int | _float | _complex | None = None, max: Tensor | _int | _float | _complex | None = None, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """input between min and max, numbers or tensors that broadcast; where min > max, max. RuntimeError for
    neither.

    Shapes broadcast, and dtypes are promoted.
    """
def clip_(input: Tensor, min: Tensor | _int | _float | _complex | None = None, max: Tensor | _int | _float | _complex | None = None) -> Tensor:
    """In-place version of clamp."""
def clone(input: Tensor, *, memory_format: MemoryFormat | None = None) -> Tensor:
    """A copy with its own memory."""
def column_stack(tensors: list[Tensor] | tuple[Tensor, ...] | Sequence[Tensor], *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """cat along the second dim, vectors being columns."""
def combinations(input: Tensor, r: _int = 2, with_replacement: _bool = False) -> Tensor:
    """All choices of r elements of a vector, in the vector's order, as rows."""
def complex(real: Tensor, imag: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """real + i * imag, of two real tensors of one dtype."""
def concat(tensors: list[Tensor] | tuple[Tensor, ...] | Sequence[Tensor], dim: _int = 0, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The tensors one after the other along an existing dim: sizes agree in the others (RuntimeError), dtypes
    are promoted.
    """
def concatenate(tensors: list[Tensor] | tuple[Tensor, ...] | Sequence[Tensor], dim: _int = 0, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The tensors one after the other along an existing dim: sizes agree in the others (RuntimeError), dtypes
    are promoted.
    """
def conj(input: Tensor) -> Tensor:
    """The complex conjugate, as a view that is conjugated when it is read; a real tensor itself."""
def conj_physical(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The complex conjugate, written out; real numbers as they are."""
def conj_physical_(input: Tensor) -> Tensor:
    """In-place version of conj_physical."""
def constant_pad_nd(input: Tensor, pad: _int | Sequence[_int], value: _int | _float | _complex = 0) -> Tensor:
    """Elements of `value` around the dims; negative numbers cut off."""
def conv1d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: _int | Sequence[_int] = 1, padding: _int | Sequence[_int] | str = 0, dilation: _int | Sequence[_int] = 1, groups: _int = 1) -> Tensor:
    """The 1-d convolution of (N, C, L) or (C, L) by weight (O, C / groups, *k): (N, O, *out).

    bias: (O,) or None. padding: zeros at both ends, or "same" (strides of 1), "valid". A size
    becomes (size + 2 * padding - dilation * (k - 1) - 1) // stride + 1. RuntimeError for two dtypes.
    """
def conv2d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: _int | Sequence[_int] = 1, padding: _int | str | Sequence[_int] = 0, dilation: _int | Sequence[_int] = 1, groups: _int = 1) -> Tensor:
    """The 2-d convolution of (N, C, H, W) or (C, H, W) by weight (O, C / groups, *k): (N, O, *out).

    bias: (O,) or None. padding: zeros at both ends, or "same" (strides of 1), "valid". A size
    becomes (size + 2 * padding - dilation * (k - 1) - 1) // stride + 1. RuntimeError for two dtypes.
    """
def conv3d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: _int | Sequence[_int] = 1, padding: _int | str | Sequence[_int] = 0, dilation: _int | Sequence[_int] = 1, groups: _int = 1) -> Tensor:
    """The 3-d convolution of (N, C, D, H, W) or (C, D, H, W) by weight (O, C / groups, *k): (N, O, *out).

    bias: (O,) or None. padding: zeros at both ends, or "same" (strides of 1), "valid". A size
    becomes (size + 2 * padding - dilation * (k - 1) - 1) // stride + 1. RuntimeError for two dtypes.
    """
def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: _int = 0) -> Tensor:
    """The convolution of (time, N, C) by (k, C, O), a bias (O,), `pad` zeros at both ends -> (out, N, O)."""
def conv_transpose1d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: _int | Sequence[_int] = 1, padding: _int | Sequence[_int] = 0, output_padding: _int | Sequence[_int] = 0, groups: _int = 1, dilation: _int | Sequence[_int] = 1) -> Tensor:
    """The transposed convolution of (N, C, L) or (C, L) by weight (C, O / groups, *k): (N, O, *out).

    The gradient of a convolution by its input. A size becomes
    (size - 1) * stride - 2 * padding + dilation * (k - 1) + output_padding + 1.
    """
def conv_transpose2d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: _int | Sequence[_int] = 1, padding: _int | str | Sequence[_int] = 0, output_padding: _int | Sequence[_int] = 0, groups: _int = 1, dilation: _int | Sequence[_int] = 1) -> Tensor:
    """The transposed convolution of (N, C, H, W) or (C, H, W) by weight (C, O / groups, *k): (N, O, *out).

    The gradient of a convolution by its input. A size becomes
    (size - 1) * stride - 2 * padding + dilation * (k - 1) + output_padding + 1.
    """
def conv_transpose3d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: _int | Sequence[_int] = 1, padding: _int | str | Sequence[_int] = 0, output_padding: _int | Sequence[_int] = 0, groups: _int = 1, dilation: _int | Sequence[_int] = 1) -> Tensor:
    """The transposed convolution of (N, C, D, H, W) or (C, D, H, W) by weight (C, O / groups, *k): (N, O, *out).

    The gradient of a convolution by its input. A size becomes
    (size - 1) * stride - 2 * padding + dilation * (k - 1) + output_padding + 1.
    """
def copysign(input: Tensor, other: Tensor | _int | _float | _complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The size of input with the sign of other.

    Shapes broadcast, and dtypes are promoted. Integers give the default floating dtype.
    """
def copysign_(input: Tensor, other: Tensor | _int | _float | _complex) -> Tensor:
    """In-place version of copysign."""
def corrcoef(input: Tensor) -> Tensor:
    """The correlation of variables (rows): their covariance over their standard deviations."""
def cos(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The cosine of radians.

    Any shape. Integers give the default floating dtype.
    """
def cos_(input: Tensor) -> Tensor:
    """In-place version of cos."""
def cosh(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The hyperbolic cosine.

    Any shape. Integers give the default floating dtype.
    """
def cosh_(input: Tensor) -> Tensor:
    """In-place version of cosh."""
def cosine_similarity(x1: Tensor, x2: Tensor, dim: _int = 1, eps: _float = 1e-08) -> Tensor:
    """x1 . x2 / (|x1| |x2|) along dim, each norm at least eps."""
def count_nonzero(input: Tensor, dim: _int | Sequence[_int] | None = None) -> Tensor:
    """The number of elements that are not 0."""
def cov(input: Tensor, *, correction: _int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None) -> Tensor:
    """The covariance of variables (rows) over observations (columns).

    fweights: how often each observation occurs, int.  aweights: its relative weight.
    """
def cross(input: Tensor, other: Tensor, dim: _int | None = None, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """linalg.cross; without dim, along the first dim of size 3."""
def ctc_loss(log_probs: Tensor, targets: Tensor, input_lengths: Sequence[_int] | Tensor, target_lengths: Sequence[_int] | Tensor, blank: _int = 0, reduction: str = 'mean', zero_infinity: _bool = False) -> Tensor:
    """The negative log-likelihood of label sequences, over all alignments (Graves et al., ICML 2006).

    log_probs (T, N, C) or (T, C); targets (N, S) or all labels in one row. The gradient takes log_probs for
    log_softmax's, as PyTorch's does, and cannot be differentiated again.
    """
def cummax(input: Tensor, dim: _int, *, out: Tensor | Sequence[Tensor] | None = None) -> _cummax_result:
    """The largest of the elements up to each one along dim, and where it is."""
def cummin(input: Tensor, dim: _int, *, out: Tensor | Sequence[Tensor] | None = None) -> _cummin_result:
    """The smallest of the elements up to each one along dim, and where it is."""
def cumprod(input: Tensor, dim: _int, *, dtype: _dtype | None = None, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The products of the elements up to each one along dim."""
def cumprod_(input: Tensor, dim: _int, *, dtype: _dtype | None = None) -> Tensor:
    """In-place version of cumprod."""
def cumsum(input: Tensor, dim: _int, *, dtype: _dtype | None = None, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The sums of the elements up to each one along dim; integers are added in int64."""
def cumsum_(input: Tensor, dim: _int, *, dtype: _dtype | None = None) -> Tensor:
    """In-place version of cumsum."""
def cumulative_trapezoid(y: Tensor, x: Tensor | None = None, *, dx: _int | _float | _complex | None = None, dim: _int = -1) -> Tensor:
    """The integrals along dim from the first sample to each of the others."""
def deg2rad(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """Degrees as radians.

    Any shape. Integers give the default floating dtype.
    """
def deg2rad_(input: Tensor) -> Tensor:
    """In-place version of deg2rad."""
def det(input: Tensor) -> Tensor:
    """linalg.det in its older spelling."""
def detach_copy(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The tensor's values, copied out of the graph."""
def diag(input: Tensor, diagonal: _int = 0, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """Of a vector, the matrix with it as a diagonal; of a matrix, a copy of its diagonal."""
def diag_embed(input: Tensor, offset: _int = 0, dim1: _int = -2, dim2: _int = -1) -> Tensor:
    """input's last dim as the diagonal of matrices that lie in dim1 and dim2 of the result."""
def diagflat(input: Tensor, offset: _int = 0) -> Tensor:
    """The matrix with input's elements as a diagonal."""
def diagonal(input: Tensor, offset: _int = 0, dim1: _int = 0, dim2: _int = 1) -> Tensor:
    """A diagonal of each matrix over dims dim1 and dim2, as a new last dim."""
def diagonal_copy(input: Tensor, offset: _int = 0, dim1: _int = 0, dim2: _int = 1, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """diagonal, copied."""
def diagonal_scatter(input: Tensor, src: Tensor, offset: _int = 0, dim1: _int = 0, dim2: _int = 1) -> Tensor:
    """input with its diagonal replaced by src."""
def diff(input: Tensor, n: _int = 1, dim: _int = -1, prepend: Tensor | None = None, append: Tensor | None = None, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The n-th differences of neighbours along dim, with tensors put before and behind first."""
def digamma(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The derivative of lgamma.

    Any shape. Integers give the default floating dtype.
    """
def digamma_(input: Tensor) -> Tensor:
    """In-place version of digamma."""
def dist(input: Tensor, other: Tensor, p: _int | _float | _complex = 2) -> Tensor:
    """The norm of input - other."""
def div(input: Tensor | _int | _float | _complex, other: Tensor | _int | _float | _complex, *, rounding_mode: str | None = None, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """input / other; rounding_mode "trunc" or "floor" rounds the quotient."""
def div_(input: Tensor | _int | _float | _complex, other: Tensor | _int | _float | _complex, *, rounding_mode: str | None = None) -> Tensor:
    """In-place version of div."""
def divide(input: Tensor | _int | _float | _complex, other: Tensor | _int | _float | _complex, *, rounding_mode: str | None = None, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """input / other; rounding_mode "trunc" or "floor" rounds the quotient."""
def divide_(input: Tensor | _int | _float | _complex, other: Tensor | _int | _float | _complex, *, rounding_mode: str | None = None) -> Tensor:
    """In-place version of div."""
def dot(input: Tensor, tensor: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The sum of products of two vectors of one size and dtype: (n,) and (n,) -> ()."""
def dropout(input: Tensor, p: _float, train: _bool) -> Tensor:
    """Each element zero with probability p, the others divided by 1 - p; input if not train."""
def dropout_(input: Tensor, p: _float, train: _bool) -> Tensor:
    """dropout in place."""
def dsplit(input: Tensor, indices_or_sections: _int | Sequence[_int] | Tensor) -> tuple[Tensor, ...]:
    """Pieces along dim 2."""
def dstack(tensors: list[Tensor] | tuple[Tensor, ...] | Sequence[Tensor], *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """cat along the third dim."""
def einsum(equation: str, *operands: Any) -> Tensor:
    """Sums of products by labelled dims: einsum("bij,bjk->bik", a, b); "..." stands for dims that broadcast.

    Without "->", labels that come once stay, in alphabetical order. A label twice in one operand is its
    diagonal. Operands also as a list, or in turn with lists of integers. RuntimeError for labels and sizes
    that do not fit.
    """
def embedding(weight: Tensor, indices: Tensor, padding_idx: _int = -1, scale_grad_by_freq: _bool = False, sparse: _bool = False) -> Tensor:
    """weight[indices]: the rows of a matrix. The row padding_idx gets no gradient."""
def embedding_bag(weight: Tensor, indices: Tensor, offsets: Tensor, scale_grad_by_freq: _bool = False, mode: _int = 0, sparse: _bool = False, per_sample_weights: Tensor | None = None, include_last_offset: _bool = False, padding_idx: _int | None = None) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """(the bags, each index's bag, the bags' sizes, where a maximum comes from) of a vector of indices.

    mode: 0 for sums, 1 for means, 2 for maxima. The three integer results are what the gradient is made
    from, and are empty or zero where it needs none of them.
    """
@overload
def empty(*size: _int, dtype: _dtype | None = None, memory_format: MemoryFormat | None = None, layout: StorageLayout | None = None, device: str | _int | _device | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """Uninitialised memory of these sizes, of the default dtype unless given."""
@overload
def empty(size: Sequence[_int], *, dtype: _dtype | None = None, memory_format: MemoryFormat | None = None, layout: StorageLayout | None = None, device: str | _int | _device | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """Uninitialised memory of these sizes, of the default dtype unless given."""
def empty_like(input: Tensor, *, dtype: _dtype | None = None, memory_format: MemoryFormat | None = None, layout: StorageLayout | None = None, device: str | _int | _device | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False) -> Tensor:
    """Uninitialised memory of input's shape, dtype and strides."""
def empty_permuted(size: _int | Sequence[_int], physical_layout: _int | Sequence[_int], *, dtype: _dtype | None = None, layout: StorageLayout | None = None, device: str | _int | _device | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False) -> Tensor:
    """Uninitialised memory whose dims lie in the order `physical_layout`, outermost first."""
def empty_strided(size: _int | Sequence[_int], stride: _int | Sequence[_int], *, dtype: _dtype | None = None, layout: StorageLayout | None = None, device: str | _int | _device | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False) -> Tensor:
    """Uninitialised memory with the given strides."""
def eq(input: Tensor, other: Tensor | _int | _float | _complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """Whether input equals other.

    Shapes broadcast, and dtypes are promoted. The result is bool.
    """
def eq_(input: Tensor, other: Tensor | _int | _float | _complex) -> Tensor:
    """In-place version of eq."""
def equal(input: Tensor, other: Tensor) -> _bool:
    """Whether shapes and all elements are equal."""
def erf(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The error function.

    Any shape. Integers give the default floating dtype.
    """
def erf_(input: Tensor) -> Tensor:
    """In-place version of erf."""
def erfc(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """1 - erf(input).

    Any shape. Integers give the default floating dtype.
    """
def erfc_(input: Tensor) -> Tensor:
    """In-place version of erfc."""
def erfinv(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The inverse of the error function.

    Any shape. Integers give the default floating dtype.
    """
def erfinv_(input: Tensor) -> Tensor:
    """In-place version of erfinv."""
def exp(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """e to the power of input.

    Any shape. Integers give the default floating dtype.
    """
def exp2(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """2 to the power of input.

    Any shape. Integers give the default floating dtype.
    """
def exp2_(input: Tensor) -> Tensor:
    """In-place version of exp2."""
def exp_(input: Tensor) -> Tensor:
    """In-place version of exp."""
@overload
def expand_copy(input: Tensor, *size: _int, implicit: _bool = False, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """expand, copied."""
@overload
def expand_copy(input: Tensor, size: Sequence[_int], *, implicit: _bool = False, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """expand, copied."""
def expm1(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """exp(input) - 1, exact near 0.

    Any shape. Integers give the default floating dtype.
    """
def expm1_(input: Tensor) -> Tensor:
    """In-place version of expm1."""
def eye(n: _int, m: _int | None = None, *, dtype: _dtype | None = None, layout: StorageLayout | None = None, device: str | _int | _device | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """An n x m (n x n) matrix with ones on the diagonal, of the default dtype unless given."""
def fake_quantize_per_channel_affine(input: Tensor, scale: Tensor, zero_point: Tensor, axis: _int, quant_min: _int, quant_max: _int) -> Tensor:
    """input at the nearest of the levels quant_min to quant_max, of scales and zero points along an axis.

    scale, zero_point: (input.shape[axis],).
    """
def fake_quantize_per_tensor_affine(input: Tensor, scale: Tensor | _int | _float | _complex, zero_point: Tensor | _int | _float | _complex, quant_min: _int, quant_max: _int) -> Tensor:
    """input at the nearest of the levels quant_min to quant_max of one scale and zero point.

    The gradient is that of input, and 0 where it lies beyond the outermost levels.
    """
def feature_alpha_dropout(input: Tensor, p: _float, train: _bool) -> Tensor:
    """alpha_dropout of whole channels."""
def feature_alpha_dropout_(input: Tensor, p: _float, train: _bool) -> Tensor:
    """feature_alpha_dropout in place."""
def feature_dropout(input: Tensor, p: _float, train: _bool) -> Tensor:
    """dropout of whole channels (dim 1)."""
def feature_dropout_(input: Tensor, p: _float, train: _bool) -> Tensor:
    """feature_dropout in place."""
def fill(input: Tensor, value: _int | _float | _complex | Tensor) -> Tensor:
    """One number (or 0-d tensor) in the shape and dtype of input."""
def fix(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The integer part.

    Any shape.
    """
def fix_(input: Tensor) -> Tensor:
    """In-place version of trunc."""
def flatten(input: Tensor, start_dim: _int = 0, end_dim: _int = -1) -> Tensor:
    """Dims start_dim to end_dim as one: (a, b, c) and 1, -1 give (a, b * c); a view where one exists, else a
    copy.
    """
@overload
def flip(input: Tensor, *dims: _int) -> Tensor:
    """The order of the elements along each of dims reversed."""
@overload
def flip(input: Tensor, dims: Sequence[_int]) -> Tensor:
    """The order of the elements along each of dims reversed."""
def fliplr(input: Tensor) -> Tensor:
    """The columns in reverse order."""
def flipud(input: Tensor) -> Tensor:
    """The rows in reverse order."""
def float_power(input: Tensor | _int | _float | _complex, exponent: Tensor | _int | _float | _complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """input to the power of exponent, in double precision.

    Shapes broadcast, and dtypes are promoted.
    """
def float_power_(input: Tensor | _int | _float | _complex, exponent: Tensor | _int | _float | _complex) -> Tensor:
    """In-place version of float_power."""
def floor(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The greatest integer not above.

    Any shape.
    """
def floor_(input: Tensor) -> Tensor:
    """In-place version of floor."""
def floor_divide(input: Tensor | _int | _float | _complex, other: Tensor | _int | _float | _complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The quotient rounded towards minus infinity.

    Shapes broadcast, and dtypes are promoted.
    """
def floor_divide_(input: Tensor | _int | _float | _complex, other: Tensor | _int | _float | _complex) -> Tensor:
    """In-place version of floor_divide."""
def fmax(input: Tensor, other: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The larger of two; a nan gives way to a number.

    Shapes broadcast, and dtypes are promoted.
    """
def fmin(input: Tensor, other: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The smaller of two; a nan gives way to a number.

    Shapes broadcast, and dtypes are promoted.
    """
def fmod(input: Tensor, other: Tensor | _int | _float | _complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The remainder with the sign of the dividend, as C's fmod.

    Shapes broadcast, and dtypes are promoted.
    """
def fmod_(input: Tensor, other: Tensor | _int | _float | _complex) -> Tensor:
    """In-place version of fmod."""
def frac(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """input - trunc(input).

    Any shape.
    """
def frac_(input: Tensor) -> Tensor:
    """In-place version of frac."""
def frexp(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> _frexp_result:
    """(mantissa, exponent) with input = mantissa * 2 ** exponent and 0.5 <= |mantissa| < 1."""
def full(size: _int | Sequence[_int], fill_value: _int | _float | _complex, *, dtype: _dtype | None = None, layout: StorageLayout | None = None, device: str | _int | _device | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """One number everywhere; its type decides the dtype unless that is given: bool, int64, the default
    floating one.
    """
def full_like(input: Tensor, fill_value: _int | _float | _complex, *, dtype: _dtype | None = None, memory_format: MemoryFormat | None = None, layout: StorageLayout | None = None, device: str | _int | _device | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False) -> Tensor:
    """One number in input's shape, dtype and strides."""
def gather(input: Tensor, dim: _int, index: Tensor, *, sparse_grad: _bool = False, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """out[.., i, ..] = input[.., index[.., i, ..], ..] along dim: of the shape of the index (int64 or int32).

    Sizes of the index are at most the input's in the other dims; nothing broadcasts. RuntimeError for these,
    and for an index outside [0, size).
    """
def gcd(input: Tensor, other: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The greatest common divisor.

    Shapes broadcast, and dtypes are promoted.
    """
def gcd_(input: Tensor, other: Tensor) -> Tensor:
    """In-place version of gcd."""
def ge(input: Tensor, other: Tensor | _int | _float | _complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """Whether input is at least other.

    Shapes broadcast, and dtypes are promoted. The result is bool.
    """
def ge_(input: Tensor, other: Tensor | _int | _float | _complex) -> Tensor:
    """In-place version of ge."""
def geqrf(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> _geqrf_result:
    """(a, tau): R above and the reflections below the diagonal, as LAPACK stores a QR decomposition."""
def ger(input: Tensor, vec2: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """All products of two vectors: (n), (m) -> (n, m)."""
def gradient(input: Tensor, *, spacing: _int | _float | _complex | Sequence[_int | _float | _complex] | Sequence[Tensor] | None = 1, dim: _int | Sequence[_int] | None = None, edge_order: _int = 1) -> tuple[Tensor, ...]:
    """Estimates of the derivatives along dims (all by default), as a tuple.

    spacing: the distance of samples, one for all or a list, or a list of vectors of sample points.
    edge_order: 1 or 2, the order of the estimates at the first and last sample.
    """
def greater(input: Tensor, other: Tensor | _int | _float | _complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """Whether input is above other.

    Shapes broadcast, and dtypes are promoted. The result is bool.
    """
def greater_(input: Tensor, other: Tensor | _int | _float | _complex) -> Tensor:
    """In-place version of gt."""
def greater_equal(input: Tensor, other: Tensor | _int | _float | _complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """Whether input is at least other.

    Shapes broadcast, and dtypes are promoted. The result is bool.
    """
def greater_equal_(input: Tensor, other: Tensor | _int | _float | _complex) -> Tensor:
    """In-place version of ge."""
def grid_sampler(input: Tensor, grid: Tensor, interpolation_mode: _int, padding_mode: _int, align_corners: _bool) -> Tensor:
    """grid_sample, with numbers for the modes."""
def grid_sampler_2d(input: Tensor, grid: Tensor, interpolation_mode: _int, padding_mode: _int, align_corners: _bool) -> Tensor:
    """grid_sample, with numbers for the modes."""
def grid_sampler_3d(input: Tensor, grid: Tensor, interpolation_mode: _int, padding_mode: _int, align_corners: _bool) -> Tensor:
    """grid_sample, with numbers for the modes."""
def group_norm(input: Tensor, num_groups: _int, weight: Tensor | None = None, bias: Tensor | None = None, eps: _float = 1e-05, cudnn_enabled: _bool = True) -> Tensor:
    """nn.functional.group_norm."""
def gru(input: Tensor, hx: Tensor, params: Sequence[Tensor], has_biases: _bool, num_layers: _int, dropout: _float, train: _bool, bidirectional: _bool, batch_first: _bool) -> tuple[Tensor, Tensor]:
    """(output, h) of a stack of GRU layers. Over packed rows: (data, batch_sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional)."""
def gru_cell(input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None) -> Tensor:
    """h' after one step of GRU: (B, in) and (B, hidden)."""
def gt(input: Tensor, other: Tensor | _int | _float | _complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """Whether input is above other.

    Shapes broadcast, and dtypes are promoted. The result is bool.
    """
def gt_(input: Tensor, other: Tensor | _int | _float | _complex) -> Tensor:
    """In-place version of gt."""
def hamming_window(window_length: _int, periodic: _bool = True, alpha: _float = 0.54, beta: _float = 0.46, *, dtype: _dtype | None = None, layout: StorageLayout | None = None, device: str | _int | _device | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False) -> Tensor:
    """alpha minus beta times a cosine."""
def hann_window(window_length: _int, periodic: _bool = True, *, dtype: _dtype | None = None, layout: StorageLayout | None = None, device: str | _int | _device | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False) -> Tensor:
    """Half of one minus a cosine."""
def hardshrink(input: Tensor, lambd: _int | _float | _complex = 0.5) -> Tensor:
    """x, 0 where |x| <= lambd.

    Any shape.
    """
def hash_tensor(input: Tensor, dim: _int | Sequence[_int] | None = (), *, keepdim: _bool = False, mode: _int = 0, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The bits of all elements, as float64 or int64, combined by xor: uint64."""
def heaviside(input: Tensor, values: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """0 below 0, `values` at 0, 1 above.

    Shapes broadcast, and dtypes are promoted.
    """
def heaviside_(input: Tensor, values: Tensor) -> Tensor:
    """In-place version of heaviside."""
def histc(input: Tensor, bins: _int = 100, min: _int | _float | _complex = 0, max: _int | _float | _complex = 0, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """How many elements fall into each of `bins` equal intervals between min and max.

    min = max takes the smallest and largest element; elements outside are left out.
    """
def histogram(input: Tensor, bins: _int | Tensor, *, range: Sequence[_float] | None = None, weight: Tensor | None = None, density: _bool = False, out: Tensor | Sequence[Tensor] | None = None) -> _histogram_result:
    """(hist, bin_edges) of all elements.

    bins: the number of bins of equal width over `range` (that of the data), or a tensor of edges.
    """
def histogramdd(input: Tensor, bins: Sequence[_int] | _int | Sequence[Tensor], range: Sequence[_float] | None = None, weight: Tensor | None = None, density: _bool = False) -> _histogramdd_result:
    """(hist, bin_edges) of points (..., D); bins: an int, a list of ints, or a list of edge tensors."""
def hsplit(input: Tensor, indices_or_sections: _int | Sequence[_int] | Tensor) -> tuple[Tensor, ...]:
    """Pieces along dim 1 (dim 0 of vectors)."""
def hstack(tensors: list[Tensor] | tuple[Tensor, ...] | Sequence[Tensor], *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """cat along the second dim; of vectors, along the first."""
def hypot(input: Tensor, other: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """sqrt(input ** 2 + other ** 2) without overflow.

    Shapes broadcast, and dtypes are promoted.
    """
def hypot_(input: Tensor, other: Tensor) -> Tensor:
    """In-place version of hypot."""
def i0(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The modified Bessel function of order 0.

    Any shape. Integers give the default floating dtype.
    """
def i0_(input: Tensor) -> Tensor:
    """In-place version of i0."""
def igamma(input: Tensor, other: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The lower regularised incomplete gamma function P(input, other).

    Shapes broadcast, and dtypes are promoted.
    """
def igamma_(input: Tensor, other: Tensor) -> Tensor:
    """In-place version of igamma."""
def igammac(input: Tensor, other: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The upper regularised incomplete gamma function Q(input, other).

    Shapes broadcast, and dtypes are promoted.
    """
def igammac_(input: Tensor, other: Tensor) -> Tensor:
    """In-place version of igammac."""
def imag(input: Tensor) -> Tensor:
    """The imaginary part, as a view."""
def index_add(input: Tensor, dim: _int, index: Tensor, source: Tensor, *, alpha: _int | _float | _complex = 1, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """input with alpha * source's slices added to the slices at `index` (int vector) along dim. A copy;
    RuntimeError outside.
    """
def index_add_(input: Tensor, dim: _int, index: Tensor, source: Tensor, *, alpha: _int | _float | _complex = 1) -> Tensor:
    """In-place version of index_add."""
def index_copy(input: Tensor, dim: _int, index: Tensor, source: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """input with the slices at `index` along dim replaced by source's slices."""
def index_copy_(input: Tensor, dim: _int, index: Tensor, source: Tensor) -> Tensor:
    """In-place version of index_copy."""
def index_fill(input: Tensor, dim: _int, index: Tensor, value: Tensor | _int | _float | _complex) -> Tensor:
    """input with the slices at `index` along dim filled with one number (or 0-d tensor)."""
def index_fill_(input: Tensor, dim: _int, index: Tensor, value: Tensor | _int | _float | _complex) -> Tensor:
    """In-place version of index_fill."""
def index_put(input: Tensor, indices: Sequence[Tensor | None], values: Tensor, accumulate: _bool = False) -> Tensor:
    """input with input[indices] = values; accumulate adds, repeated positions too."""
def index_put_(input: Tensor, indices: Sequence[Tensor | None], values: Tensor, accumulate: _bool = False) -> Tensor:
    """In-place version of index_put."""
def index_reduce(input: Tensor, dim: _int, index: Tensor, source: Tensor, reduce: str, *, include_self: _bool = True, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """input with source's slices combined in at `index`; reduce: prod, mean, amax or amin."""
def index_reduce_(input: Tensor, dim: _int, index: Tensor, source: Tensor, reduce: str, *, include_self: _bool = True) -> Tensor:
    """In-place version of index_reduce."""
def index_select(input: Tensor, dim: _int, index: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The slices of input at the positions `index` (int vector) along dim: a copy, dim of the index's size.
    IndexError outside.
    """
def inner(input: Tensor, other: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The sum of products over the last dims."""
def inverse(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """linalg.inv in its older spelling."""
def isclose(input: Tensor, other: Tensor, rtol: _float = 1e-05, atol: _float = 1e-08, equal_nan: _bool = False) -> Tensor:
    """|input - other| <= atol + rtol |other|, elementwise, as bool; infinities equal themselves, nan with
    equal_nan.
    """
def isfinite(input: Tensor) -> Tensor:
    """Whether the element is neither infinite nor nan.

    Any shape. The result is bool.
    """
def isin(elements: Tensor | _int | _float | _complex, test_elements: Tensor | _int | _float | _complex, *, assume_unique: _bool = False, invert: _bool = False, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """Whether each element is among test_elements."""
def isinf(input: Tensor) -> Tensor:
    """Whether the element is infinite.

    Any shape. The result is bool.
    """
def isnan(input: Tensor) -> Tensor:
    """Whether the element is nan.

    Any shape. The result is bool.
    """
def isneginf(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """Whether the element is -inf.

    Any shape. The result is bool.
    """
def isposinf(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """Whether the element is +inf.

    Any shape. The result is bool.
    """
def isreal(input: Tensor) -> Tensor:
    """Whether the imaginary part is 0.

    Any shape. The result is bool.
    """
def istft(input: Tensor, n_fft: _int, hop_length: _int | None = None, win_length: _int | None = None, window: Tensor | None = None, center: _bool = True, normalized: _bool = False, onesided: _bool | None = None, length: _int | None = None, return_complex: _bool = False) -> Tensor:
    """The signal (..., time) of spectra (..., frequencies, frames), by least squares: the inverse of stft."""
def kaiser_window(window_length: _int, periodic: _bool = True, beta: _float = 12.0, *, dtype: _dtype | None = None, layout: StorageLayout | None = None, device: str | _int | _device | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False) -> Tensor:
    """Bessel's i0 of an ellipse of height beta, over i0(beta)."""
def kron(input: Tensor, other: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """Kronecker's product: every element of input times the whole of other, block by block."""
def kthvalue(input: Tensor, k: _int, dim: _int = -1, keepdim: _bool = False, *, out: Tensor | Sequence[Tensor] | None = None) -> _kthvalue_result:
    """(the k-th smallest element along dim, from 1; where it is: int64), without the dim unless keepdim."""
def layer_norm(input: Tensor, normalized_shape: _int | Sequence[_int], weight: Tensor | None = None, bias: Tensor | None = None, eps: _float = 1e-05, cudnn_enable: _bool = True) -> Tensor:
    """nn.functional.layer_norm."""
def lcm(input: Tensor, other: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The least common multiple.

    Shapes broadcast, and dtypes are promoted.
    """
def lcm_(input: Tensor, other: Tensor) -> Tensor:
    """In-place version of lcm."""
def ldexp(input: Tensor, other: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """input * 2 ** other; in three steps where other is whole, so that only the result may overflow."""
def ldexp_(input: Tensor, other: Tensor) -> Tensor:
    """In-place version of ldexp."""
def le(input: Tensor, other: Tensor | _int | _float | _complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """Whether input is at most other.

    Shapes broadcast, and dtypes are promoted. The result is bool.
    """
def le_(input: Tensor, other: Tensor | _int | _float | _complex) -> Tensor:
    """In-place version of le."""
def lerp(input: Tensor, end: Tensor, weight: Tensor | _int | _float | _complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """input + weight * (end - input), exact at both ends.

    Shapes broadcast, and dtypes are promoted.
    """
def lerp_(input: Tensor, end: Tensor, weight: Tensor | _int | _float | _complex) -> Tensor:
    """In-place version of lerp."""
def less(input: Tensor, other: Tensor | _int | _float | _complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """Whether input is below other.

    Shapes broadcast, and dtypes are promoted. The result is bool.
    """
def less_(input: Tensor, other: Tensor | _int | _float | _complex) -> Tensor:
    """In-place version of lt."""
def less_equal(input: Tensor, other: Tensor | _int | _float | _complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """Whether input is at most other.

    Shapes broadcast, and dtypes are promoted. The result is bool.
    """
def less_equal_(input: Tensor, other: Tensor | _int | _float | _complex) -> Tensor:
    """In-place version of le."""
def lgamma(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The logarithm of |gamma(input)|.

    Any shape. Integers give the default floating dtype.
    """
def lgamma_(input: Tensor) -> Tensor:
    """In-place version of lgamma."""
def linspace(start: Tensor | _int | _float | _complex, end: Tensor | _int | _float | _complex, steps: _int, *, dtype: _dtype | None = None, layout: StorageLayout | None = None, device: str | _int | _device | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """`steps` values from start to end, both included; numbers or 0-d tensors."""
def log(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The natural logarithm.

    Any shape. Integers give the default floating dtype.
    """
def log10(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The logarithm to base 10.

    Any shape. Integers give the default floating dtype.
    """
def log10_(input: Tensor) -> Tensor:
    """In-place version of log10."""
def log1p(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """log(1 + input), exact near 0.

    Any shape. Integers give the default floating dtype.
    """
def log1p_(input: Tensor) -> Tensor:
    """In-place version of log1p."""
def log2(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The logarithm to base 2.

    Any shape. Integers give the default floating dtype.
    """
def log2_(input: Tensor) -> Tensor:
    """In-place version of log2."""
def log_(input: Tensor) -> Tensor:
    """In-place version of log."""
def log_softmax(input: Tensor, dim: _int, dtype: _dtype | None = None, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """log(softmax(input)) along dim, without overflow."""
def logaddexp(input: Tensor, other: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """log(exp(input) + exp(other)) without overflow.

    Shapes broadcast, and dtypes are promoted. Integers give the default floating dtype.
    """
def logaddexp2(input: Tensor, other: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """log2(2 ** input + 2 ** other) without overflow.

    Shapes broadcast, and dtypes are promoted. Integers give the default floating dtype.
    """
def logcumsumexp(input: Tensor, dim: _int, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """log of the running sums of exp(input) along dim, without overflow."""
def logdet(input: Tensor) -> Tensor:
    """log det(A) (*) of square matrices (*, n, n); -inf of a singular one, nan for a negative determinant."""
def logical_and(input: Tensor, other: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """Whether both are nonzero.

    Shapes broadcast, and dtypes are promoted. The result is bool.
    """
def logical_and_(input: Tensor, other: Tensor) -> Tensor:
    """In-place version of logical_and."""
def logical_not(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """Whether input is zero.

    Any shape. The result is bool.
    """
def logical_not_(input: Tensor) -> Tensor:
    """In-place version of logical_not."""
def logical_or(input: Tensor, other: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """Whether either is nonzero.

    Shapes broadcast, and dtypes are promoted. The result is bool.
    """
def logical_or_(input: Tensor, other: Tensor) -> Tensor:
    """In-place version of logical_or."""
def logical_xor(input: Tensor, other: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """Whether exactly one is nonzero.

    Shapes broadcast, and dtypes are promoted. The result is bool.
    """
def logical_xor_(input: Tensor, other: Tensor) -> Tensor:
    """In-place version of logical_xor."""
def logit(input: Tensor, eps: _float | None = None, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """log(x / (1 - x)); with eps, x is first clamped to [eps, 1 - eps].

    Any shape. Integers give the default floating dtype.
    """
def logit_(input: Tensor, eps: _float | None = None) -> Tensor:
    """In-place version of logit."""
def logspace(start: Tensor | _int | _float | _complex, end: Tensor | _int | _float | _complex, steps: _int, base: _float = 10.0, *, dtype: _dtype | None = None, layout: StorageLayout | None = None, device: str | _int | _device | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """base to the powers linspace(start, end, steps)."""
def logsumexp(input: Tensor, dim: _int | Sequence[_int], keepdim: _bool = False, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """log(sum(exp(input))) over dims, without overflow."""
def lstm(input: Tensor, hx: Sequence[Tensor], params: Sequence[Tensor], has_biases: _bool, num_layers: _int, dropout: _float, train: _bool, bidirectional: _bool, batch_first: _bool) -> tuple[Tensor, Tensor, Tensor]:
    """(output, h, c) of a stack of LSTM layers. Over packed rows: (data, batch_sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional)."""
def lstm_cell(input: Tensor, hx: Sequence[Tensor], w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """(h', c') after one step: (B, in) and ((B, hidden), (B, hidden)). See nn.LSTMCell."""
def lt(input: Tensor, other: Tensor | _int | _float | _complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """Whether input is below other.

    Shapes broadcast, and dtypes are promoted. The result is bool.
    """
def lt_(input: Tensor, other: Tensor | _int | _float | _complex) -> Tensor:
    """In-place version of lt."""
def lu(A: Tensor, pivot: _bool = True, get_infos: _bool = False, *, out: Tensor | Sequence[Tensor] | None = None) -> Any:
    """(LU, pivots), and infos with get_infos: linalg.lu_factor_ex in its older spelling."""
def lu_solve(input: Tensor, LU_data: Tensor, LU_pivots: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """linalg.lu_solve with its operands in the older order."""
def lu_unpack(LU_data: Tensor, LU_pivots: Tensor, unpack_data: _bool = True, unpack_pivots: _bool = True, *, out: Tensor | Sequence[Tensor] | None = None) -> _lu_unpack_result:
    """(P, L, U) of what lu_factor packs; parts that are not asked for come empty."""
def margin_ranking_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: _float = 0.0, reduction: _int | str = 1) -> Tensor:
    """The same of tensors that are broadcast; reduction also as 0 for none, 1 for the mean, 2 for the sum."""
def masked_fill(input: Tensor, mask: Tensor, value: Tensor | _int | _float | _complex) -> Tensor:
    """A copy of input (broadcast with mask, bool) with one number (or 0-d tensor) where mask is true."""
def masked_fill_(input: Tensor, mask: Tensor, value: Tensor | _int | _float | _complex) -> Tensor:
    """In-place version of masked_fill."""
def masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """input (broadcast with mask) with source's elements, in order, where mask is true."""
def masked_scatter_(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """In-place version of masked_scatter."""
def masked_select(input: Tensor, mask: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The elements of input (broadcast with mask, bool) where mask is true, as a vector: a copy in row-major
    order.
    """
def matmul(input: Tensor, other: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The matrix product: (*, n, k) @ (*, k, m) -> (*, n, m), batch dims broadcast.

    A vector counts as a row in front and as a column behind, and the dim disappears: two vectors give a
    number. RuntimeError for 0 dims, sizes that do not fit, or two dtypes.
    """
def matrix_exp(input: Tensor) -> Tensor:
    """The matrix exponential of (*, n, n): Taylor's series of a scaled matrix, then repeated squaring."""
def matrix_power(input: Tensor, n: _int, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """linalg.matrix_power in its older spelling."""
@overload
def max(input: Tensor, dim: None = None, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The largest element, or (values, indices) along dim."""
@overload
def max(input: Tensor, other: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The largest element, or (values, indices) along dim."""
@overload
def max(input: Tensor, dim: _int, keepdim: _bool = False, *, out: Tensor | Sequence[Tensor] | None = None) -> _max_result:
    """The largest element, or (values, indices) along dim."""
def max_pool1d(input: Tensor, kernel_size: _int | Sequence[_int], stride: _int | Sequence[_int] | None = None, padding: _int | Sequence[_int] = 0, dilation: _int | Sequence[_int] = 1, ceil_mode: _bool = False) -> Tensor:
    """The maximum of each window of (N, C, L) or (C, L); and its place, int64, if return_indices.

    stride: kernel_size unless given. padding counts as -inf, at most half of kernel_size. A size
    becomes (size + 2 * padding - dilation * (kernel_size - 1) - 1) // stride + 1; with ceil_mode, a
    last window that reaches over the end counts. RuntimeError where nothing is left.
    """
def max_pool1d_with_indices(input: Tensor, kernel_size: _int | Sequence[_int], stride: _int | Sequence[_int] | None = None, padding: _int | Sequence[_int] = 0, dilation: _int | Sequence[_int] = 1, ceil_mode: _bool = False, return_indices: _bool = False) -> tuple[Tensor, Tensor]:
    """The maximum of each window of (N, C, L) or (C, L); and its place, int64, if return_indices.

    stride: kernel_size unless given. padding counts as -inf, at most half of kernel_size. A size
    becomes (size + 2 * padding - dilation * (kernel_size - 1) - 1) // stride + 1; with ceil_mode, a
    last window that reaches over the end counts. RuntimeError where nothing is left.
    """
def max_pool2d(input: Tensor, kernel_size: _int | Sequence[_int], stride: _int | Sequence[_int] | None = None, padding: _int | Sequence[_int] = 0, dilation: _int | Sequence[_int] = 1, ceil_mode: _bool = False) -> Tensor:
    """The maximum of each window of (N, C, H, W) or (C, H, W); and its place, int64, if return_indices.

    stride: kernel_size unless given. padding counts as -inf, at most half of kernel_size. A size
    becomes (size + 2 * padding - dilation * (kernel_size - 1) - 1) // stride + 1; with ceil_mode, a
    last window that reaches over the end counts. RuntimeError where nothing is left.
    """
def max_pool3d(input: Tensor, kernel_size: _int | Sequence[_int], stride: _int | Sequence[_int] | None = None, padding: _int | Sequence[_int] = 0, dilation: _int | Sequence[_int] = 1, ceil_mode: _bool = False) -> Tensor:
    """The maximum of each window of (N, C, D, H, W) or (C, D, H, W); and its place, int64, if return_indices.

    stride: kernel_size unless given. padding counts as -inf, at most half of kernel_size. A size
    becomes (size + 2 * padding - dilation * (kernel_size - 1) - 1) // stride + 1; with ceil_mode, a
    last window that reaches over the end counts. RuntimeError where nothing is left.
    """
def maximum(input: Tensor, other: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The larger of two; nan if either is.

    Shapes broadcast, and dtypes are promoted.
    """
def maximum_(input: Tensor, other: Tensor) -> Tensor:
    """In-place version of maximum."""
def mean(input: Tensor, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, dtype: _dtype | None = None, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The arithmetic mean.

    dim: one or several, by default all; with keepdim they stay, with size 1. dtype: what the input is converted to first.
    """
@overload
def median(input: Tensor, dim: None = None, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The (lower) median of all elements; with dim, (values, indices) along it. nan wins."""
@overload
def median(input: Tensor, dim: _int, keepdim: _bool = False, *, out: Tensor | Sequence[Tensor] | None = None) -> _median_result:
    """The (lower) median of all elements; with dim, (values, indices) along it. nan wins."""
def meshgrid(*tensors: Tensor | Sequence[Tensor], indexing: str | None = None) -> tuple[Tensor, ...]:
    """Grids of coordinates: for each vector its values along one dim, the same in all others.

    indexing: "ij" gives dims in the order of the vectors, "xy" swaps the first two.
    """
@overload
def min(input: Tensor, dim: None = None, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The smallest element, or (values, indices) along dim."""
@overload
def min(input: Tensor, other: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The smallest element, or (values, indices) along dim."""
@overload
def min(input: Tensor, dim: _int, keepdim: _bool = False, *, out: Tensor | Sequence[Tensor] | None = None) -> _min_result:
    """The smallest element, or (values, indices) along dim."""
def minimum(input: Tensor, other: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The smaller of two; nan if either is.

    Shapes broadcast, and dtypes are promoted.
    """
def minimum_(input: Tensor, other: Tensor) -> Tensor:
    """In-place version of minimum."""
def mm(input: Tensor, mat2: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The product of two matrices: (n, k) @ (k, m) -> (n, m); both of one dtype, nothing broadcasts
    (RuntimeError).
    """
def mode(input: Tensor, dim: _int = -1, keepdim: _bool = False, *, out: Tensor | Sequence[Tensor] | None = None) -> _mode_result:
    """The most frequent element along dim (the smallest of several), and where it last is."""
def moveaxis(input: Tensor, source: _int | Sequence[_int], destination: _int | Sequence[_int]) -> Tensor:
    """Dims moved to other places, the rest in order."""
def movedim(input: Tensor, source: _int | Sequence[_int], destination: _int | Sequence[_int]) -> Tensor:
    """Dims moved to other places, the rest in order."""
def msort(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The elements in order along the first dim."""
def mul(input: Tensor | _int | _float | _complex, other: Tensor | _int | _float | _complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """input * other.

    Shapes broadcast, and dtypes are promoted.
    """
def mul_(input: Tensor | _int | _float | _complex, other: Tensor | _int | _float | _complex) -> Tensor:
    """In-place version of mul."""
def multinomial(input: Tensor, num_samples: _int, replacement: _bool = False, *, generator: Generator | None = None, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """num_samples indices (int64) for each row of weights in input, (n,) or (m, n), drawn by them.

    RuntimeError for negative or infinite weights, rows that sum to 0, and more samples than weights without
    replacement.
    """
def multiply(input: Tensor | _int | _float | _complex, other: Tensor | _int | _float | _complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """input * other.

    Shapes broadcast, and dtypes are promoted.
    """
def multiply_(input: Tensor | _int | _float | _complex, other: Tensor | _int | _float | _complex) -> Tensor:
    """In-place version of mul."""
def mv(input: Tensor, vec: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """Matrix times vector: (n, m) and (m,) -> (n,); both of one dtype (RuntimeError)."""
def mvlgamma(input: Tensor, p: _int, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The logarithm of the multivariate gamma function of dimension p.

    Any shape. Integers give the default floating dtype.
    """
def mvlgamma_(input: Tensor, p: _int) -> Tensor:
    """In-place version of mvlgamma."""
def nan_to_num(input: Tensor, nan: _float | None = None, posinf: _float | None = None, neginf: _float | None = None, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """nan and infinities as finite numbers (0, the largest and the smallest by default)."""
def nan_to_num_(input: Tensor, nan: _float | None = None, posinf: _float | None = None, neginf: _float | None = None) -> Tensor:
    """In-place version of nan_to_num."""
def nanmean(input: Tensor, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, dtype: _dtype | None = None, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The mean of what is not nan."""
@overload
def nanmedian(input: Tensor, dim: None = None, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The median of what is not nan; with dim, (values, indices) along it."""
@overload
def nanmedian(input: Tensor, dim: _int, keepdim: _bool = False, *, out: Tensor | Sequence[Tensor] | None = None) -> _nanmedian_result:
    """The median of what is not nan; with dim, (values, indices) along it."""
def nanquantile(input: Tensor, q: Tensor | _float, dim: _int | None = None, keepdim: _bool = False, *, interpolation: str = 'linear', out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """quantile of what is not nan."""
def nansum(input: Tensor, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, dtype: _dtype | None = None, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The sum of what is not nan.

    dim: one or several, by default all; with keepdim they stay, with size 1. dtype: what the input is converted to first.
    """
def narrow(input: Tensor, dim: _int, start: _int | Tensor, length: _int) -> Tensor:
    """A view of `length` elements from `start` on, along dim; RuntimeError where these are not there."""
def narrow_copy(input: Tensor, dim: _int, start: _int, length: _int, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """narrow, copied."""
def native_batch_norm(input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None, running_var: Tensor | None, training: _bool, momentum: _float, eps: _float, *, out: Tensor | Sequence[Tensor] | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """batch_norm; in training also the channels' means and 1 / sqrt(variances + eps)."""
def native_channel_shuffle(input: Tensor, groups: _int) -> Tensor:
    """Channels of (N, C, *) dealt out over groups (arXiv:1707.01083)."""
def native_dropout(input: Tensor, p: _float, train: _bool | None) -> tuple[Tensor, Tensor]:
    """(dropped input, the mask of what was kept)."""
def native_group_norm(input: Tensor, weight: Tensor | None, bias: Tensor | None, N: _int, C: _int, HxW: _int, group: _int, eps: _float) -> tuple[Tensor, Tensor, Tensor]:
    """group_norm of (N, C, *), HxW elements a channel; the groups' means, and 1 / sqrt(variances + eps)."""
def native_layer_norm(input: Tensor, normalized_shape: _int | Sequence[_int], weight: Tensor | None, bias: Tensor | None, eps: _float) -> tuple[Tensor, Tensor, Tensor]:
    """layer_norm, the means of the rows, and 1 / sqrt(their variances + eps); these without gradients."""
def ne(input: Tensor, other: Tensor | _int | _float | _complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """Whether input differs from other.

    Shapes broadcast, and dtypes are promoted. The result is bool.
    """
def ne_(input: Tensor, other: Tensor | _int | _float | _complex) -> Tensor:
    """In-place version of ne."""
def neg(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """-input.

    Any shape.
    """
def neg_(input: Tensor) -> Tensor:
    """In-place version of neg."""
def negative(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """-input.

    Any shape.
    """
def negative_(input: Tensor) -> Tensor:
    """In-place version of neg."""
def nextafter(input: Tensor, other: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The next floating-point number from input towards other.

    Shapes broadcast, and dtypes are promoted.
    """
def nextafter_(input: Tensor, other: Tensor) -> Tensor:
    """In-place version of nextafter."""
@overload
def nonzero(input: Tensor, *, as_tuple: Literal[False] = False, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The positions of the nonzero elements: int64 (count, dims), in row-major order; with as_tuple an index
    per dim.
    """
@overload
def nonzero(input: Tensor, *, as_tuple: Literal[True], out: Tensor | Sequence[Tensor] | None = None) -> tuple[Tensor, ...]:
    """The positions of the nonzero elements: int64 (count, dims), in row-major order; with as_tuple an index
    per dim.
    """
@overload
def nonzero(input: Tensor, *, as_tuple: _bool = False, out: Tensor | Sequence[Tensor] | None = None) -> Any:
    """The positions of the nonzero elements: int64 (count, dims), in row-major order; with as_tuple an index
    per dim.
    """
def nonzero_static(input: Tensor, *, size: _int, fill_value: _int = -1, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """nonzero with exactly `size` rows: cut off, or filled up with fill_value."""
def norm(input: Tensor, p: _int | _float | _complex | str | None = 'fro', dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, dtype: _dtype | None = None, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The vector norm of order p over dims (Frobenius: 2)."""
def normal(mean: Tensor | _int | _float | _complex, std: Tensor | _int | _float | _complex = 1.0, size: _int | Sequence[_int] | None = None, *, generator: Generator | None = None, dtype: _dtype | None = None, layout: StorageLayout | None = None, device: str | _int | _device | None = None, pin_memory: _bool = False, requires_grad: _bool = False, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """Normals: normal(mean, std) with a tensor among them, or normal(mean, std, size)."""
def not_equal(input: Tensor, other: Tensor | _int | _float | _complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """Whether input differs from other.

    Shapes broadcast, and dtypes are promoted. The result is bool.
    """
def not_equal_(input: Tensor, other: Tensor | _int | _float | _complex) -> Tensor:
    """In-place version of ne."""
@overload
def ones(*size: _int, dtype: _dtype | None = None, layout: StorageLayout | None = None, device: str | _int | _device | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """Ones."""
@overload
def ones(size: Sequence[_int], *, dtype: _dtype | None = None, layout: StorageLayout | None = None, device: str | _int | _device | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """Ones."""
def ones_like(input: Tensor, *, dtype: _dtype | None = None, memory_format: MemoryFormat | None = None, layout: StorageLayout | None = None, device: str | _int | _device | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False) -> Tensor:
    """Ones of input's shape, dtype and strides."""
def orgqr(input: Tensor, tau: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The first columns of the product of the reflections that (input, tau) hold, as geqrf gives them."""
def ormqr(input: Tensor, tau: Tensor, other: Tensor, left: _bool = True, transpose: _bool = False, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """Q @ other (Q^H @ other with transpose; from the right without left), for geqrf's reflections."""
def outer(input: Tensor, vec2: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """All products of two vectors: (n), (m) -> (n, m)."""
def pairwise_distance(x1: Tensor, x2: Tensor, p: _float = 2.0, eps: _float = 1e-06, keepdim: _bool = False) -> Tensor:
    """The p-norm of x1 - x2 + eps along the last dim."""
def pca_lowrank(A: Tensor, q: _int | None = None, center: _bool = True, niter: _int = 2) -> tuple[Tensor, Tensor, Tensor]:
    """Principal components: svd_lowrank of A less the mean of its rows; q: min(6, m, n) unless given."""
def pdist(input: Tensor, p: _float = 2.0) -> Tensor:
    """The distances between all pairs of rows i < j of a matrix, as a vector."""
@overload
def permute(input: Tensor, *dims: _int) -> Tensor:
    """The dims in another order."""
@overload
def permute(input: Tensor, dims: Sequence[_int]) -> Tensor:
    """The dims in another order."""
@overload
def permute_copy(input: Tensor, *dims: _int, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """permute, copied."""
@overload
def permute_copy(input: Tensor, dims: Sequence[_int], *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """permute, copied."""
def pinverse(input: Tensor, rcond: _float = 1e-15) -> Tensor:
    """linalg.pinv in its older spelling."""
def pixel_shuffle(input: Tensor, upscale_factor: _int) -> Tensor:
    """(*, C r r, H, W) -> (*, C, H r, W r) (arXiv:1609.05158)."""
def pixel_unshuffle(input: Tensor, downscale_factor: _int) -> Tensor:
    """(*, C, H r, W r) -> (*, C r r, H, W)."""
def poisson(input: Tensor, generator: Generator | None = None) -> Tensor:
    """For each rate in input a Poisson number, in input's dtype."""
def polar(abs: Tensor, angle: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """abs * (cos(angle) + i * sin(angle)), of two real tensors of one dtype."""
def polygamma(n: _int, input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The n-th derivative of digamma.

    Any shape. Integers give the default floating dtype.
    """
def positive(input: Tensor) -> Tensor:
    """input itself."""
def pow(input: Tensor | _int | _float | _complex, exponent: Tensor | _int | _float | _complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """input to the power of exponent.

    Shapes broadcast, and dtypes are promoted.
    """
def pow_(input: Tensor | _int | _float | _complex, exponent: Tensor | _int | _float | _complex) -> Tensor:
    """In-place version of pow."""
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """x above 0, else weight * x, with one weight, or one a channel (arXiv:1502.01852)."""
def prod(input: Tensor, dim: _int | None = None, keepdim: _bool = False, *, dtype: _dtype | None = None, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The product of all elements, or along one dim."""
def put(input: Tensor, index: Tensor, source: Tensor, accumulate: _bool = False) -> Tensor:
    """input, seen as flat, with source written (or added) at the positions `index`."""
def put_(input: Tensor, index: Tensor, source: Tensor, accumulate: _bool = False) -> Tensor:
    """In-place version of put."""
def qr(input: Tensor, some: _bool = True, *, out: Tensor | Sequence[Tensor] | None = None) -> _qr_result:
    """linalg.qr in its older spelling."""
def quantile(input: Tensor, q: Tensor | _float, dim: _int | None = None, keepdim: _bool = False, *, interpolation: str = 'linear', out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The values below which fractions q of the elements lie; nan where one is nan."""
def rad2deg(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """Radians as degrees.

    Any shape. Integers give the default floating dtype.
    """
def rad2deg_(input: Tensor) -> Tensor:
    """In-place version of rad2deg."""
@overload
def rand(*size: _int, generator: Generator | None = None, dtype: _dtype | None = None, device: str | _int | _device | None = None, layout: StorageLayout | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """Uniforms of [0, 1)."""
@overload
def rand(size: Sequence[_int], *, generator: Generator | None = None, dtype: _dtype | None = None, device: str | _int | _device | None = None, layout: StorageLayout | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """Uniforms of [0, 1)."""
def rand_like(input: Tensor, *, generator: Generator | None = None, dtype: _dtype | None = None, device: str | _int | _device | None = None, memory_format: MemoryFormat | None = None, layout: StorageLayout | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False) -> Tensor:
    """Uniforms of [0, 1) in input's shape, dtype and strides."""
@overload
def randint(high: _int, size: Sequence[_int], *, dtype: _dtype | None = None, device: str | _int | _device | None = None, layout: StorageLayout | None = None, pin_memory: _bool | None = False, generator: Generator | None = None, requires_grad: _bool | None = False, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """Integers of [low, high), or of [0, high) for randint(high, size); int64 unless dtype says else."""
@overload
def randint(low: _int, high: _int, size: Sequence[_int], *, dtype: _dtype | None = None, device: str | _int | _device | None = None, layout: StorageLayout | None = None, pin_memory: _bool | None = False, generator: Generator | None = None, requires_grad: _bool | None = False, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """Integers of [low, high), or of [0, high) for randint(high, size); int64 unless dtype says else."""
def randint_like(input: Tensor, low: _int | None = None, high: _int | Tensor | None = None, *, generator: Generator | None = None, dtype: _dtype | None = None, device: str | _int | _device | None = None, memory_format: MemoryFormat | None = None, layout: StorageLayout | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False) -> Tensor:
    """Integers of [low, high), or of [0, high) for one bound, in input's shape, dtype, strides."""
@overload
def randn(*size: _int, generator: Generator | None = None, dtype: _dtype | None = None, device: str | _int | _device | None = None, layout: StorageLayout | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """Normals of mean 0 and variance 1."""
@overload
def randn(size: Sequence[_int], *, generator: Generator | None = None, dtype: _dtype | None = None, device: str | _int | _device | None = None, layout: StorageLayout | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """Normals of mean 0 and variance 1."""
def randn_like(input: Tensor, *, generator: Generator | None = None, dtype: _dtype | None = None, device: str | _int | _device | None = None, memory_format: MemoryFormat | None = None, layout: StorageLayout | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False) -> Tensor:
    """Normals of mean 0 and variance 1 in input's shape, dtype and strides."""
def randperm(n: _int, *, generator: Generator | None = None, dtype: _dtype | None = None, device: str | _int | _device | None = None, layout: StorageLayout | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """0 .. n - 1 in random order: int64 (n,)."""
def range(start: _int | _float | _complex = 0, end: _int | _float | _complex | None = None, step: _int | _float | _complex = 1, *, dtype: _dtype | None = None, layout: StorageLayout | None = None, device: str | _int | _device | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """start, start + step, ... with end included; deprecated in favour of arange."""
def ravel(input: Tensor) -> Tensor:
    """All dims as one."""
def real(input: Tensor) -> Tensor:
    """The real part, as a view; a real tensor is returned as it is."""
def reciprocal(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """1 / input.

    Any shape. Integers give the default floating dtype.
    """
def reciprocal_(input: Tensor) -> Tensor:
    """In-place version of reciprocal."""
def relu(input: Tensor, inplace: _bool = False) -> Tensor:
    """max(input, 0), nan kept; its gradient at 0 is 0.

    Any shape.
    """
def relu_(input: Tensor) -> Tensor:
    """In-place version of relu."""
def remainder(input: Tensor | _int | _float | _complex, other: Tensor | _int | _float | _complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The remainder with the sign of the divisor, as Python's %.

    Shapes broadcast, and dtypes are promoted.
    """
def remainder_(input: Tensor | _int | _float | _complex, other: Tensor | _int | _float | _complex) -> Tensor:
    """In-place version of remainder."""
def renorm(input: Tensor, p: _int | _float | _complex, dim: _int, maxnorm: _int | _float | _complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """input with each slice along dim scaled down so that its p-norm is at most maxnorm."""
def renorm_(input: Tensor, p: _int | _float | _complex, dim: _int, maxnorm: _int | _float | _complex) -> Tensor:
    """In-place version of renorm."""
@overload
def repeat_interleave(repeats: Tensor, *, output_size: _int | None = None) -> Tensor:
    """Each element (or slice along dim) several times, one copy after the other.

    repeats: an int, or an int tensor with one number for each slice. With repeats alone, the
    positions repeated by it. dim None flattens input.
    """
@overload
def repeat_interleave(input: Tensor, repeats: Tensor | _int, dim: _int | None = None, *, output_size: _int | None = None) -> Tensor:
    """Each element (or slice along dim) several times, one copy after the other.

    repeats: an int, or an int tensor with one number for each slice. With repeats alone, the
    positions repeated by it. dim None flattens input.
    """
@overload
def reshape(input: Tensor, *shape: _int) -> Tensor:
    """The elements in row-major order in another shape: a view where one exists, else a copy.

    One size may be -1: what is left. RuntimeError where the sizes do not multiply to the number of elements.
    """
@overload
def reshape(input: Tensor, shape: Sequence[_int]) -> Tensor:
    """The elements in row-major order in another shape: a view where one exists, else a copy.

    One size may be -1: what is left. RuntimeError where the sizes do not multiply to the number of elements.
    """
def resolve_conj(input: Tensor) -> Tensor:
    """A copy of a view that is conjugated when it is read; another tensor as it is."""
def resolve_neg(input: Tensor) -> Tensor:
    """A copy of a view that is negated when it is read; another tensor as it is."""
def rms_norm(input: Tensor, normalized_shape: _int | Sequence[_int], weight: Tensor | None = None, eps: _float | None = None) -> Tensor:
    """x / sqrt(mean(x ** 2) + eps) * weight over the last dims (arXiv:1910.07467)."""
def rnn_relu(input: Tensor, hx: Tensor, params: Sequence[Tensor], has_biases: _bool, num_layers: _int, dropout: _float, train: _bool, bidirectional: _bool, batch_first: _bool) -> tuple[Tensor, Tensor]:
    """(output, h) of a stack of RNN_RELU layers. Over packed rows: (data, batch_sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional)."""
def rnn_relu_cell(input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None) -> Tensor:
    """h' after one step of RNN_RELU: (B, in) and (B, hidden)."""
def rnn_tanh(input: Tensor, hx: Tensor, params: Sequence[Tensor], has_biases: _bool, num_layers: _int, dropout: _float, train: _bool, bidirectional: _bool, batch_first: _bool) -> tuple[Tensor, Tensor]:
    """(output, h) of a stack of RNN_TANH layers. Over packed rows: (data, batch_sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional)."""
def rnn_tanh_cell(input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None) -> Tensor:
    """h' after one step of RNN_TANH: (B, in) and (B, hidden)."""
def roll(input: Tensor, shifts: _int | Sequence[_int], dims: _int | Sequence[_int] | None = ()) -> Tensor:
    """The elements moved on by shifts along dims, those that fall off entering at the start."""
def rot90(input: Tensor, k: _int = 1, dims: _int | Sequence[_int] = (0, 1)) -> Tensor:
    """Turned k times by 90 degrees in the plane of two dims."""
def round(input: Tensor, *, decimals: _int | None = None, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The nearest integer, halves to even; `decimals` digits after the point.

    Any shape.
    """
def round_(input: Tensor, *, decimals: _int | None = None) -> Tensor:
    """In-place version of round."""
def row_stack(tensors: list[Tensor] | tuple[Tensor, ...] | Sequence[Tensor], *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """cat along the first dim, vectors being rows."""
def rrelu(input: Tensor, lower: _float = 0.125, upper: _float = 0.3333333333333333, training: _bool = False, generator: Generator | None = None) -> Tensor:
    """input where positive, else input times a slope: random while training, else the mean one."""
def rrelu_(input: Tensor, lower: _float = 0.125, upper: _float = 0.3333333333333333, training: _bool = False, generator: Generator | None = None) -> Tensor:
    """rrelu in place."""
def rsqrt(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """1 / sqrt(input).

    Any shape. Integers give the default floating dtype.
    """
def rsqrt_(input: Tensor) -> Tensor:
    """In-place version of rsqrt."""
def rsub(input: Tensor, other: Tensor | _int | _float | _complex, *, alpha: _int | _float | _complex = 1) -> Tensor:
    """other - alpha * input.

    Shapes broadcast, and dtypes are promoted.
    """
def scalar_tensor(s: _int | _float | _complex, *, dtype: _dtype | None = None, layout: StorageLayout | None = None, device: str | _int | _device | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False) -> Tensor:
    """One number as a 0-d tensor of the default dtype."""
def scatter(input: Tensor, dim: _int, index: Tensor, src: Tensor | _int | _float | _complex | None = None, value: _int | _float | _complex | None = None, *, reduce: str | None = None, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """input with src (or one number) written at [.., index[.., i, ..], ..] along dim.

    reduce: None writes; "add" and "multiply" combine with what is there.
    """
def scatter_(input: Tensor, dim: _int, index: Tensor, src: Tensor | _int | _float | _complex | None = None, value: _int | _float | _complex | None = None, *, reduce: str | None = None) -> Tensor:
    """In-place version of scatter."""
def scatter_add(input: Tensor, dim: _int, index: Tensor, src: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """input with src added at [.., index[.., i, ..], ..] along dim; index is int64, its sizes at most src's.
    A copy.
    """
def scatter_add_(input: Tensor, dim: _int, index: Tensor, src: Tensor) -> Tensor:
    """In-place version of scatter_add."""
def scatter_reduce(input: Tensor, dim: _int, index: Tensor, src: Tensor, reduce: str, *, include_self: _bool = True, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """input with src combined in along dim; reduce: "sum", "prod", "mean", "amax" or "amin".

    include_self: whether the elements of input that are written to take part.
    """
def scatter_reduce_(input: Tensor, dim: _int, index: Tensor, src: Tensor, reduce: str, *, include_self: _bool = True) -> Tensor:
    """In-place version of scatter_reduce."""
def searchsorted(sorted_sequence: Tensor, input: Tensor | _int | _float | _complex, *, out_int32: _bool = False, right: _bool = False, side: str | None = None, sorter: Tensor | None = None, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """Where each value would be put into the sorted last dim of sorted_sequence: int64 (int32 with
    out_int32), values' shape.
    """
def segment_reduce(data: Tensor, reduce: str, *, lengths: Tensor | None = None, indices: Tensor | None = None, offsets: Tensor | None = None, axis: _int = 0, unsafe: _bool = False, initial: _int | _float | _complex | None = None, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """Each segment of rows along axis (by lengths or offsets) reduced: sum, mean, prod, max or min."""
def select(input: Tensor, dim: _int, index: _int) -> Tensor:
    """One slice along dim; dim disappears."""
def select_copy(input: Tensor, dim: _int, index: _int, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """select, copied."""
def select_scatter(input: Tensor, src: Tensor, dim: _int, index: _int) -> Tensor:
    """input with input.select(dim, index) replaced by src."""
def selu(input: Tensor, inplace: _bool = False) -> Tensor:
    """elu scaled so that unit variance is kept (arXiv:1706.02515).

    Any shape.
    """
def selu_(input: Tensor) -> Tensor:
    """In-place version of selu."""
def sgn(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The sign; of a complex number, input / |input|.

    Any shape.
    """
def sgn_(input: Tensor) -> Tensor:
    """In-place version of sgn."""
def sigmoid(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """1 / (1 + exp(-input)).

    Any shape. Integers give the default floating dtype.
    """
def sigmoid_(input: Tensor) -> Tensor:
    """In-place version of sigmoid."""
def sign(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """-1, 0 or 1.

    Any shape.
    """
def sign_(input: Tensor) -> Tensor:
    """In-place version of sign."""
def signbit(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """Whether the sign bit is set (of -0.0 too).

    Any shape. The result is bool.
    """
def sin(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The sine of radians.

    Any shape. Integers give the default floating dtype.
    """
def sin_(input: Tensor) -> Tensor:
    """In-place version of sin."""
def sinc(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """sin(pi x) / (pi x), 1 at 0.

    Any shape. Integers give the default floating dtype.
    """
def sinc_(input: Tensor) -> Tensor:
    """In-place version of sinc."""
def sinh(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The hyperbolic sine.

    Any shape. Integers give the default floating dtype.
    """
def sinh_(input: Tensor) -> Tensor:
    """In-place version of sinh."""
def slice_copy(input: Tensor, dim: _int = 0, start: _int | None = None, end: _int | None = None, step: _int = 1, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """slice, copied."""
def slice_scatter(input: Tensor, src: Tensor, dim: _int = 0, start: _int | None = None, end: _int | None = None, step: _int = 1, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """input with the elements start, start + step, ... before end along dim replaced by src."""
def slogdet(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> _slogdet_result:
    """linalg.slogdet in its older spelling."""
def softmax(input: Tensor, dim: _int, dtype: _dtype | None = None, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """exp(input) / sum(exp(input)) along dim; `dtype` converts the input first."""
def sort(input: Tensor, dim: _int = -1, descending: _bool = False, stable: _bool | None = False, *, out: Tensor | Sequence[Tensor] | None = None) -> _sort_result:
    """(the elements in order along dim, where each was: int64), both of the input's shape; equal ones keep
    their order.
    """
def split(input: Tensor, split_size_or_sections: _int | Sequence[_int], dim: _int = 0) -> tuple[Tensor, ...]:
    """Views: pieces of split_size along dim (the last may be smaller), or of a list of sizes, which sum to
    the dim's.
    """
def split_copy(input: Tensor, split_size_or_sections: _int | Sequence[_int], dim: _int = 0, *, out: Tensor | Sequence[Tensor] | None = None) -> tuple[Tensor, ...]:
    """split, copied."""
def split_with_sizes(input: Tensor, split_sizes: _int | Sequence[_int], dim: _int = 0) -> tuple[Tensor, ...]:
    """Pieces of the given sizes along dim, as views."""
def split_with_sizes_copy(input: Tensor, split_sizes: _int | Sequence[_int], dim: _int = 0, *, out: Tensor | Sequence[Tensor] | None = None) -> tuple[Tensor, ...]:
    """split_with_sizes, copied."""
def sqrt(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The square root.

    Any shape. Integers give the default floating dtype.
    """
def sqrt_(input: Tensor) -> Tensor:
    """In-place version of sqrt."""
def square(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """input squared.

    Any shape.
    """
def square_(input: Tensor) -> Tensor:
    """In-place version of square."""
@overload
def squeeze(input: Tensor, *dim: _int) -> Tensor:
    """Without dims of size 1 (only those named)."""
@overload
def squeeze(input: Tensor, dim: Sequence[_int] | None = None) -> Tensor:
    """Without dims of size 1 (only those named)."""
@overload
def squeeze_(input: Tensor, *dim: _int) -> Tensor:
    """In-place version of squeeze."""
@overload
def squeeze_(input: Tensor, dim: Sequence[_int] | None = None) -> Tensor:
    """In-place version of squeeze."""
@overload
def squeeze_copy(input: Tensor, *dim: _int, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """squeeze, copied."""
@overload
def squeeze_copy(input: Tensor, dim: Sequence[_int] | None = None, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """squeeze, copied."""
def stack(tensors: list[Tensor] | tuple[Tensor, ...] | Sequence[Tensor], dim: _int = 0, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The tensors, all of one shape (RuntimeError), side by side along a new dim: k of (a, b) and dim 0 give
    (k, a, b).
    """
def std(input: Tensor, dim: _int | Sequence[_int] | _bool | None = None, unbiased: _bool | None = None, keepdim: _bool = False, *, correction: _int | _float | _complex | None = None, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The standard deviation: the square root of var."""
def std_mean(input: Tensor, dim: _int | Sequence[_int] | _bool | None = None, unbiased: _bool | None = None, keepdim: _bool = False, *, correction: _int | _float | _complex | None = None) -> tuple[Tensor, Tensor]:
    """(std, mean)."""
def stft(input: Tensor, n_fft: _int, hop_length: _int | None = None, win_length: _int | None = None, window: Tensor | None = None, center: _bool = True, pad_mode: str = 'reflect', normalized: _bool = False, onesided: _bool | None = None, return_complex: _bool | None = None, align_to_window: _bool | None = None) -> Tensor:
    """Spectra (..., frequencies, frames) of windows of a signal (..., time), hop_length apart.

    center: frames are centered at multiples of hop_length, the signal continued by pad_mode.
    normalized: spectra are divided by sqrt(n_fft).
    """
def sub(input: Tensor | _int | _float | _complex, other: Tensor | _int | _float | _complex, *, alpha: _int | _float | _complex = 1, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """input - alpha * other.

    Shapes broadcast, and dtypes are promoted.
    """
def sub_(input: Tensor | _int | _float | _complex, other: Tensor | _int | _float | _complex, *, alpha: _int | _float | _complex = 1) -> Tensor:
    """In-place version of sub."""
def subtract(input: Tensor | _int | _float | _complex, other: Tensor | _int | _float | _complex, *, alpha: _int | _float | _complex = 1, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """input - alpha * other.

    Shapes broadcast, and dtypes are promoted.
    """
def subtract_(input: Tensor | _int | _float | _complex, other: Tensor | _int | _float | _complex, *, alpha: _int | _float | _complex = 1) -> Tensor:
    """In-place version of sub."""
def sum(input: Tensor, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, dtype: _dtype | None = None, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The sum; integers are added up in int64.

    dim: one or several, by default all; with keepdim they stay, with size 1. dtype: what the input is converted to first.
    """
def svd(input: Tensor, some: _bool = True, compute_uv: _bool = True, *, out: Tensor | Sequence[Tensor] | None = None) -> _svd_result:
    """(U, S, V) with input = U diag(S) V^H; zeros for U and V without compute_uv."""
def svd_lowrank(A: Tensor, q: _int | None = 6, niter: _int | None = 2, M: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """(U, S, V) with A - M near U diag(S) V^H and q singular values (draws random numbers)."""
def swapaxes(input: Tensor, dim0: _int, dim1: _int) -> Tensor:
    """Swap two dims."""
def swapaxes_(input: Tensor, dim0: _int, dim1: _int) -> Tensor:
    """In-place version of transpose."""
def swapdims(input: Tensor, dim0: _int, dim1: _int) -> Tensor:
    """Swap two dims."""
def swapdims_(input: Tensor, dim0: _int, dim1: _int) -> Tensor:
    """In-place version of transpose."""
def t(input: Tensor) -> Tensor:
    """The transpose of a matrix; vectors stay as they are."""
def t_(input: Tensor) -> Tensor:
    """In-place version of t."""
def t_copy(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """t, copied."""
def take(input: Tensor, index: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The elements of input, seen as flat, at the positions `index` (int64), in the index's shape; IndexError
    outside.
    """
def take_along_dim(input: Tensor, indices: Tensor, dim: _int | None = None, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """gather with indices broadcast to input's other dims; dim None flattens input first."""
def tan(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The tangent of radians.

    Any shape. Integers give the default floating dtype.
    """
def tan_(input: Tensor) -> Tensor:
    """In-place version of tan."""
def tanh(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The hyperbolic tangent.

    Any shape. Integers give the default floating dtype.
    """
def tanh_(input: Tensor) -> Tensor:
    """In-place version of tanh."""
def tensor_split(input: Tensor, indices_or_sections: _int | Sequence[_int] | Tensor, dim: _int = 0) -> tuple[Tensor, ...]:
    """Pieces cut at indices, or a number of nearly equal pieces."""
def tensordot(a: Tensor, b: Tensor, dims: Any = 2, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The sum of products over given dims of both, the rest of a's dims before b's."""
@overload
def tile(input: Tensor, *dims: _int) -> Tensor:
    """repeat, where fewer repeats than dims leave the first dims alone."""
@overload
def tile(input: Tensor, dims: Sequence[_int]) -> Tensor:
    """repeat, where fewer repeats than dims leave the first dims alone."""
def topk(input: Tensor, k: _int, dim: _int = -1, largest: _bool = True, sorted: _bool = True, *, out: Tensor | Sequence[Tensor] | None = None) -> _topk_result:
    """(the k largest, or smallest, elements along dim, in order; where they are: int64), both with size k
    there.

    RuntimeError where k is more than the dim's size.
    """
def trace(input: Tensor) -> Tensor:
    """The sum of a matrix's diagonal."""
def transpose(input: Tensor, dim0: _int, dim1: _int) -> Tensor:
    """Swap two dims."""
def transpose_(input: Tensor, dim0: _int, dim1: _int) -> Tensor:
    """In-place version of transpose."""
def transpose_copy(input: Tensor, dim0: _int, dim1: _int, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """transpose, copied."""
def trapezoid(y: Tensor, x: Tensor | None = None, *, dx: _int | _float | _complex | None = None, dim: _int = -1) -> Tensor:
    """The integral along dim of samples y, at points x or at distances dx (1)."""
def trapz(y: Tensor, x: Tensor | None = None, *, dx: _int | _float | _complex | None = None, dim: _int = -1) -> Tensor:
    """The integral along dim of samples y, at points x or at distances dx (1)."""
def triangular_solve(input: Tensor, A: Tensor, upper: _bool = True, transpose: _bool = False, unitriangular: _bool = False, *, out: Tensor | Sequence[Tensor] | None = None) -> _triangular_solve_result:
    """(solution, a copy of A): linalg.solve_triangular in its older spelling."""
def tril(input: Tensor, diagonal: _int = 0, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The elements on and below a diagonal, zeros elsewhere."""
def tril_(input: Tensor, diagonal: _int = 0) -> Tensor:
    """In-place version of tril."""
def tril_indices(row: _int, col: _int, offset: _int = 0, *, dtype: _dtype = ..., layout: StorageLayout | None = None, device: str | _int | _device | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False) -> Tensor:
    """Row and column numbers of the lower triangle of a row x col matrix, row by row."""
def triu(input: Tensor, diagonal: _int = 0, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The elements on and above a diagonal, zeros elsewhere."""
def triu_(input: Tensor, diagonal: _int = 0) -> Tensor:
    """In-place version of triu."""
def triu_indices(row: _int, col: _int, offset: _int = 0, *, dtype: _dtype = ..., layout: StorageLayout | None = None, device: str | _int | _device | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False) -> Tensor:
    """Row and column numbers of the upper triangle of a row x col matrix, row by row."""
def true_divide(input: Tensor | _int | _float | _complex, other: Tensor | _int | _float | _complex, *, rounding_mode: str | None = None, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """input / other; rounding_mode "trunc" or "floor" rounds the quotient."""
def true_divide_(input: Tensor | _int | _float | _complex, other: Tensor | _int | _float | _complex, *, rounding_mode: str | None = None) -> Tensor:
    """In-place version of div."""
def trunc(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The integer part.

    Any shape.
    """
def trunc_(input: Tensor) -> Tensor:
    """In-place version of trunc."""
def unbind(input: Tensor, dim: _int = 0) -> tuple[Tensor, ...]:
    """All slices along dim, as a tuple of views without that dim."""
def unbind_copy(input: Tensor, dim: _int = 0, *, out: Tensor | Sequence[Tensor] | None = None) -> tuple[Tensor, ...]:
    """unbind, copied."""
def unflatten(input: Tensor, dim: _int, sizes: _int | Sequence[_int]) -> Tensor:
    """One dim cut into several; one of them may be -1."""
def unfold_copy(input: Tensor, dimension: _int, size: _int, step: _int, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """unfold, copied."""
@overload
def unique(input: Tensor, sorted: _bool = True, return_inverse: Literal[False] = False, return_counts: Literal[False] = False, dim: _int | None = None) -> Tensor:
    """The different elements in order (slices, with dim), where each element went, and counts."""
@overload
def unique(input: Tensor, sorted: _bool = True, return_counts: _bool = False, dim: _int | None = None, *, return_inverse: Literal[True]) -> tuple[Tensor, ...]:
    """The different elements in order (slices, with dim), where each element went, and counts."""
@overload
def unique(input: Tensor, sorted: _bool = True, return_inverse: _bool = False, dim: _int | None = None, *, return_counts: Literal[True]) -> tuple[Tensor, ...]:
    """The different elements in order (slices, with dim), where each element went, and counts."""
@overload
def unique(input: Tensor, sorted: _bool = True, return_inverse: _bool = False, return_counts: _bool = False, dim: _int | None = None) -> Any:
    """The different elements in order (slices, with dim), where each element went, and counts."""
@overload
def unique_consecutive(input: Tensor, return_inverse: Literal[False] = False, return_counts: Literal[False] = False, dim: _int | None = None) -> Tensor:
    """The elements (slices, with dim) without those that equal their predecessor."""
@overload
def unique_consecutive(input: Tensor, return_counts: _bool = False, dim: _int | None = None, *, return_inverse: Literal[True]) -> tuple[Tensor, ...]:
    """The elements (slices, with dim) without those that equal their predecessor."""
@overload
def unique_consecutive(input: Tensor, return_inverse: _bool = False, dim: _int | None = None, *, return_counts: Literal[True]) -> tuple[Tensor, ...]:
    """The elements (slices, with dim) without those that equal their predecessor."""
@overload
def unique_consecutive(input: Tensor, return_inverse: _bool = False, return_counts: _bool = False, dim: _int | None = None) -> Any:
    """The elements (slices, with dim) without those that equal their predecessor."""
def unravel_index(indices: Tensor, shape: Any) -> tuple[Tensor, ...]:
    """The coordinates of flat positions in a tensor of `shape`, one tensor per dim."""
def unsafe_chunk(input: Tensor, chunks: _int, dim: _int = 0) -> tuple[Tensor, ...]:
    """chunk, for callers who write to the parts."""
def unsafe_split(input: Tensor, split_size_or_sections: _int | Sequence[_int], dim: _int = 0) -> tuple[Tensor, ...]:
    """split, for callers who write to the parts."""
def unsafe_split_with_sizes(input: Tensor, split_sizes: _int | Sequence[_int], dim: _int = 0) -> tuple[Tensor, ...]:
    """split_with_sizes, for callers who write to the parts."""
def unsqueeze(input: Tensor, dim: _int) -> Tensor:
    """With a dim of size 1 put in at `dim`."""
def unsqueeze_(input: Tensor, dim: _int) -> Tensor:
    """In-place version of unsqueeze."""
def unsqueeze_copy(input: Tensor, dim: _int, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """unsqueeze, copied."""
def vander(x: Tensor, N: _int | None = None, increasing: _bool = False) -> Tensor:
    """The powers of a vector's elements as rows: x**(N-1), ..., x, 1, or increasing."""
def var(input: Tensor, dim: _int | Sequence[_int] | _bool | None = None, unbiased: _bool | None = None, keepdim: _bool = False, *, correction: _int | _float | _complex | None = None, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The variance: squared distances from the mean over n - correction (1 by default)."""
def var_mean(input: Tensor, dim: _int | Sequence[_int] | _bool | None = None, unbiased: _bool | None = None, keepdim: _bool = False, *, correction: _int | _float | _complex | None = None) -> tuple[Tensor, Tensor]:
    """(var, mean)."""
def vdot(input: Tensor, other: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The dot product with the first vector conjugated."""
def view_as_complex(input: Tensor) -> Tensor:
    """A real tensor with a last dim of 2 as a complex one."""
def view_as_complex_copy(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """view_as_complex, copied."""
def view_as_real(input: Tensor) -> Tensor:
    """A complex tensor as a real one with a last dim of (real, imaginary)."""
def view_as_real_copy(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """view_as_real, copied."""
def view_copy(input: Tensor, size: _int | Sequence[_int] | None = None, *, dtype: _dtype | None = None, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """view, copied: in another shape, or its bytes as another dtype."""
def vsplit(input: Tensor, indices_or_sections: _int | Sequence[_int] | Tensor) -> tuple[Tensor, ...]:
    """Pieces along dim 0."""
def vstack(tensors: list[Tensor] | tuple[Tensor, ...] | Sequence[Tensor], *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """cat along the first dim, vectors being rows."""
@overload
def where(condition: Tensor, input: Tensor | _int | _float | _complex, other: Tensor | _int | _float | _complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """input where condition (bool), else other; all three broadcast, and the two's dtypes are promoted.

    With a condition alone, nonzero(as_tuple=True).
    """
@overload
def where(condition: Tensor, input: None = None, other: None = None, *, out: Tensor | Sequence[Tensor] | None = None) -> tuple[Tensor, ...]:
    """input where condition (bool), else other; all three broadcast, and the two's dtypes are promoted.

    With a condition alone, nonzero(as_tuple=True).
    """
def xlogy(input: Tensor | _int | _float | _complex, other: Tensor | _int | _float | _complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """input * log(other), 0 where input is 0 (unless other is nan).

    Shapes broadcast, and dtypes are promoted. Integers give the default floating dtype.
    """
def xlogy_(input: Tensor | _int | _float | _complex, other: Tensor | _int | _float | _complex) -> Tensor:
    """In-place version of xlogy."""
@overload
def zeros(*size: _int, dtype: _dtype | None = None, layout: StorageLayout | None = None, device: str | _int | _device | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """Zeros."""
@overload
def zeros(size: Sequence[_int], *, dtype: _dtype | None = None, layout: StorageLayout | None = None, device: str | _int | _device | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """Zeros."""
def zeros_like(input: Tensor, *, dtype: _dtype | None = None, memory_format: MemoryFormat | None = None, layout: StorageLayout | None = None, device: str | _int | _device | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False) -> Tensor:
    """Zeros of input's shape, dtype and strides."""
def __dir__() -> list[str]: ...
__all__ = ['Size', 'Tensor', 'device', 'dtype', 'enable_grad', 'get_default_dtype', 'inference_mode',
    'no_grad', 'promote_types', 'set_default_dtype', 'set_grad_enabled']
