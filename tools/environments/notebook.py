"""A notebook's kernel imports torch, trains, tells of an error at the user's line, and completes names."""

import nbclient
import nbformat
from jupyter_client.manager import start_new_kernel

CELLS = [
    "import torch\nimport torch.nn as nn\nprint(torch.__version__)",
    "model = nn.Linear(2, 1)\nopt = torch.optim.Adam(model.parameters())\n"
    "model(torch.ones(3, 2)).sum().backward()\nopt.step()\nmodel.weight",
    "torch.zeros(2) + torch.zeros(3)",
    "import torch.nowhere",
    "from torch import nowhere",
]

book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
nbclient.NotebookClient(book, timeout=120, kernel_name="python3", allow_errors=True).execute()
told = [
    "".join(
        output.get("text", "")
        or output.get("data", {}).get("text/plain", "")
        or "\n".join(output.get("traceback", []))
        for output in cell.outputs
    )
    for cell in book.cells
]
assert "+rushlight" in told[0], told[0]
assert "requires_grad=True" in told[1], told[1]
assert "must match the size" in told[2] and "rushlight/" not in told[2], told[2]
assert len(told[2].splitlines()) < 15, told[2]
assert "runs on Rushlight" in told[3] and "runs on Rushlight" in told[4], told[3:5]

# What a front end asks the kernel for when somebody presses Tab.
manager, client = start_new_kernel(kernel_name="python3")
try:
    client.execute_interactive("import torch\nx = torch.randn(3)\nmodel = torch.nn.Linear(2, 1)", timeout=60)
    for typed, name in (
        ("torch.rand", "randn"),
        ("torch.nn.functional.cross", "cross_entropy"),
        ("x.rel", "relu_"),
        ("x.relu().sig", "sigmoid"),
        ("model.wei", "weight"),
        ("torch.optim.Adam", "AdamW"),
    ):
        shown = client.complete(typed, reply=True, timeout=60)["content"]["matches"]
        assert any(match.split(".")[-1] == name for match in shown), (typed, shown)
    for typed, word in (
        ("torch.einsum", "operands"),
        ("x.relu", "inplace"),
        ("torch.nn.Linear", "out_features"),
        ("torch.optim.AdamW", "lr"),
    ):
        hover = client.inspect(typed, reply=True, timeout=60)["content"]["data"]["text/plain"]
        assert word in hover and "no docstring" not in hover, (typed, hover)
finally:
    client.stop_channels()
    manager.shutdown_kernel(now=True)
print(told[2])
