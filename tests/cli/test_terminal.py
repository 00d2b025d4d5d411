"""Text from elsewhere cannot make a terminal do anything, nor pretend to be another line."""

import fcntl
import io
import logging
import os
import pty
import re
import struct
import sys
import termios
from pathlib import Path

import click
from click.testing import CliRunner

from uqbench.cli.terminal import say
from uqbench.contract.wording import fitted, printed_by
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


def test_a_line_is_as_wide_as_the_terminal_that_it_goes_to(monkeypatch):
    """Not as wide as another stream's: a command's first descriptor is its stderr."""
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.setattr(sys, "__stdout__", None)
    _, end = pty.openpty()
    fcntl.ioctl(end, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 40, 0, 0))
    with os.fdopen(end, "w") as file:
        lines = fitted("word " * 20, file).splitlines()
    assert max(map(len, lines)) <= 40 < len(lines) * 40


def test_what_is_printed_inside_is_shown_up_to_a_size_whichever_way(monkeypatch):
    shown = io.StringIO()
    monkeypatch.setattr(sys, "stderr", shown)
    with printed_by("mine"):
        sys.stdout.writelines(["\x1b]0;owned\x07", "z" * 100_000])
        print("more", flush=True)
    assert "\x1b" not in shown.getvalue()
    assert 2**16 < len(shown.getvalue()) < 2**16 + 100
    assert shown.getvalue().endswith("uqbench: more output of mine is left out\n")


def test_a_log_that_was_set_up_inside_goes_on_also_where_stderr_is_closed(monkeypatch):
    shown = io.StringIO()
    monkeypatch.setattr(sys, "stderr", shown)
    with printed_by("mine"):
        handler = logging.StreamHandler()
    for number in range(3_000):
        handler.emit(logging.makeLogRecord({"msg": f"warning {number} " + "x" * 50}))
    assert "warning 2999" in shown.getvalue()
    monkeypatch.setattr(sys, "stderr", None)  # closed: printing raises nothing
    with printed_by("mine"):
        print("x", flush=True)
