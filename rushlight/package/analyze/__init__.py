"""What is known of packages' modules: where objects come from, what a call needs, what broke."""

from rushlight.package.analyze.find_first_use_of_broken_modules import find_first_use_of_broken_modules
from rushlight.package.analyze.trace_dependencies import trace_dependencies

__all__ = ["find_first_use_of_broken_modules", "trace_dependencies"]
