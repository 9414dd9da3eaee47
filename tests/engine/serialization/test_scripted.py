"""torch.load of a file that jit.save wrote."""

import io

import pytest

import rushlight as torch


def test_scripted_modules_are_loaded_where_the_file_is_trusted():
    module, file = torch.nn.Linear(2, 3), io.BytesIO()
    torch.jit.save(torch.jit.script(module), file)
    file.seek(0)
    assert torch.serialization._is_torchscript_zip(torch.PyTorchFileReader(file))
    file.seek(0)
    with pytest.warns(UserWarning, match="looks like a TorchScript archive dispatching to 'torch.jit.load'"):
        found = torch.load(file, map_location="cpu", weights_only=False)
    assert isinstance(found, torch.jit.ScriptModule) and torch.equal(found.weight, module.weight)
    file.seek(0)
    with (
        pytest.warns(UserWarning, match="TorchScript"),
        pytest.raises(RuntimeError, match="Cannot use ``weights_only=True`` with TorchScript archives"),
    ):
        torch.load(file)
