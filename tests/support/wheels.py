"""Wheels that link to the libraries of the Python that runs the tests: nothing is downloaded."""

import sys
import sysconfig
import zipfile
from pathlib import Path


def linked(folder: Path, name: str, version: str, command: str) -> Path:
    """A wheel of that name and version, with a command such as ``pytest = pytest:main``."""
    places = [sysconfig.get_path("purelib"), *(p for p in sys.path if "site-packages" in p)]
    lines = "".join(f"import site; site.addsitedir({p!r})\n" for p in dict.fromkeys(places))
    info, about = f"{name}-{version}.dist-info", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\n"
    path = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr(f"{name}_linked.pth", lines)
        metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        wheel.writestr(f"{info}/METADATA", metadata)
        wheel.writestr(f"{info}/WHEEL", f"{about}Tag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")
        wheel.writestr(f"{info}/entry_points.txt", f"[console_scripts]\n{command}\n")
    return path
