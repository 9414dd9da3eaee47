# Written by `python tools/stubs.py`.
"""torch.fx.passes: walks over graphs, and changes of them.

Begin with tools_common.py (names and order of nodes) and split_module.py (a graph as a few modules).
`infra/` has what runs passes, `utils/` what finds parts of graphs.
"""

from rushlight.fx.passes import canonicalize as canonicalize
from rushlight.fx.passes import dialect as dialect
from rushlight.fx.passes import fake_tensor_prop as fake_tensor_prop
from rushlight.fx.passes import graph_manipulation as graph_manipulation
from rushlight.fx.passes import infra as infra
from rushlight.fx.passes import operator_support as operator_support
from rushlight.fx.passes import param_fetch as param_fetch
from rushlight.fx.passes import pass_manager as pass_manager
from rushlight.fx.passes import reinplace as reinplace
from rushlight.fx.passes import shape_prop as shape_prop
from rushlight.fx.passes import split_module as split_module
from rushlight.fx.passes import split_utils as split_utils
from rushlight.fx.passes import tools_common as tools_common
from rushlight.fx.passes import utils as utils
def __dir__() -> list[str]: ...
