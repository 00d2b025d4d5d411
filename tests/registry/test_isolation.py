"""Broken plugins, as real distributions: named with their reason, and everything else works."""

import json
import os
from pathlib import Path

import commands
import pytest

TOY = Path(__file__).parents[1] / "toy"

AGENT = """
from uqbench import AgentSpec, hookimpl

@hookimpl
def uqbench_agents():
    return [AgentSpec(name={name!r}, version="1", factory="nowhere:X", summary="")]
"""

SUITE = """
from pathlib import Path
from uqbench import hookimpl

@hookimpl
def uqbench_suites():
    return [Path(__file__).with_name("suite.toml")]
"""


class Site:
    """A folder of fabricated distributions beside the toy plugin."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def install(self, name: str, code: str, entry: str | None = None, requires: str = "") -> None:
        package = self.folder / name.replace("-", "_")
        package.mkdir()
        (package / "__init__.py").write_text(code)
        points = f"[uqbench]\n{entry or name} = {package.name}\n"
        commands.install(self.folder, name, "3.1", points, requires)

    def install_suite(self, *changes: tuple[str, str]) -> None:
        """The toy plugin's suite with other words, in a package of its own."""
        self.install("zz-suite", SUITE)
        text = (TOY / "toy_uqbench" / "toy.toml").read_text()
        for old, new in changes:
            text = text.replace(old, new)
        (self.folder / "zz_suite" / "suite.toml").write_text(text)

    def uqbench(self, *arguments: str, code: int = 0, **variables: str) -> tuple[str, str]:
        variables = {"PYTHONPATH": f"{self.folder}{os.pathsep}{TOY}", **variables}
        done = commands.python("-m", "uqbench", *arguments, code=code, **variables)
        assert "Traceback" not in done.stderr
        return done.stdout, done.stderr

    def plugins(self) -> dict[str, dict]:
        stdout, _ = self.uqbench("list", "plugins", "--json")
        return {entry["distribution"]: entry for entry in json.loads(stdout)}


@pytest.fixture
def site(tmp_path: Path) -> Site:
    folder = tmp_path / "site"
    folder.mkdir()
    return Site(folder)


BROKEN = [
    ("import no_such_library", "ModuleNotFoundError: No module named 'no_such_library'"),
    ("raise SystemExit(3)", "SystemExit: 3"),
    ("from uqbench import hookimpl\n@hookimpl\ndef uqbench_agents():\n  1/0", "ZeroDivision"),
    ("from uqbench import hookimpl\n@hookimpl\ndef uqbench_agnets(): return []", "agnets"),
    ("def uqbench_agents(:", "SyntaxError"),
]


@pytest.mark.parametrize(("code", "reason"), BROKEN)
def test_a_broken_plugin_is_named_with_its_reason(code, reason, site):
    site.install("zz-broken", code)
    entry = site.plugins()["zz-broken"]
    assert entry["version"] == "3.1"
    assert reason in entry["failure"]


@pytest.mark.long
def test_where_a_plugin_is_broken_all_else_works(site, tmp_path):
    site.install("zz-broken", "raise SystemExit(3)")
    stdout, _ = site.uqbench("doctor", "--out", str(tmp_path / "out"), code=1)
    assert "WRONG  plugin zz-broken (zz-broken 3.1)" in stdout
    run = ("run", "--suite", "toy", "--budget", "smoke", "--out", str(tmp_path / "out"))
    stdout, stderr = site.uqbench(*run)
    assert "left out the plugin 'zz-broken' of zz-broken 3.1" in stderr
    assert "leaderboard.csv\nreport: " in stdout


NOISY = """
import ctypes, os, sys
from uqbench import AgentSpec, hookimpl

def noise(where):
    print(where, "on stdout \\x1b]0;owned\\x07")
    print(where, "on stderr", file=sys.stderr)
    ctypes.CDLL(None).puts(b"not by Python")
    ctypes.CDLL(None).fflush(None)

noise("import")
print("x" * 1_000_000)

@hookimpl
def uqbench_agents():
    noise("hook")
    return [AgentSpec(name="noisy", version="1", factory="zz_noisy.agent:Noisy")]
"""
NOISY_AGENT = """
from uqbench.registry.builtin.trivial import UniformRandom
from zz_noisy import noise

noise("class")
print("y" * 1_000_000, file=sys.stderr)

class Noisy(UniformRandom):
    summary = "says much"
"""


