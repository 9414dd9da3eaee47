"""How a package came to need modules that could not be put into it."""

from __future__ import annotations

from rushlight.package.package_exporter import PackagingError


def find_first_use_of_broken_modules(exc: PackagingError) -> dict[str, list[str]]:
    """For each module that broke a package, a path of what needs what that leads to it."""
    if not isinstance(exc, PackagingError):
        raise AssertionError("exception must be a PackagingError")
    graph = exc.dependency_graph
    return {
        name: graph.first_path(name) for name, held in graph.nodes.items() if held.get("error") is not None
    }


__all__ = ["find_first_use_of_broken_modules"]
