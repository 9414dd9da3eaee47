"""Settings that PyTorch's programs assign to. Rushlight never compiles silently wrong code out of habit, so
they change nothing: what cannot be compiled runs as Python, and rushlight.explain says why."""
suppress_errors = False
verbose = False
cache_size_limit = recompile_limit = 8
capture_scalar_outputs = False
