"""torch.package: models with their code in one file, loaded apart from the environment's own modules.

Begin with package_exporter.py and package_importer.py.
"""

from rushlight.package import analyze
from rushlight.package.analyze.is_from_package import is_from_package
from rushlight.package.file_structure_representation import Directory
from rushlight.package.glob_group import GlobGroup
from rushlight.package.importer import (
    Importer,
    ObjMismatchError,
    ObjNotFoundError,
    OrderedImporter,
    sys_importer,
)
from rushlight.package.package_exporter import EmptyMatchError, PackageExporter, PackagingError
from rushlight.package.package_importer import PackageImporter

__all__ = [
    "Directory",
    "EmptyMatchError",
    "GlobGroup",
    "Importer",
    "ObjMismatchError",
    "ObjNotFoundError",
    "OrderedImporter",
    "PackageExporter",
    "PackageImporter",
    "PackagingError",
    "analyze",
    "is_from_package",
    "sys_importer",
]
