"""Runs what CI has no time for, and writes down when each passed last: ``docs/long-suites.md``.

``python tools/long_suites.py`` runs all of :data:`SHORT`, one after another; names on the command
line run those alone. It needs ``tox``. A row says what happened, and a failure does not take away
the date of the last pass. It ends with 1 where one failed.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/long-suites.md"
SHORT = {
    "ptx": "none: numba-cuda, which compiles them, is not installed there",
    "ray": "`plugins/uqbench-cluster/tests`, with an executor of processes",
    "slurm": "`plugins/uqbench-cluster/tests`, with an executor of processes",
    "long": "the rest of each file's tests",
    "faults": "`tests/faults` with few inputs",
    "browser": "`plugins/uqbench-report/tests/explorer`, without a browser",
    "notebooks": "`tests/docs/test_notebooks.py`: the same code, without Jupyter",
    "site": "`tests/test_site.py`, without building it",
    "lowest": "`tests/test_requirements.py`: what is declared, not installed",
    "newest": "none: it is an installation of its own",
    "jax": "none: JAX is not installed there",
}
"""The environments of tox.ini that CI leaves out, and what of each it runs all the same."""
NEVER = "not on record"
HEAD = """# Long suites

Tests that CI, with its twenty minutes, does not run, and the day when each passed last. `tox.ini`
describes them. `python tools/long_suites.py` runs all, or those that are named, and writes this
page.

| | passed last | at commit | minutes | failed since | in every CI run |
| --- | --- | --- | ---: | --- | --- |
"""
_ROW = re.compile(r"\| `tox -e (\w+)` \| (.*) \| (.*) \| (.*) \| (.*) \| .* \|")


@dataclass(frozen=True)
class Passed:
    """When a suite passed last, and whether it failed since; texts of its row."""

    day: str = NEVER
    commit: str = ""
    minutes: str = ""
    failed: str = ""


def read(text: str) -> dict[str, Passed]:
    """What a page says, by environment; nothing of those that it does not name."""
    return {row[0]: Passed(*row[1:]) for row in _ROW.findall(text)}


def page(passed: dict[str, Passed]) -> str:
    """The page's text, of passes by environment."""
    rows = []
    for name, short in SHORT.items():
        of = passed.get(name, Passed())
        cells = (of.day, of.commit, of.minutes, of.failed, short)
        rows.append(f"| `tox -e {name}` | {' | '.join(cells)} |\n")
    return HEAD + "".join(rows)


def run(name: str, before: Passed) -> Passed:
    """Run one environment, and say what became of it."""
    began = time.monotonic()
    code = subprocess.run(["tox", "-e", name], cwd=ROOT, check=False).returncode
    day = f"{datetime.now(UTC):%Y-%m-%d}"
    if code:
        return Passed(before.day, before.commit, before.minutes, day)
    commit = _git("rev-parse", "--short=8", "HEAD")
    changed = _git("status", "--porcelain", "-uno", "--", ".", f":!docs/{PAGE.name}")
    minutes = f"{(time.monotonic() - began) / 60:.1f}"
    return Passed(day, commit + ("+changes" if changed else ""), minutes)


def _git(*arguments: str) -> str:
    command = ["git", *arguments]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def main(names: list[str]) -> int:
    """Run some of the suites, or all; the exit code."""
    if strange := set(names) - SHORT.keys():
        print(f"unknown: {', '.join(sorted(strange))}; expected {', '.join(SHORT)}")
        return 2
    passed = read(PAGE.read_text("utf-8")) if PAGE.exists() else {}
    asked = names or list(SHORT)
    for name in asked:
        passed[name] = run(name, passed.get(name, Passed()))
        PAGE.write_text(page(passed), "utf-8")
    return int(any(passed[name].failed for name in asked))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
