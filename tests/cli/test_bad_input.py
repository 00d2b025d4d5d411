"""Bad input ends with a sentence: exit code 2 or a UqbenchError, nothing written, no traceback.

The cases of the command line follow from the commands' own parameters, those of Python from the
types of the options, so that a new one is tried by itself.
"""

import gc
import math
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

import click
import commands
import numpy as np
import pytest

import uqbench
from uqbench.api.options import Options
from uqbench.api.values import Kind
from uqbench.cli import group, main
from uqbench.cli.options import _Value
from uqbench.errors import UqbenchError
from uqbench.registry import local

SENTENCE = re.compile(
    r"expected|Did you mean|[Kk]nown|does not exist|is a (file|directory)|cannot be|[Mm]issing|"
    r"(use|give) one of|appears more than once|requires an argument|needs|asks|leave it out|"
    r"Possible options|No such command"  # click before 8.4
)
LONG = "x" * 100_000
DIGITS = "9" * 400

NUMBERS = ("nan", "inf", "-inf", "-1", "", "x", "1e400", f"-{DIGITS}", "1;2")
WHOLE = ("1.5", DIGITS, "9" * 5_000)
NAMES = ("", "  ", "a\0b", LONG)
PATHS = ("", "a\0b", "x" * 300, "there.txt/below", "y/" * 3_000)
BASE = {
    "run": ["--suite", "toy", "--dry-run"], "tune": ["toy", "--dry-run"],
    "try": ["there.py", "--suite", "toy"],
    "leaderboard": ["--suite", "toy"], "claims": ["--suite", "toy"], "plot": ["folder"],
    "report": ["folder"], "submit": ["--suite", "toy", "--methods", "fast"],
    "verify": ["there.txt", "there.txt"], "compare": ["folder"],
    "score": ["there.txt"], "cite": ["toy"],
    "plugin new": ["mine", "--kind", "agent"], "plugin check": ["toy"],
}  # fmt: skip
"""Arguments that a command cannot do without."""
NEAR = {
    "suite": ("tpy",), "budget": ("smoek",), "methods": ("fst", ",", "fast,fst"),
    "tasks": ("shrt", ",,"), "executor": ("locl",),
    "settings": ("x", "=1", "fast=1", "fast.=1", "fst.a=1", "fast.nope=1"),
    "executor_config": ("x", "=1", "nope=1", "cpus=x", "memory=nan", "gpus=-1", "gpus=2e400"),
}  # fmt: skip
"""Names that are nearly one, and texts that are no assignments, by parameter."""
BY_HAND = [
    ["rnu"], ["run"], ["run", "--suite"], ["run", "--suite", "toy", "--sede", "3"],
    ["run", "--suite", "toy", "--executor-config", "cpus=2"],
    ["run", "--suite", "toy", "--no-wait"],
    ["cite", "tpy"], ["plugin", "check", "toyy"],
    ["plugin", "check", "toy:fst"], ["plugin", "chekc", "toy"], ["plugin", "new", "mine"],
    ["list", "suits"], ["plugin", "check", "there.toml"], ["plugin", "check", "no.toml"],
    ["try", "no.py", "--suite", "toy"], ["try", "there.py", "--suite", "toy"],
    ["submit", "--suite", "toy"], ["verify"], ["verify", "there.txt"],
    ["leaderboard", "--suite", "toy", "--check", "--rewrite"], ["compare", "folder"],
    ["score", "there.txt"], ["report", "folder"],
]  # fmt: skip

