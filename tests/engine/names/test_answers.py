"""Names that PyTorch has in private modules: other names of what is there, and questions with known answers."""

from importlib import import_module

import pytest

import rushlight as torch


@pytest.mark.parametrize(
    ("module", "names"),
    [
        ("utils._triton", "has_triton has_triton_package has_triton_tma_device"),
        ("testing._internal.common_fsdp", "has_triton"),
        ("mtia", "is_available"),
        ("backends.cusparselt", "is_available"),
        ("backends.mkldnn", "is_acl_available"),
        ("_C", "_has_cuda"),
    ],
)
def test_what_is_not_there_says_no(module, names):
    for name in names.split():
        assert getattr(import_module(f"rushlight.{module}"), name)() is False
    assert torch.mtia.device_count() == 0


@pytest.mark.parametrize(
    ("private", "public"),
    [
        ("_library.infer_schema.infer_schema", "library.infer_schema"),
        ("_C.finfo", "finfo"),
        ("_C.is_autocast_enabled", "is_autocast_enabled"),
        ("_C._LinAlgError", "linalg.LinAlgError"),
        ("distributed.checkpoint.state_dict_saver.Stateful", "distributed.checkpoint.stateful.Stateful"),
    ],
)
def test_a_private_name_is_the_public_things(private, public):
    def found(path):
        module, _, name = path.rpartition(".")
        return getattr(import_module(f"rushlight.{module}".rstrip(".")), name)

    assert found(private) is found(public)


def test_ops_of_pytorchs_namespaces_can_be_named():
    assert torch._ops.ops is torch.ops
    absent = (
        torch.ops._c10d_functional.all_gather_into_tensor_coalesced
    )  # of a namespace whose others are there
    assert torch.ops._c10d_functional.wait_tensor(torch.ones(2)).tolist() == [1, 1]
    for op in (torch.ops.c10d.scatter_, absent, torch.ops.quantized.linear):
        assert op.default is not None
        with pytest.raises(NotImplementedError, match="can be imported but is not there"):
            op(torch.ones(2))
