"""Messages that a newcomer meets: each says what is there and what to type next."""

from pathlib import Path
from types import SimpleNamespace

import click
import pytest
from commands import every_command, uqbench

from uqbench.boards.stored import StoredBoard
from uqbench.boards.with_stored import read_reference
from uqbench.cli import group
from uqbench.contract.errors import UqbenchError, located
from uqbench.registry import Host, local, named
from uqbench.results.folders import Folder
from uqbench.runner.states import describe
from uqbench.suites import Selection


def test_usage_lines_bracket_what_may_be_left_out_and_nothing_else():
    wrong = []
    for path, command in every_command(group):
        shown = command.collect_usage_pieces(click.Context(command))
        for one in (p for p in command.params if isinstance(p, click.Argument) and p.nargs == 1):
            piece = one.make_metavar(click.Context(command))
            assert piece in shown
            wrong += [(path, piece)] * ((piece[0] == "[") == one.required)
    assert wrong == []


def test_a_message_of_several_lines_has_no_tab_made_visible():
    said = uqbench("plugin", "new", "mylab", code=2).stderr
    assert "agent" in said
    assert r"\t" not in said


def test_a_folder_that_is_not_installed_is_said_to_be_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UqbenchError, match="no plugin 'my-method'") as without:
        named.plugins_of(Host.load(), "my-method")
    assert "pip" not in str(without.value)
    (tmp_path / "my-method").mkdir()
    (tmp_path / "my-method" / "pyproject.toml").touch()
    with pytest.raises(UqbenchError, match="pip install -e my-method"):
        named.plugins_of(Host.load(), "my-method")


@pytest.mark.filterwarnings("ignore::ImportWarning")
@pytest.mark.parametrize("text", ["import torhc", "from .other import A"])
def test_only_a_relative_import_is_said_to_need_a_package(tmp_path, text):
    path = tmp_path / "mine.py"
    path.write_text(text)
    with pytest.raises(UqbenchError, match="cannot be executed") as refused:
        local.add_class(path)
    assert ("DISTRIBUTION:NAME" in str(refused.value)) == ("from ." in text)


def test_an_error_of_a_users_code_comes_with_file_line_and_function_once():
    names = {"__name__": "mine"}
    exec(compile("\n\ndef observe(step): return step.actions", "/somewhere/mine.py", "exec"), names)
    with pytest.raises(AttributeError) as raised:
        names["observe"](SimpleNamespace())
    message = located(raised.value)
    assert message.count("has no attribute 'actions'") == 1
    assert message.endswith(" (mine.py:3, in observe)")
    with pytest.raises(UqbenchError) as refused:  # an error of the harness names no line
        local.add_class(Path("nothing.txt"))
    assert "local.py" not in located(refused.value.with_traceback(refused.tb.tb_next))


def test_boards_that_are_stored_are_named_where_one_is_not(tmp_path):
    for suite, name in (("toy", "paper"), ("toy", "long"), ("other", "paper")):
        (tmp_path / suite / name).mkdir(parents=True)
        (tmp_path / suite / name / "manifest.json").touch()
    with pytest.raises(UqbenchError, match=r"Boards below it: .*toy/long, .*toy/paper\."):
        StoredBoard.read(tmp_path / "toy")
    plan = SimpleNamespace(suite=SimpleNamespace(name="toy"), budget_name="smoke")
    board = StoredBoard(Folder(tmp_path).below("toy", "smoke"))
    with pytest.raises(UqbenchError, match=r"toy/smoke\. In .* toy has: long, paper; uqbench run"):
        board.board(plan, None, None)


REFUSED = [
    ({"tasks": ("long",)}, "leave out --tasks: stored"),
    ({"tasks": ("long",), "steps": 9}, "leave out --steps and --tasks: stored"),
    ({"methods": None}, "name your methods with --methods"),
]


@pytest.mark.parametrize(("given", "said"), REFUSED)
def test_beside_refuses_what_was_given_and_nothing_else(tmp_path, given, said):
    selection = Selection("toy", **{"methods": ("fast",)} | given)
    with pytest.raises(UqbenchError, match=f"--beside: {said}") as refused:
        read_reference(selection, None, None, Folder(tmp_path), lambda _: None)
    assert ("--methods" in str(refused.value)) == ("methods" in given)


def test_a_folder_that_is_removed_is_not_said_to_hold_the_results(tmp_path):
    plan = Selection("windy-cliff", "smoke").plan(Host.load(), "cpu")
    store = SimpleNamespace(root=tmp_path)
    assert f"Results go to {tmp_path}/." in " ".join(describe(plan, {}, store))
    assert str(tmp_path) not in " ".join(describe(plan, {}, store, kept=False))


def test_a_budget_that_lacks_a_task_is_named_with_the_suite():
    with pytest.raises(UqbenchError, match="Budget quick of minatar has no task 'asterix'"):
        Selection("minatar", "quick", tasks=("asterix",)).plan(Host.load(), "cpu")


def test_help_says_that_a_suite_is_required_only_where_it_is():
    for path, command in every_command(group):
        suites = [one for one in command.params if one.name == "suite" and one.required]
        assert not (suites and "without --suite" in (command.help or "").lower()), path
