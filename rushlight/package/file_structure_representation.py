"""The files of a package as a tree that can be printed."""

from __future__ import annotations

from rushlight.package.glob_group import GlobGroup, GlobPattern


class Directory:
    """A folder or a file of a package; `PackageImporter.file_structure()` makes it, print shows it.

    children: what is in a folder, by name.
    """

    def __init__(self, name: str, is_dir: bool) -> None:
        self.name, self.is_dir = name, is_dir
        self.children: dict[str, Directory] = {}

    def _add_file(self, file_path: str) -> None:
        here = self
        *folders, last = file_path.split("/")
        for folder in folders:
            here = here.children.setdefault(folder, Directory(folder, True))
        here.children[last] = Directory(last, False)

    def has_file(self, filename: str) -> bool:
        """Whether there is a file (or folder) of this path, parts of which are told apart by "/"."""
        here = self
        for part in filename.split("/"):
            if part not in here.children:
                return False
            here = here.children[part]
        return True

    def __str__(self) -> str:
        lines: list[str] = []
        self._show(lines, "─── ", "    ")
        return "\n".join(lines) + "\n"

    def _show(self, lines: list[str], first: str, indent: str) -> None:
        lines.append(first + self.name)
        order = sorted(self.children.values(), key=lambda child: (not child.is_dir, child.name))
        for child in order:
            last = child is order[-1]
            child._show(lines, f"{indent}{'└' if last else '├'}── ", f"{indent}{' ' if last else '│'}   ")


def _create_directory_from_file_list(
    filename: str, file_list: list[str], include: GlobPattern = "**", exclude: GlobPattern = ()
) -> Directory:
    """The tree of those files that match `include` and not `exclude`."""
    chosen = GlobGroup(include, exclude=exclude, separator="/")
    top = Directory(filename, True)
    for file in file_list:
        if chosen.matches(file):
            top._add_file(file)
    return top


__all__ = ["Directory"]
