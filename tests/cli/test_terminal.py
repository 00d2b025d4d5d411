"""Text from elsewhere cannot make a terminal do anything, nor pretend to be another line."""

import re
from pathlib import Path

import click
from click.testing import CliRunner

from uqbench.cli.terminal import say
from uqbench.wording import visible

CLI = Path(__file__).parents[2] / "uqbench" / "cli"


def test_control_characters_are_written_out():
    assert visible("a\x1b[2Jb") == "a\\x1b[2Jb"
    assert visible("a\nb\r\tc\x9b\u202e\udcff") == "a\\nb\\r\\tc\\x9b\\u202e\\udcff"
    assert visible("γ × 3 – naïve") == "γ × 3 – naïve"


def test_a_line_is_one_line_whatever_is_in_it(capsys):
    say("one\nuqbench: forged", "two", err=True)
    assert capsys.readouterr().err == "one\\nuqbench: forged\ntwo\n"


def test_a_word_is_colored_once_and_after_the_line_was_made_visible():
    @click.command()
    def command() -> None:
        say("a\x1b[31m: holds: holds", colors={"holds": "green"})

    printed = CliRunner().invoke(command, color=True).output
    assert printed == f"a\\x1b[31m: {click.style('holds', fg='green')}: holds\n"


def test_all_commands_print_through_one_place():
    for path in CLI.glob("*.py"):
        if path.name != "terminal.py":
            code = path.read_text()
            assert not re.search(r"click\.(echo|secho)\((?!json)|\bprint\(\w+, h", code), path
            for printed in re.findall(r"\.print\((\w+)", code):
                assert printed in ("visible", "table"), path
