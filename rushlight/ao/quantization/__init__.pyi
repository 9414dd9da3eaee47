# Written by `python tools/stubs.py`.
"""torch.ao.quantization: numbers at levels of small integers, in models.

Observers see which levels tensors need, fake quantization rounds to them while a model is trained, and
prepare() and convert() put quantized layers in place of float ones.
"""
from typing import Any

from rushlight.ao.quantization.stubs import DeQuantStub as DeQuantStub
from rushlight.ao.quantization.fake_quantize import FakeQuantize as FakeQuantize
from rushlight.ao.quantization.fake_quantize import FakeQuantizeBase as FakeQuantizeBase
from rushlight.ao.quantization.fake_quantize import FixedQParamsFakeQuantize as FixedQParamsFakeQuantize
from rushlight.ao.quantization.observer import FixedQParamsObserver as FixedQParamsObserver
from rushlight.ao.quantization.fake_quantize import FusedMovingAvgObsFakeQuantize as FusedMovingAvgObsFakeQuantize
from rushlight.ao.quantization.observer import HistogramObserver as HistogramObserver
from rushlight.ao.quantization.observer import MinMaxObserver as MinMaxObserver
from rushlight.ao.quantization.observer import MovingAverageMinMaxObserver as MovingAverageMinMaxObserver
from rushlight.ao.quantization.observer import MovingAveragePerChannelMinMaxObserver as MovingAveragePerChannelMinMaxObserver
from rushlight.ao.quantization.observer import NoopObserver as NoopObserver
from rushlight.ao.quantization.observer import ObserverBase as ObserverBase
from rushlight.ao.quantization.observer import PerChannelMinMaxObserver as PerChannelMinMaxObserver
from rushlight.ao.quantization.observer import PlaceholderObserver as PlaceholderObserver
from rushlight.ao.quantization.qconfig import QConfig as QConfig
from rushlight.ao.quantization.qconfig import QConfigAny as QConfigAny
from rushlight.ao.quantization.qconfig import QConfigDynamic as QConfigDynamic
from rushlight.ao.quantization.qconfig_mapping import QConfigMapping as QConfigMapping
from rushlight.ao.quantization.stubs import QuantStub as QuantStub
from rushlight.ao.quantization.quant_type import QuantType as QuantType
from rushlight.ao.quantization.stubs import QuantWrapper as QuantWrapper
from rushlight.ao.quantization.observer import RecordingObserver as RecordingObserver
from rushlight.ao.quantization.observer import ReuseInputObserver as ReuseInputObserver
from rushlight.ao.quantization.observer import UniformQuantizationObserverBase as UniformQuantizationObserverBase
from rushlight.ao.quantization.quantize import add_quant_dequant as add_quant_dequant
from rushlight.ao.quantization.quantize import convert as convert
from rushlight.ao.quantization.qconfig import default_activation_only_qconfig as default_activation_only_qconfig
from rushlight.ao.quantization.fake_quantize import default_affine_fixed_qparams_fake_quant as default_affine_fixed_qparams_fake_quant
from rushlight.ao.quantization.observer import default_affine_fixed_qparams_observer as default_affine_fixed_qparams_observer
from rushlight.ao.quantization.observer import default_debug_observer as default_debug_observer
from rushlight.ao.quantization.qconfig import default_debug_qconfig as default_debug_qconfig
from rushlight.ao.quantization.fake_quantize import default_dynamic_fake_quant as default_dynamic_fake_quant
from rushlight.ao.quantization.qconfig import default_dynamic_qat_qconfig as default_dynamic_qat_qconfig
from rushlight.ao.quantization.qconfig import default_dynamic_qconfig as default_dynamic_qconfig
from rushlight.ao.quantization.observer import default_dynamic_quant_observer as default_dynamic_quant_observer
from rushlight.ao.quantization.fake_quantize import default_embedding_fake_quant as default_embedding_fake_quant
from rushlight.ao.quantization.fake_quantize import default_embedding_fake_quant_4bit as default_embedding_fake_quant_4bit
from rushlight.ao.quantization.qconfig import default_embedding_qat_qconfig as default_embedding_qat_qconfig
from rushlight.ao.quantization.qconfig import default_embedding_qat_qconfig_4bit as default_embedding_qat_qconfig_4bit
from rushlight.ao.quantization.fake_quantize import default_fake_quant as default_fake_quant
from rushlight.ao.quantization.fake_quantize import default_fixed_qparams_range_0to1_fake_quant as default_fixed_qparams_range_0to1_fake_quant
from rushlight.ao.quantization.observer import default_fixed_qparams_range_0to1_observer as default_fixed_qparams_range_0to1_observer
from rushlight.ao.quantization.fake_quantize import default_fixed_qparams_range_neg1to1_fake_quant as default_fixed_qparams_range_neg1to1_fake_quant
from rushlight.ao.quantization.observer import default_fixed_qparams_range_neg1to1_observer as default_fixed_qparams_range_neg1to1_observer
from rushlight.ao.quantization.observer import default_float_qparams_observer as default_float_qparams_observer
from rushlight.ao.quantization.observer import default_float_qparams_observer_4bit as default_float_qparams_observer_4bit
from rushlight.ao.quantization.fake_quantize import default_fused_act_fake_quant as default_fused_act_fake_quant
from rushlight.ao.quantization.fake_quantize import default_fused_per_channel_wt_fake_quant as default_fused_per_channel_wt_fake_quant
from rushlight.ao.quantization.fake_quantize import default_fused_wt_fake_quant as default_fused_wt_fake_quant
from rushlight.ao.quantization.fake_quantize import default_histogram_fake_quant as default_histogram_fake_quant
from rushlight.ao.quantization.observer import default_histogram_observer as default_histogram_observer
from rushlight.ao.quantization.observer import default_observer as default_observer
from rushlight.ao.quantization.qconfig import default_per_channel_qconfig as default_per_channel_qconfig
from rushlight.ao.quantization.qconfig import default_per_channel_symmetric_qnnpack_qconfig as default_per_channel_symmetric_qnnpack_qconfig
from rushlight.ao.quantization.fake_quantize import default_per_channel_weight_fake_quant as default_per_channel_weight_fake_quant
from rushlight.ao.quantization.observer import default_per_channel_weight_observer as default_per_channel_weight_observer
from rushlight.ao.quantization.observer import default_placeholder_observer as default_placeholder_observer
from rushlight.ao.quantization.qconfig import default_qat_qconfig as default_qat_qconfig
from rushlight.ao.quantization.qconfig import default_qat_qconfig_v2 as default_qat_qconfig_v2
from rushlight.ao.quantization.qconfig import default_qconfig as default_qconfig
from rushlight.ao.quantization.qconfig import default_quint8_weight_qconfig as default_quint8_weight_qconfig
from rushlight.ao.quantization.observer import default_reuse_input_observer as default_reuse_input_observer
from rushlight.ao.quantization.qconfig import default_reuse_input_qconfig as default_reuse_input_qconfig
from rushlight.ao.quantization.fake_quantize import default_symmetric_fixed_qparams_fake_quant as default_symmetric_fixed_qparams_fake_quant
from rushlight.ao.quantization.observer import default_symmetric_fixed_qparams_observer as default_symmetric_fixed_qparams_observer
from rushlight.ao.quantization.qconfig import default_symmetric_qnnpack_qconfig as default_symmetric_qnnpack_qconfig
from rushlight.ao.quantization.fake_quantize import default_weight_fake_quant as default_weight_fake_quant
from rushlight.ao.quantization.observer import default_weight_observer as default_weight_observer
from rushlight.ao.quantization.qconfig import default_weight_only_qconfig as default_weight_only_qconfig
from rushlight.ao.quantization.fake_quantize import disable_fake_quant as disable_fake_quant
from rushlight.ao.quantization.fake_quantize import disable_observer as disable_observer
from rushlight.ao.quantization.fake_quantize import enable_fake_quant as enable_fake_quant
from rushlight.ao.quantization.fake_quantize import enable_observer as enable_observer
from rushlight.ao.quantization import fake_quantize as fake_quantize
from rushlight.ao.quantization.qconfig import float16_dynamic_qconfig as float16_dynamic_qconfig
from rushlight.ao.quantization.qconfig import float16_static_qconfig as float16_static_qconfig
from rushlight.ao.quantization.qconfig import float_qparams_weight_only_qconfig as float_qparams_weight_only_qconfig
from rushlight.ao.quantization.qconfig import float_qparams_weight_only_qconfig_4bit as float_qparams_weight_only_qconfig_4bit
from rushlight.ao.quantization.fuser_method_mappings import fuse_conv_bn as fuse_conv_bn
from rushlight.ao.quantization.fuser_method_mappings import fuse_conv_bn_relu as fuse_conv_bn_relu
from rushlight.ao.quantization.fuser_method_mappings import fuse_convtranspose_bn as fuse_convtranspose_bn
from rushlight.ao.quantization.fuser_method_mappings import fuse_linear_bn as fuse_linear_bn
from rushlight.ao.quantization.fuse_modules import fuse_modules as fuse_modules
from rushlight.ao.quantization.fuse_modules import fuse_modules_qat as fuse_modules_qat
from rushlight.ao.quantization.fake_quantize import fused_per_channel_wt_fake_quant_range_neg_127_to_127 as fused_per_channel_wt_fake_quant_range_neg_127_to_127
from rushlight.ao.quantization.fake_quantize import fused_wt_fake_quant_range_neg_127_to_127 as fused_wt_fake_quant_range_neg_127_to_127
from rushlight.ao.quantization import fuser_method_mappings as fuser_method_mappings
from rushlight.ao.quantization.utils import get_combined_dict as get_combined_dict
from rushlight.ao.quantization.quantize import get_default_custom_config_dict as get_default_custom_config_dict
from rushlight.ao.quantization.quantization_mappings import get_default_dynamic_quant_module_mappings as get_default_dynamic_quant_module_mappings
from rushlight.ao.quantization.quantization_mappings import get_default_qat_module_mappings as get_default_qat_module_mappings
from rushlight.ao.quantization.qconfig import get_default_qat_qconfig as get_default_qat_qconfig
from rushlight.ao.quantization.qconfig import get_default_qat_qconfig_dict as get_default_qat_qconfig_dict
from rushlight.ao.quantization.qconfig_mapping import get_default_qat_qconfig_mapping as get_default_qat_qconfig_mapping
from rushlight.ao.quantization.qconfig import get_default_qconfig as get_default_qconfig
from rushlight.ao.quantization.qconfig import get_default_qconfig_dict as get_default_qconfig_dict
from rushlight.ao.quantization.qconfig_mapping import get_default_qconfig_mapping as get_default_qconfig_mapping
from rushlight.ao.quantization.quantization_mappings import get_default_qconfig_propagation_list as get_default_qconfig_propagation_list
from rushlight.ao.quantization.quantization_mappings import get_default_static_quant_module_mappings as get_default_static_quant_module_mappings
from rushlight.ao.quantization.quantization_mappings import get_dynamic_quant_module_class as get_dynamic_quant_module_class
from rushlight.ao.quantization.quantization_mappings import get_embedding_qat_module_mappings as get_embedding_qat_module_mappings
from rushlight.ao.quantization.fuser_method_mappings import get_fuser_method as get_fuser_method
from rushlight.ao.quantization.observer import get_observer_state_dict as get_observer_state_dict
from rushlight.ao.quantization.quantization_mappings import get_static_quant_module_class as get_static_quant_module_class
from rushlight.ao.quantization.observer import load_observer_state_dict as load_observer_state_dict
from rushlight.ao.quantization.quantization_mappings import no_observer_set as no_observer_set
from rushlight.ao.quantization import observer as observer
from rushlight.ao.quantization.qconfig import per_channel_dynamic_qconfig as per_channel_dynamic_qconfig
from rushlight.ao.quantization.observer import per_channel_weight_observer_range_neg_127_to_127 as per_channel_weight_observer_range_neg_127_to_127
from rushlight.ao.quantization.quantize import prepare as prepare
from rushlight.ao.quantization.quantize import prepare_qat as prepare_qat
from rushlight.ao.quantization.quantize import propagate_qconfig_ as propagate_qconfig_
from rushlight.ao.quantization import qconfig as qconfig
from rushlight.ao.quantization.qconfig import qconfig_equals as qconfig_equals
from rushlight.ao.quantization import qconfig_mapping as qconfig_mapping
from rushlight.ao.quantization import quant_type as quant_type
from rushlight.ao.quantization import quantization_mappings as quantization_mappings
from rushlight.ao.quantization.quantize import quantize as quantize
from rushlight.ao.quantization.quantize import quantize_dynamic as quantize_dynamic
from rushlight.ao.quantization.quantize import quantize_qat as quantize_qat
from rushlight.ao.quantization import stubs as stubs
from rushlight.ao.quantization.quantize import swap_module as swap_module
from rushlight.ao.quantization import utils as utils
from rushlight.ao.quantization.observer import weight_observer_range_neg_127_to_127 as weight_observer_range_neg_127_to_127
def default_eval_fn(model: Any, calib_data: Any) -> None:
    """Run a model on examples, a data set of (input, target)."""
