"""A notebook's kernel imports torch, trains, completes names, and tells of an error at the user's line."""

import nbclient
import nbformat

CELLS = [
    "import torch\nimport torch.nn as nn\nprint(torch.__version__)",
    "model = nn.Linear(2, 1)\nopt = torch.optim.Adam(model.parameters())\n"
    "model(torch.ones(3, 2)).sum().backward()\nopt.step()\nmodel.weight",
    "torch.zeros(2) + torch.zeros(3)",
    "import torch.nowhere",
    "from torch import nowhere",
    "print(get_ipython().complete('torch.rand')[1][:3])",
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
assert "rand" in told[5], told[5]
print(told[2])
