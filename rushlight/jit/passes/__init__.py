"""PyTorch's passes over graphs that programs call by name (torch._C._jit_pass_inline(graph), ...)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rushlight.jit.freezing import optimizations
from rushlight.jit.passes import (
    basic,
    devices,
    inferred,
    mutation,
    patterns,
    peephole,
    products,
    shapes,
    structure,
)
from rushlight.jit.program import graphreader
from rushlight.jit.program.graphtypes import new_symbol
from rushlight.jit.program.tidy import tidy

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "_jit_pass_dce": basic.dce,
    "_jit_pass_inline": basic.inline,
    "_jit_pass_canonicalize": basic.canonicalize,
    "_jit_pass_erase_shape_information": basic.erase_shape_information,
    "_jit_pass_constant_pooling": basic.constant_pooling,
    "_freeze_module": basic.freeze_module,
    "_jit_pass_constant_propagation": basic.constant_propagation,
    "_jit_pass_constant_propagation_immutable_types": basic.over(tidy),
    "_jit_pass_peephole": peephole.peephole,
    "_jit_pass_transpose_frozen_linear": basic.over(optimizations.transpose_linear),
    "_jit_pass_convert_frozen_ops_to_mkldnn": basic.over(basic.as_it_is),  # there is no oneDNN
    "_jit_pass_remove_dropout": basic.remove_dropout,
    "_jit_pass_fold_frozen_conv_bn": basic.over(optimizations.fold_conv_bn),
    "_jit_pass_fold_frozen_linear_bn": basic.over(optimizations.fold_linear_bn),
    "_jit_pass_fold_frozen_conv_add_or_sub": basic.over(optimizations.fold_conv_add_or_sub),
    "_jit_pass_fold_frozen_conv_mul_or_div": basic.over(optimizations.fold_conv_mul_or_div),
    "_jit_pass_optimize_frozen_graph": basic.over(optimizations.optimize),
    "_create_function_from_graph": basic.function_of,
    "_jit_pass_propagate_shapes_on_graph": shapes.propagate_shapes,
    "_jit_pass_propagate_dtype": shapes.propagate_dtype,
    "_jit_pass_propagate_device": devices.propagate_device,
    "_jit_pass_complete_shape_analysis": shapes.complete,
    "_propagate_shapes": shapes.partly,
    "_jit_erase_non_input_shape_information": shapes.erase_inner,
    "_new_symbolic_shape_symbol": new_symbol,
    "_jit_pass_cse": structure.over(structure.cse),
    "_jit_pass_lower_all_tuples": structure.over(structure.lower_all_tuples),
    "_jit_pass_loop_unrolling": structure.over(structure.loop_unrolling),
    "_jit_pass_constant_loop_unrolling": structure.over(structure.loop_unrolling),
    "_jit_pass_erase_number_types": structure.over(structure.erase_number_types),
    "_jit_pass_inline_fork_wait": structure.over(structure.inline_fork_wait),
    "_jit_pass_refine_tuple_types": structure.over(structure.refine_tuple_types),
    "_jit_pass_remove_mutation": structure.over(mutation.remove_mutation),
    "_jit_pass_functional_to_inplace_activation": structure.over(mutation.functional_to_inplace),
    "_jit_pass_inplace_to_functional_activation": structure.over(mutation.inplace_to_functional),
    "_jit_pass_custom_pattern_based_rewrite_graph": patterns.rewrite_graph,
    "_jit_pass_custom_pattern_based_rewrite": patterns.rewrite_module,
    "_jit_pass_fuse_linear": patterns.fuse_linear,
    "_jit_pass_fuse_add_relu": patterns.fuse_add_relu,
    "_jit_pass_batch_mm": structure.over(products.batch_mm),
    "_jit_pass_decompose_ops": structure.over(products.decompose),
    "_jit_interpret_graph": basic.interpret,
    "_jit_get_operation": basic.operation,
    "_jit_try_infer_type": inferred.try_infer_type,
    "parse_ir": graphreader.parse_ir,
}
