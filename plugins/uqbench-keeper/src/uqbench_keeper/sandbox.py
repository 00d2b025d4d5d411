"""A new environment with a submitted package for runs that are made again, in bubblewrap if there.

The environment sees the libraries of this one, uqbench and torch among them, behind its own: what a
package needs beside these comes from an index only where the keeper names one. In bubblewrap there
is no network, no other process to look at, an empty ``/tmp``, and one folder that can be written.
Variables of the environment, such as tokens, are not passed on.
"""

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import venv
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.metadata import packages_distributions
from importlib.util import find_spec
from pathlib import Path
from zipfile import BadZipFile, ZipFile

from uqbench.contract.errors import UqbenchError
from uqbench.registry.plugins import SELECTION

NO_SANDBOX = "there is no bubblewrap (bwrap) here that works: the methods can do what you can"
KEPT = ("PATH", "LANG", "LC_ALL", "MKL_CBWR", "OMP_NUM_THREADS", "LD_LIBRARY_PATH")
"""Variables that a run may need."""


CUSTOMIZE = ("sitecustomize", "usercustomize")


@cache
def has_sandbox() -> bool:
    """Whether processes can be isolated here, by a bubblewrap that works."""
    test = ["bwrap", "--ro-bind", "/", "/", "--unshare-all", "true"]
    installed = shutil.which("bwrap") is not None
    return installed and not subprocess.run(test, check=False, capture_output=True).returncode


@contextmanager
def environment(wheel: Path, index: str | None = None) -> Iterator[Path]:
    """A folder with ``env``, an environment with a package, and ``runs``, a store, for a while.

    So long this process imports the package, too, where something asks for it. To install it
    executes none of its code.

    Args:
        wheel: of the package.
        index: URL of the one that what it needs may come from; None for none.

    Raises:
        UqbenchError: it brings what is another's, or pip refuses it.
    """
    check_names(wheel)
    with tempfile.TemporaryDirectory(prefix="uqbench-") as temporary:
        folder = Path(temporary)
        venv.create(folder / "env")
        (folder / "runs").mkdir()
        base = dict.fromkeys(("base", "platbase"), str(folder / "env"))
        packages = sysconfig.get_path("purelib", "venv", base)
        behind = "".join(f"import site; site.addsitedir({path!r})\n" for path in _seen())
        Path(packages, "behind.pth").write_text(behind)
        source = ["--index-url", index or "", "--only-binary", ":all:"]
        source = source if index else ["--no-index", "--no-deps", "--ignore-installed"]
        pip = ["-m", "pip", "install", "--quiet", "--no-compile", "--disable-pip-version-check"]
        command = [str(folder / "env/bin/python"), *pip, *source, str(wheel.absolute())]
        done = subprocess.run(command, check=False, stdout=subprocess.DEVNULL)
        if done.returncode or not [*Path(packages).glob(f"{wheel.name.split('-')[0]}-*.dist-info")]:
            raise UqbenchError(
                f"{wheel.name} cannot be installed: pip said why, above, or this environment has "
                f"that version, and --index must be left out."
            )
        sys.path.insert(0, packages)
        try:
            yield folder
        finally:
            sys.path.remove(packages)
            for name, module in [*sys.modules.items()]:
                if str(getattr(module, "__file__", "")).startswith(packages):
                    del sys.modules[name]


def check_names(wheel: Path) -> None:
    """See that a package brings modules of its own alone, and nothing that runs at every start.

    Its folder comes before the harness's: a ``uqbench`` in it would be the one that runs.

    Raises:
        UqbenchError: it brings another importable name, a ``.pth`` file, ``sitecustomize``, or
            files for other places; or it is no wheel.
    """
    try:
        with ZipFile(wheel) as archive:
            tops = {name.split("/")[0] for name in archive.namelist()}
    except (OSError, BadZipFile) as error:
        raise UqbenchError(f"{wheel.name} is no wheel: {error}.") from None
    own, owners = wheel.name.split("-")[0].replace("_", "-").lower(), packages_distributions()
    for top in sorted(of for of in tops if not of.endswith(".dist-info")):
        module, theirs = top.split(".")[0], owners.get(top.split(".")[0], [])
        alike = {name.replace("_", "-").lower() for name in theirs} <= {own}
        taken = module in sys.builtin_module_names or (find_spec(module) and not (theirs and alike))
        if top.endswith((".pth", ".data")) or module in CUSTOMIZE or taken:
            raise UqbenchError(
                f"{wheel.name} brings {top}, which would be another's or run at every start; "
                f"expected modules of its own name."
            )


def run(folder: Path, arguments: Sequence[str], seconds: float, package: str) -> None:
    """Call ``uqbench run`` in an environment, isolated where that can be.

    Args:
        folder: of :func:`environment`; the runs go to its ``runs``.
        arguments: of the command line.
        seconds: after which it is stopped.
        package: whose plugins are loaded even where ``UQBENCH_PLUGINS`` names others.

    Raises:
        UqbenchError: it took longer, or ended otherwise than with 0 or 1.
    """
    runs = str(folder / "runs")
    own = {name: os.environ[name] for name in KEPT if name in os.environ} | {"HOME": runs}
    if SELECTION in os.environ:
        own[SELECTION] = f"{os.environ[SELECTION]},{package}"
    command = [str(folder / "env/bin/python"), "-P", "-m", "uqbench", "run", *arguments]
    try:
        code = subprocess.run(
            [*isolated(folder), *command, "--device", "cpu", "--out", runs], check=False, cwd=runs,
            env=own, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, timeout=seconds,
        ).returncode  # fmt: skip
    except subprocess.TimeoutExpired as error:
        raise UqbenchError(f"the runs took longer than {seconds / 3600:.3g} hours.") from error
    if code not in (0, 1):
        raise UqbenchError(f"uqbench run ended with exit code {code}; what it said is above.")


def isolated(folder: Path) -> list[str]:
    """The beginning of a command line of bubblewrap; nothing where there is none."""
    if not has_sandbox():
        return []
    seen = [sys.prefix, sys.base_prefix, *_seen(), str(folder / "env")]
    read = [word for path in seen for word in ("--ro-bind-try", path, path)]
    return [
        "bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc",
        "--tmpfs", tempfile.gettempdir(), *read, "--bind", f"{folder}/runs", f"{folder}/runs",
        "--unshare-all", "--die-with-parent", "--new-session",
    ]  # fmt: skip


def _seen() -> list[str]:
    """Folders in which this process finds libraries."""
    return [path for path in sys.path if Path(path).is_absolute()]
