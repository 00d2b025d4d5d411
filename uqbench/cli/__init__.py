"""The command line, one module a command, each imported when it is used.

A module parses its options (``options``), calls :mod:`uqbench.api`, and prints (``terminal``). Read
``run`` first; errors become exit codes in :func:`main`.
"""

import errno
import gc
import importlib
import io
import os
import sys

import click

from uqbench.cli.terminal import say
from uqbench.contract.errors import StorageError, UqbenchError, did_you_mean
from uqbench.contract.version import __version__
from uqbench.registry import packages
from uqbench.results.folders import NO_ROOM

_NAMES = ("list", "run", "try", "status", "doctor")
COMMANDS = {name: f"{name}_" if name in ("list", "try") else name for name in _NAMES}
"""Modules, by command."""


class _Lazy(click.Group):
    """Imports a command's module when the command is asked for; results come as exit codes.

    Commands of other packages come by entry point; where such a package is not installed, its
    command says so.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        known = packages.PACKAGES[packages.COMMANDS]
        return list(dict.fromkeys([*COMMANDS, *known, *packages.brought(packages.COMMANDS)]))

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name in COMMANDS:
            command = importlib.import_module(f"uqbench.cli.{COMMANDS[name]}").command
        elif added := packages.brought(packages.COMMANDS).get(name):
            command = added.load()
        elif name in packages.PACKAGES[packages.COMMANDS]:
            command = _missing(name)
        else:
            return None
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in (known := self.list_commands(ctx)):
            raise click.UsageError(
                f"there is no command {args[0]!r}. {did_you_mean(args[0], known)}", ctx
            )
        return super().resolve_command(ctx, args)


def _missing(name: str) -> click.Command:
    """The command of a package that is not installed: whatever it is given, it says which."""
    error = packages.missing(packages.COMMANDS, name)

    def refuse() -> None:
        raise error

    return click.Command(
        name,
        callback=refuse,
        params=[click.Argument(["given"], nargs=-1, type=click.UNPROCESSED, expose_value=False)],
        help=f"{error}",
        add_help_option=False,
        context_settings={"ignore_unknown_options": True},
    )


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="uqbench")
def group() -> None:
    """Benchmark methods that know what they do not know.

    \b
    Example:
      uqbench demo
    """


GARBAGE = (100_000, 50, 1_000)
"""Thresholds of the garbage collector's three generations, of ``uqbench`` commands."""


def main() -> None:
    """Exit codes: 0 done, 1 some runs or the disk failed, 2 not understood, 130 interrupted."""
    # Commands hold up to a hundred thousand records until they end: searching them for cycles again
    # and again took a quarter of the time.
    gc.set_threshold(*GARBAGE)
    if (out := sys.__stdout__) is not None and sys.stdout is out and sys.stderr is not None:
        sys.stdout = os.fdopen(os.dup(1), "w", encoding=out.encoding, errors=out.errors)
        os.dup2(2, 1)  # what a library prints without Python is no result
    try:
        code = group(prog_name="uqbench", standalone_mode=False)
        if sys.stdout is not None:
            sys.stdout.flush()
    except UqbenchError as error:
        first, *more = f"uqbench: {error}".split("\n")
        say(first, *(f"  {line}" for line in more), err=True)
        code = 1 if isinstance(error, StorageError) else 2
    except ModuleNotFoundError as error:
        say(f"uqbench: {packages.lacking(error)}", err=True)
        code = 2
    except click.ClickException as error:
        shown = io.StringIO()
        error.show(shown)
        say(*shown.getvalue().expandtabs(2).splitlines(), err=True)
        code = error.exit_code
    except (click.Abort, KeyboardInterrupt) as error:
        said = str(error.__cause__ or "") or "what was finished is kept"
        say(f"uqbench: interrupted; {said}.", err=True)
        code = 130
    except OSError as error:
        if error.errno not in (errno.EPIPE, *NO_ROOM) or error.filename is not None:
            raise
        if error.errno != errno.EPIPE:  # whoever closes a pipe has read enough
            say(f"uqbench: the output cannot be written: {error.strerror}.", err=True)
        # what is left is written when Python ends
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno() if sys.stdout else 1)
        code = 1
    sys.exit(code or 0)
