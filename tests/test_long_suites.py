"""The page of long suites is what its tool wrote."""

import importlib
import os
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tools"))

long_suites = importlib.import_module("long_suites")
TOX = (ROOT / "tox.ini").read_text("utf-8")


def test_tox_has_every_long_suite():
    assert [name for name in long_suites.SHORT if f"[testenv:{name}]\n" not in TOX] == []


def test_the_page_is_what_the_tool_writes_of_what_it_reads_there():
    text = long_suites.PAGE.read_text("utf-8")
    passed = long_suites.read(text)
    assert passed.keys() == long_suites.SHORT.keys()
    assert long_suites.page(passed) == text


@pytest.mark.parametrize(("code", "day"), [(0, r"\d{4}-\d\d-\d\d"), (1, "2001-02-03")])
def test_a_failure_keeps_the_day_of_the_last_pass_and_is_said(code, day, tmp_path, monkeypatch):
    """``tox`` is a program that ends as a failed one does, or one that passed."""
    tox = tmp_path / "tox"
    tox.write_text(f"#!/bin/sh\nexit {code}\n")
    tox.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    of = long_suites.run("ptx", long_suites.Passed("2001-02-03", "abc", "1.0"))
    assert re.fullmatch(day, of.day)
    assert bool(of.failed) == bool(code)
    assert long_suites.read(long_suites.page({"ptx": of}))["ptx"] == of
