"""torch._export.passes: changes of the graphs of exported programs."""