def test_what_a_plugin_prints_in_the_users_own_process_is_no_result_and_bounded(site):
    site.install("zz-noisy", NOISY)
    (site.folder / "zz_noisy" / "agent.py").write_text("import sys" + NOISY_AGENT)
    stdout, stderr = site.uqbench("list", "agents", "--json")
    assert "noisy" in [entry["name"] for entry in json.loads(stdout)]
    assert r"import on stdout \x1b]0;owned\x07" in stderr
    for said in ("import on stderr", "class on stdout", "class on stderr"):
        assert said in stderr
    assert stderr.count("not by Python") == 3
    who = "the plugin 'zz-noisy' of zz-noisy", "the import of zz_noisy.agent:Noisy"
    for name, letter in zip(who, "xy", strict=True):
        assert f"uqbench: more output of {name} is left out" in stderr
        assert 60_000 < stderr.count(letter) < 70_000


def test_a_plugin_for_another_contract_is_skipped_without_importing_it(site):
    site.install("zz-old", "raise RuntimeError('imported')", requires="uqbench<0.1")
    said = "made for uqbench's contract <0.1, but this is contract 0.1"
    assert said in site.plugins()["zz-old"]["failure"]


def test_an_entry_point_name_in_two_distributions_is_told_apart_by_its_full_form(site):
    site.install("zz-one", AGENT.format(name="one"), entry="same")
    site.install("zz-two", AGENT.format(name="two"), entry="same")
    found = site.plugins()
    assert found["zz-one"]["failure"] is found["zz-two"]["failure"] is None
    stdout, _ = site.uqbench("list", "plugins", "--json", UQBENCH_PLUGINS="zz-two:same")
    assert [entry["distribution"] for entry in json.loads(stdout)] == ["uqbench", "zz-two"]


def test_a_suite_that_is_taken_is_a_problem_of_the_second_plugin(site):
    site.install_suite()
    assert "already defined by toy-uqbench" in site.plugins()["zz-suite"]["problems"][0]
    assert "toy" in site.uqbench("list", "suites")[0]


def test_the_file_of_an_installed_suite_is_checked_in_its_place(site, tmp_path):
    toy = tmp_path / "toy.toml"
    toy.write_text((TOY / "toy_uqbench" / "toy.toml").read_text())
    stdout, _ = site.uqbench("plugin", "check", str(toy))
    assert stdout.startswith("toy: ")


@pytest.mark.long
def test_a_suite_that_needs_a_broken_plugin_refuses_to_start_and_says_why(site, tmp_path):
    site.install_suite(('name = "toy"', 'name = "needy"'), ('"walker"', '"sleeper"'))
    site.install("zz-agent", "import no_such_library\n" + AGENT.format(name="sleeper"))
    run = ("--budget", "smoke", "--out", str(tmp_path / "out"))
    _, stderr = site.uqbench("run", "--suite", "needy", *run, code=2)
    assert "there is no agent 'sleeper'" in stderr
    assert "zz-agent 3.1: ModuleNotFoundError" in stderr
    assert not (tmp_path / "out").exists()
    site.uqbench("run", "--suite", "toy", *run)


def test_a_suite_without_its_baseline_refuses_to_start(site, tmp_path):
    site.install_suite(('name = "toy"', 'name = "lone"'), ('baseline = "slow"', 'baseline = "x"'))
    _, stderr = site.uqbench("run", "--suite", "lone", "--out", str(tmp_path), code=2)
    assert "is the method 'x', which no loaded plugin provides" in stderr


def test_only_the_named_plugins_are_loaded(site):
    site.install("zz-broken", "raise RuntimeError")
    _, stderr = site.uqbench("list", UQBENCH_PLUGINS="toy")
    assert stderr == ""
    stdout, _ = site.uqbench("list", "plugins", "--json", UQBENCH_PLUGINS="toy")
    assert [entry["name"] for entry in json.loads(stdout)] == ["builtin", "toy"]
    _, stderr = site.uqbench("list", code=2, UQBENCH_PLUGINS="tyo")
    assert "UQBENCH_PLUGINS: this installation has no plugin 'tyo'. Did you mean 'toy'?" in stderr
