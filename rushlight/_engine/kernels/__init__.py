"""Kernels, and how they become machine code: emitters, kernel families, the run time.

Begin with emit/meaning.py (what a kernel computes), emit/scalar_code.py (its body as LLVM IR),
loops/pointwise.py (one kernel from end to end), runtime/tiers.py (when it is compiled). Nothing here knows
tensors or autograd.

What folders below this one ask for by name (core/services.py) is listed here. Each answers None, with nothing
done, where there is no machine code for its operands.
"""

from rushlight._engine.core.services import register

register(
    "rushlight._engine.kernels",
    {
        # pointwise and row-wise kernels, made of expressions
        "pointwise kernel": "loops.pointwise:pointwise",
        "fused pointwise kernel": "loops.pointwise:fused",
        "conversion kernel": "loops.pointwise:conversion",
        "row kernel": "loops.rows:rows",
        "column kernel": "loops.columns:columns",
        # running sums, first elements of an order
        "scan kernel": "loops.scan:scan",
        "linear recurrence": "loops.recurrence:linear",
        "running extremes": "loops.extremes:running",
        "top-k kernel": "loops.topk:first",
        "top-k positions": "loops.topk:numbers",
        "top-k by the team": "loops.topk:shared",
        # elements moved
        "copy": "moves.copies:copy",
        "gather or scatter along a dim": "moves.along_dim:along",
        "gather rows": "moves.gather:rows",
        "add rows": "moves.scatter:add_rows",
        "sums of rows along a dim": "moves.row_sums:along",
        "sums of rows in bags": "moves.row_sums:bags",
        "blend of lines and columns": "moves.blends:blended",
        # random numbers
        "generator words": "moves.mersenne_twister:words",
        "normal numbers": "moves.box_muller:normals",
        "exchanges": "moves.shuffle:exchanges",
        "gamma numbers": "moves.rejection:gammas",
        "Poisson numbers": "moves.rejection:poissons",
        "binomial numbers": "moves.rejection:binomials",
        # products and their relatives
        "matrix product": "products.gemm:multiplier",
        "rounded matrix product": "products.gemm:rounded",
        "packed matrix": "products.tiles:packed",
        "suits the team": "products.tiles:suits",
        "elimination": "products.elimination:eliminated",
        "substitution": "products.elimination:substituted",
        "roots of matrices": "products.reflections:rooted",
        "reflections": "products.reflections:reflected",
        "convolution": "products.convolution:convolution",
        "convolution of each channel": "products.depthwise:convolution",
        "convolution of pairs": "products.convolution:pairs",
        "attention": "products.attention:attend",
        "attention backward": "products.attention:unattend",
        "mean pool": "products.max_pool:means",
        "max pool": "products.max_pool:maxima",
        "max pool backward": "products.max_pool:spread",
        # calls past NumPy
        "repeated loop": "runtime.repeated:repeated",
        "loop over few elements": "runtime.small_calls:loop",
        "loops over parts": "runtime.small_calls:loops",
        "reduction of few elements": "runtime.small_calls:reduction",
        "product of few elements": "runtime.small_calls:product",
    },
)
