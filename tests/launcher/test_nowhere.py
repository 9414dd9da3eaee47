"""Names that exist so that they can be imported, and say so when they are called."""

import subprocess
import sys
import typing

import pytest

import rushlight as torch
import rushlight.utils.data.graph
from rushlight._engine.names import placeholders


def run(code):
    found = subprocess.run([sys.executable, "-m", "rushlight", "-c", code], capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
    return found.stdout


def test_imports_by_any_way():
    code = """if True:
    import torch
    import torch.ao.quantization as quantization, torchvision.models.video, torch.distributed._tensor.api
    from torch.ao.quantization import QConfig, get_default_qconfig
    from torch.distributed.pipelining import *
    from torch.nn.quantized.modules.conv import Conv2d
    from torch.distributed._tensor.placement_types import Shard
    from torch.distributed._tensor.device_mesh import init_device_mesh
    import torch._inductor.lowering, torch.ops, torch._dynamo.graph_region_tracker
    print(torch.ao.quantization is quantization, quantization.QConfig is QConfig, PipelineStage.__name__)
    print(torch.nn.modules.conv.Module is torch.nn.Module, torch.distributed._tensor is torch.distributed.tensor)
    """
    assert run(code) == "True True PipelineStage\nTrue True\n"


def test_the_older_place_of_placements_has_specs():
    code = """if True:
    from torch.distributed._tensor.placement_types import DTensorSpec, Replicate, TensorMeta
    from torch.distributed.tensor import Replicate as Later, _dtensor_spec, placement_types
    print(DTensorSpec is _dtensor_spec.DTensorSpec, Replicate is Later, hasattr(placement_types, "DTensorSpec"))
    """
    assert run(code) == "True True False\n"


def test_what_it_can_be_used_for():
    absent = torch.ao.quantization.backend_config.BackendConfig
    assert (
        placeholders.is_absent(absent)
        and placeholders.is_absent(torch._dynamo.graph_region_tracker)
        and not placeholders.is_absent(torch.nn.Linear)
    )
    assert typing.get_args(typing.Optional[absent]) == (absent, type(None))
    assert not isinstance(3, absent) and absent[int] is absent

    class Layer(torch.nn.Module, absent):
        pass

    with pytest.raises(
        NotImplementedError,
        match=r"quantization.backend_config.BackendConfig can be imported but is not there",
    ):
        Layer()
    with pytest.raises(NotImplementedError, match=r"backend_config.BackendConfig.from_dict can be imported"):
        absent.from_dict({})
    assert not hasattr(absent, "__wrapped__") and not hasattr(absent, "_is_protocol")


def test_kinds():
    assert issubclass(torch._dynamo.graph_region_tracker.NodeHashException, Exception)
    assert torch.ao.quantization.QuantType.STATIC is not torch.ao.quantization.QuantType.DYNAMIC
    assert (
        torch._dynamo.graph_region_tracker.GraphRegionTracker.__module__
        == "torch._dynamo.graph_region_tracker"
    )


def test_decorators_leave_the_refusal_to_the_call():
    @torch._inductor.lowering.register_lowering("op", type_promotion_kind=None)
    def lowered(x):
        return x

    with pytest.raises(
        NotImplementedError, match="torch._inductor.lowering.register_lowering can be imported"
    ):
        lowered(1)


def test_ops_of_nobody():
    assert not hasattr(torch.ops.nobody, "op") and hasattr(torch.ops, "nobody")
    with pytest.raises(AttributeError, match="'_OpNamespace' 'nobody' object has no attribute 'op'"):
        torch.ops.nobody.op


def test_the_table_is_read_only_when_a_name_is_not_found():
    code = "import sys, torch; torch.nn.Linear(2, 2)(torch.ones(1, 2)).sum().backward(); torch.optim.Adam"
    assert run(f"{code}; print('rushlight._engine.names.placeholders' in sys.modules)") == "False\n"


def test_every_line_is_read():
    for module in placeholders._LINES:
        for name, mark in placeholders.names(module).items():
            assert mark == "" or mark[0] in "!@=:>?", (module, name, mark)


def test_the_table_is_in_order():
    """If not (after a merge): `python tools/absent_names.py prune`."""
    modules = [placeholders.shown(module) for module in placeholders._LINES]
    assert modules == sorted(modules)
    for module, words in placeholders._LINES.items():
        names = list(placeholders.names(module))
        assert names == sorted(names) and len(names) == len(words.split()), module


def test_who_asks_by_hasattr_is_told_no():
    from rushlight._dynamo.graph_region_tracker import GraphRegionTracker

    tracker = torch._dynamo.graph_region_tracker
    assert not hasattr(tracker, "GraphRegionTracker")
    assert tracker.GraphRegionTracker is GraphRegionTracker is getattr(tracker, "GraphRegionTracker", None)
    assert hasattr(torch, "compile")


def test_objects_at_the_top_of_a_module(tmp_path):
    (tmp_path / "mentions.py").write_text(
        "from torch._dynamo.graph_region_tracker import GraphRegionTracker, InputPickler\n"
        "made = GraphRegionTracker(metadata=InputPickler.of(None), f=None)\n"
    )
    told = run(
        f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import mentions\n"
        "try: mentions.made()\n"
        "except NotImplementedError as error: print(str(error)[:53])"
    )
    assert told == "torch._dynamo.graph_region_tracker.GraphRegionTracker\n"


def test_modules_of_backends_settings_and_older_spellings():
    code = """if True:
    import torch, torch.onnx.operators as older
    from torch._dynamo.backends.registry import lookup_backend
    from torch._dynamo.backends.common import aot_autograd
    print(lookup_backend is torch._dynamo.lookup_backend, torch._dynamo.config.automatic_dynamic_shapes)
    shape = older.shape_as_tensor(torch.ones(2, 3))
    print(shape.tolist(), older.reshape_from_tensor_shape(torch.ones(6), shape).shape)
    try:
        torch.fft(torch.ones(2))
    except TypeError as error:
        print(error)
    """
    assert run(code) == "True True\n[2, 3] torch.Size([2, 3])\n'module' object is not callable\n"


def test_errors_are_one_by_both_of_their_names():
    from rushlight import _C

    assert _C.OutOfMemoryError is torch.OutOfMemoryError and _C._LinAlgError is torch.linalg.LinAlgError
    assert _C.JITException is torch.jit.Error and _C.AcceleratorError is torch.AcceleratorError


def test_a_class_with_a_method_of_that_name_is_there() -> None:
    from rushlight._engine.names.placeholders import is_absent
    from rushlight.testing import FileCheck

    assert not is_absent(FileCheck)