def __dir__() -> list[str]: ...
__all__ = ['DeQuantStub', 'FakeQuantize', 'FakeQuantizeBase', 'FixedQParamsFakeQuantize',
    'FixedQParamsObserver', 'FusedMovingAvgObsFakeQuantize', 'HistogramObserver', 'MinMaxObserver',
    'MovingAverageMinMaxObserver', 'MovingAveragePerChannelMinMaxObserver', 'NoopObserver', 'ObserverBase',
    'PerChannelMinMaxObserver', 'PlaceholderObserver', 'QConfig', 'QConfigAny', 'QConfigDynamic',
    'QConfigMapping', 'QuantStub', 'QuantType', 'QuantWrapper', 'RecordingObserver', 'ReuseInputObserver',
    'UniformQuantizationObserverBase', 'add_quant_dequant', 'convert', 'default_activation_only_qconfig',
    'default_affine_fixed_qparams_fake_quant', 'default_affine_fixed_qparams_observer',
    'default_debug_observer', 'default_debug_qconfig', 'default_dynamic_fake_quant',
    'default_dynamic_qat_qconfig', 'default_dynamic_qconfig', 'default_dynamic_quant_observer',
    'default_embedding_fake_quant', 'default_embedding_fake_quant_4bit', 'default_embedding_qat_qconfig',
    'default_embedding_qat_qconfig_4bit', 'default_fake_quant', 'default_fixed_qparams_range_0to1_fake_quant',
    'default_fixed_qparams_range_0to1_observer', 'default_fixed_qparams_range_neg1to1_fake_quant',
    'default_fixed_qparams_range_neg1to1_observer', 'default_float_qparams_observer',
    'default_float_qparams_observer_4bit', 'default_fused_act_fake_quant',
    'default_fused_per_channel_wt_fake_quant', 'default_fused_wt_fake_quant', 'default_histogram_fake_quant',
    'default_histogram_observer', 'default_observer', 'default_per_channel_qconfig',
    'default_per_channel_symmetric_qnnpack_qconfig', 'default_per_channel_weight_fake_quant',
    'default_per_channel_weight_observer', 'default_placeholder_observer', 'default_qat_qconfig',
    'default_qat_qconfig_v2', 'default_qconfig', 'default_quint8_weight_qconfig',
    'default_reuse_input_observer', 'default_reuse_input_qconfig',
    'default_symmetric_fixed_qparams_fake_quant', 'default_symmetric_fixed_qparams_observer',
    'default_symmetric_qnnpack_qconfig', 'default_weight_fake_quant', 'default_weight_observer',
    'default_weight_only_qconfig', 'disable_fake_quant', 'disable_observer', 'enable_fake_quant',
    'enable_observer', 'float16_dynamic_qconfig', 'float16_static_qconfig',
    'float_qparams_weight_only_qconfig', 'float_qparams_weight_only_qconfig_4bit', 'fuse_conv_bn',
    'fuse_conv_bn_relu', 'fuse_convtranspose_bn', 'fuse_linear_bn', 'fuse_modules', 'fuse_modules_qat',
    'fused_per_channel_wt_fake_quant_range_neg_127_to_127', 'fused_wt_fake_quant_range_neg_127_to_127',
    'get_combined_dict', 'get_default_custom_config_dict', 'get_default_dynamic_quant_module_mappings',
    'get_default_qat_module_mappings', 'get_default_qat_qconfig', 'get_default_qat_qconfig_dict',
    'get_default_qat_qconfig_mapping', 'get_default_qconfig', 'get_default_qconfig_dict',
    'get_default_qconfig_mapping', 'get_default_qconfig_propagation_list',
    'get_default_static_quant_module_mappings', 'get_dynamic_quant_module_class',
    'get_embedding_qat_module_mappings', 'get_fuser_method', 'get_observer_state_dict',
    'get_static_quant_module_class', 'load_observer_state_dict', 'no_observer_set',
    'per_channel_dynamic_qconfig', 'per_channel_weight_observer_range_neg_127_to_127', 'prepare',
    'prepare_qat', 'propagate_qconfig_', 'qconfig_equals', 'quantize', 'quantize_dynamic', 'quantize_qat',
    'swap_module', 'weight_observer_range_neg_127_to_127']
