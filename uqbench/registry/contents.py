"""Content hashes of installed packages."""

from functools import cache
from hashlib import sha256
from importlib import util
from pathlib import Path


@cache
def package_of(module: str) -> str:
    """The package that a plugin's module is in: the first with files, below shared namespaces.

    ``acme.uq.plugin`` is in ``acme.uq`` where ``acme`` has no ``__init__.py``. Imports namespaces
    alone, which executes nothing.
    """
    parts = module.split(".")
    for end in range(1, len(parts) + 1):
        package = ".".join(parts[:end])
        spec = util.find_spec(package)
        if spec is None or spec.origin is not None:
            return package
    return module


@cache
def content_hash(package: str) -> str:
    """The sha256 of a package's installed files: a version string does not reveal an edited copy.

    Raises:
        ModuleNotFoundError: there is no such package.
    """
    spec = util.find_spec(package)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"no installed package {package!r} to hash")
    origin = Path(spec.origin)
    root = origin.parent if spec.submodule_search_locations else origin
    files = sorted(root.rglob("*")) if root.is_dir() else [root]
    digest = sha256()
    for path in files:
        if path.is_file() and "__pycache__" not in path.parts:
            digest.update(path.relative_to(origin.parent).as_posix().encode() + b"\0")
            digest.update(sha256(path.read_bytes()).digest())
    return digest.hexdigest()


@cache
def installed_content(package: str) -> str | None:
    """The digest of a package's contents; None where it is not installed."""
    try:
        return content_hash(package)
    except ModuleNotFoundError:
        return None