FILES = {
    "syntax.py": "def f(:\n",
    "missing.py": "import os\nimport no_such_library\n",
    "exits.py": "import sys\nsys.exit(0)\n",
    "exits_3.py": "raise SystemExit(3)\n",
    "empty.py": "# nothing\n",
    "misspelt.py": "import uqbench\n@uqbench.hookimpl\ndef uqbench_agnets():\n    return []\n",
    "argument.py": "import uqbench\n@uqbench.hookimpl\ndef uqbench_agents(x):\n    return []\n",
    "raises.py": "import uqbench\n@uqbench.hookimpl\ndef uqbench_agents():\n    return [1 / 0]\n",
    "no_spec.py": "import uqbench\n@uqbench.hookimpl\ndef uqbench_agents():\n    return [1]\n",
    "latin.py": "\xff",
    "syntax.toml": "a = 1\nb = [\n",
    "empty.toml": "",
    "keys.toml": 'name = "x"\nfoo = 3\n',
    "extends.toml": "[extend.tpy]\nmethods = []\n",
    "method.toml": '[[extend.toy.methods]]\nname = "a"\nagent = "fst"\n',
    "latin.toml": "\xff",
    "words.txt": "hello",
}
LINES = {
    "syntax.py": "line 1", "missing.py": "line 2", "exits.py": "line 2", "exits_3.py": "line 1",
    "misspelt.py": "line 2", "argument.py": "line 2", "raises.py": "line 4"}  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder to be in, with a file and a folder, and the toy plugin."""
    folder = tmp_path_factory.mktemp("here")
    (folder / "folder").mkdir()
    (folder / "there.txt").write_text("")
    (folder / "there.py").write_text("x = 1\n")
    (folder / "there.toml").write_text("a = [\n")
    for name, text in FILES.items():
        (folder / name).write_bytes(text.encode("latin-1"))
    before = gc.get_threshold()
    with pytest.MonkeyPatch.context() as patch:
        commands.toy_plugin(patch, "toy,builtin,claims,leaderboard")
        patch.chdir(folder)
        yield folder
    gc.set_threshold(*before)


def texts(param: click.Parameter) -> Iterator[str]:
    """Texts that a parameter of a command refuses."""
    kind = param.type
    if isinstance(kind, click.Path):
        yield from PATHS
        yield from ("nowhere",) * kind.exists
        yield "there.txt" if not kind.file_okay else "folder"
    elif isinstance(kind, click.Choice):
        yield from ("", "x", LONG, next(iter(kind.choices))[:-1])
    elif isinstance(kind, _Value) and get_args(kind.hint)[0] in (int, float):
        yield from NUMBERS
        yield from WHOLE * (get_args(kind.hint)[0] is int)
    elif isinstance(kind, _Value) and param.param_type_name == "option":
        yield from NAMES
    yield from NEAR.get(param.name or "", ())


def lines() -> Iterator[list[str]]:
    """Command lines that are refused."""
    yield from BY_HAND
    for path, command in commands.every_command(group):
        for param in command.params:
            base = list(BASE.get(" ".join(path), []))
            if isinstance(param, click.Option):
                for flag in [flag for flag in param.opts if flag in base]:
                    at = base.index(flag)
                    del base[at : at + (1 if param.is_flag else 2)]
                if param.is_flag:
                    continue
                for text in texts(param):
                    yield [*path, *base, f"{max(param.opts, key=len)}={text}"]
            else:
                for text in texts(param):
                    yield [*path, *base[1:], "--", text]


def there(folder: Path) -> list[tuple[str, int]]:
    """All that is in a folder."""
    return sorted((str(path), path.lstat().st_mtime_ns) for path in folder.rglob("*"))


def test_a_command_line_that_is_wrong_is_refused_with_a_sentence(here, monkeypatch, capsys):
    before, tried, wrong = there(here.parent), 0, []
    for arguments in lines():
        monkeypatch.setenv(local.VARIABLE, "[]")
        monkeypatch.setattr(sys, "argv", ["uqbench", *arguments])
        shown = [text[:60] for text in arguments]
        try:
            main()
        except SystemExit as end:
            said = capsys.readouterr()
            if end.code != 2 or not SENTENCE.search(said.err):
                wrong.append((shown, end.code, said.err[-300:]))
        except BaseException as error:  # what a user would see as a traceback
            wrong.append((shown, repr(error)[:300]))
        tried += 1
    assert (wrong, there(here.parent)) == ([], before)
    assert tried > 300


@pytest.mark.parametrize("option", ["--plugin", "--suite-file", "--methods"])
def test_a_named_file_that_cannot_be_used_ends_the_command(here, option):
    of_python = [name for name in FILES if name.endswith(".py")]
    for name in of_python if option == "--methods" else [*FILES, "no.py", "no.toml"]:
        line = ("run", "--suite", "toy", option, name, "--dry-run")
        said = commands.uqbench(*line, code=2).stderr
        assert name in said
        assert option == "--methods" or LINES.get(name, "") in said, said


def test_a_file_that_was_refused_is_no_plugin_of_later_calls(here):
    with pytest.raises(UqbenchError, match="line 2: ModuleNotFoundError"):
        uqbench.plan("toy", plugins=["missing.py"])
    assert uqbench.plan("toy", methods="fast").methods["method"].tolist() == ["fast"]


OTHER = (object(), {}, b"x", math.nan, 1j)
"""Values that no option takes, but those that are dictionaries."""
OF_KIND: dict[Any, tuple[Any, ...]] = {
    int: (-1, 1.5, "3", "", math.inf, 10**400, True, [[]], np.array([[1]]), -(10**5000)),
    float: (-1, "3", "", math.inf, -math.inf, 10**400, True, []),
    str: ("", "  ", "a\0b", LONG, 0, 1.5, True, [], [""], [1], [LONG]),
    Path: ("", "a\0b", "x" * 300, "there.txt/below", 0, [], True),
    list: (0, "x", [""], ["a\0b"], [0], range(10**30)),
    bool: ("yes", 1, 0, [], np.True_),
    Mapping: (1, "x", [1], {1: 2}),
}


def values(name: str, hint: Any) -> tuple[Any, ...]:
    """Values that an option of some type refuses."""
    text = str(hint)
    if "Mapping" in text:
        return (object(), math.nan, *OF_KIND[Mapping])
    if name in ("out", "plugins"):
        return OTHER + OF_KIND[Path if name == "out" else list]
    if name == "seeds":
        more: tuple[Any, ...] = ([], [1.5], [1, 1], [-1], [True], range(10**30), [10**30], 10**30)
        return OTHER + OF_KIND[int] + more
    for kind in (bool, float, int, str):
        if kind is hint or kind in alternatives(hint):
            return OTHER + OF_KIND[kind]
    return (*OTHER, "", "x", 0, [], True)  # one of some words


def alternatives(hint: Any) -> list[Any]:
    """The plain types within a type."""
    inner = [part for part in get_args(hint) if not isinstance(part, Kind)]
    plain = not inner or get_origin(hint) is None
    return [hint] if plain else [of for part in inner for of in alternatives(part)]


@pytest.mark.parametrize("call", [uqbench.plan, uqbench.run])
def test_an_argument_that_is_wrong_is_named_with_what_was_expected(here, call):
    before, tried = there(here.parent), 0
    hints = get_type_hints(Options, include_extras=True)
    for one in fields(Options):
        for value in values(one.name, hints[one.name]):
            arguments = {"suite": "toy", one.name: value}
            with pytest.raises(UqbenchError, match=rf"\A{one.name}=(?s:.*): expected \S") as error:
                call(**arguments)
            assert len(str(error.value)) < 400
            tried += 1
    assert there(here.parent) == before
    assert tried > 200


WRONG_CALLS = [
    (uqbench.plan, {"suite": None}, "no suite was given: expected one of"),
    (uqbench.plan, {"suite": "toy", "sede": 3}, "no option 'sede'. Did you mean 'seeds'"),
    (uqbench.run, {"suite": "toy", "beside": 3}, "beside=3: expected a path"),
    (uqbench.run, {"suite": "toy", "rerun": "x"}, "rerun='x': expected True or False"),
    (uqbench.load, {"results": "a\0b"}, "expected a path without NUL"),
    (uqbench.load, {"results": "x" * 5_000}, "expected a path of at most"),
    (uqbench.load, {"results": []}, r"results=\[\]: expected a path"),
    (uqbench.load, {"results": "nowhere"}, "is not a folder"),
    (uqbench.list_methods, {"suite": None}, "suite=None: expected a name"),
    (uqbench.list_methods, {"suite": "tpy"}, "Did you mean 'toy'"),
    (uqbench.list_budgets, {"suite": []}, r"suite=\[\]: expected a name"),
    (uqbench.write_report, {"folder": "", "output": "x"}, "expected a path that is not empty"),
    (uqbench.write_report, {"folder": "folder", "output": 3}, "output=3: expected a path"),
    (uqbench.status, {"out": "a\0b"}, "expected a path without NUL"),
    (uqbench.grid, {}, "has no values"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "arguments", "said"), WRONG_CALLS)
def test_a_call_that_is_wrong_says_what_was_expected(here, call, arguments, said):
    before = there(here.parent)
    with pytest.raises(UqbenchError, match=said):
        call(**arguments)
    assert there(here.parent) == before
