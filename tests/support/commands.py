"""``uqbench`` commands in processes of their own, which have imported it before they begin."""

import importlib
import os
import subprocess
import sys
import tempfile
import traceback
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click
import pytest

from uqbench.cli import main

TOY = Path(__file__).parents[1] / "toy"


def toy_plugin(patch: pytest.MonkeyPatch, plugins: str = "toy,builtin") -> None:
    """The toy plugin, here and in processes that begin here, and what is built in."""
    patch.syspath_prepend(str(TOY))
    patch.setenv("PYTHONPATH", str(TOY))
    patch.setenv("UQBENCH_PLUGINS", plugins)
    patch.setenv("UQBENCH_LOCAL", "[]")


def begin(
    out: Path, *arguments: str, variables: Mapping[str, str] | None = None, **more: Any
) -> "subprocess.Popen[str]":
    """Begin ``uqbench run`` of the toy suite in a process of its own."""
    command = [sys.executable, "-m", "uqbench", "run", "--suite", "toy", "--out", str(out)]
    env = os.environ | {"PYTHONPATH": str(TOY), "COLUMNS": "200"} | dict(variables or {})
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen([*command, *arguments], env=env, text=True, **pipes, **more)


def uqbench(
    *arguments: str | Path, code: int = 0, variables: Mapping[str, str] | None = None
) -> "subprocess.CompletedProcess[str]":
    """Call a command in a forked process, with the toy plugin and the plugins that are installed.

    Imports, and what tests did to this process's warnings and streams, are all that differs from
    ``python -m uqbench``.
    """
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = os.fork()
        if not child:
            _command(out.fileno(), err.fileno(), [*map(str, arguments)], variables or {})
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        texts = [os.pread(file.fileno(), 1 << 24, 0).decode() for file in (out, err)]
    assert status == code, texts[1] + texts[0]
    return subprocess.CompletedProcess([*arguments], status, *texts)


def python(
    *arguments: str | Path, code: int = 0, folder: Path | None = None, **variables: str
) -> "subprocess.CompletedProcess[str]":
    """A Python in a new process, in a folder and with more environment variables."""
    done = subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=os.environ | variables,
        capture_output=True, text=True, check=False)  # fmt: skip
    assert done.returncode == code, done.stdout + done.stderr
    return done


def every_command(
    of: click.Group, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Each group and command below a group, with its path."""
    context = click.Context(of)
    for name in of.list_commands(context):
        command = of.get_command(context, name)
        yield (*path, name), command
        if isinstance(command, click.Group):
            yield from every_command(command, (*path, name))


def install(folder: Path, name: str, version: str, entry_points: str, requires: str = "") -> None:
    """Metadata of a distribution, as pip leaves it beside the modules."""
    info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True, exist_ok=True)
    needs = f"Requires-Dist: {requires}\n" if requires else ""
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needs}"
    (info / "METADATA").write_text(metadata)
    (info / "entry_points.txt").write_text(entry_points)


def _command(out: int, err: int, arguments: list[str], variables: Mapping[str, str]) -> None:
    """What the forked process does; it never returns."""
    try:
        os.dup2(out, 1)
        os.dup2(err, 2)
        sys.stdout = sys.__stdout__ = os.fdopen(1, "w", closefd=False)
        sys.stderr = sys.__stderr__ = os.fdopen(2, "w", buffering=1, closefd=False)
        importlib.reload(warnings)
        warnings.simplefilter("ignore", DeprecationWarning)
        os.environ.update({"PYTHONPATH": str(TOY), "COLUMNS": "200", **variables})
        sys.path[:0] = os.environ["PYTHONPATH"].split(os.pathsep)
        sys.argv = ["uqbench", *arguments]
        main()
        code = 0
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else error.code is not None
    except BaseException:
        traceback.print_exc()
        code = 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
