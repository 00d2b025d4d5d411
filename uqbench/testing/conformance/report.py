"""Results of checks as lines, JSON and JUnit ElementTree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any
from xml.etree import ElementTree

from uqbench.testing.conformance.check import LEVELS, Level, Result


def levels(results: Sequence[Result]) -> list[Level]:
    """The levels that a subject reaches: each of their checks passes, and one at least."""
    reached = []
    for level in LEVELS:
        own = [r for r in results if r.check.level == level]
        if any(r.status == "passed" for r in own) and all(r.ok for r in own):
            reached.append(level)
    return reached


def failures(results: Sequence[Result]) -> list[Result]:
    """Broken rules that keep a subject from a board: failures of the level *required*."""
    return [r for r in results if not r.ok and r.check.level == "required"]


def summary(results: Sequence[Result]) -> str:
    """One line: how many checks passed, failed and so on."""
    counts = Counter(result.status for result in results)
    return ", ".join(f"{count} {status}" for status, count in counts.most_common())


def as_json(results: Sequence[Result]) -> list[dict[str, Any]]:
    """A table for each result."""
    return [
        {
            "subject": r.subject.name,
            "kind": r.subject.kind,
            "check": r.check.id,
            "level": r.check.level,
            "status": r.status,
            "message": r.message,
            "rule": r.check.rule,
            "fix": r.check.fix,
            "docs": r.check.anchor,
        }
        for r in results
    ]


def as_junit(results: Sequence[Result]) -> bytes:
    """A JUnit report, as CI systems read it; expected failures are skipped tests."""
    bad = [r for r in results if r.status == "failed"]
    suite = ElementTree.Element(
        "testsuite", name="uqbench", tests=str(len(results)), failures=str(len(bad))
    )
    for r in results:
        case = ElementTree.SubElement(
            suite, "testcase", classname=f"{r.subject.kind}.{r.subject.name}", name=r.check.id
        )
        if r.status == "failed":
            failure = ElementTree.SubElement(case, "failure", message=_clean(r.message))
            failure.text = _clean(str(r))
        elif r.status != "passed":
            ElementTree.SubElement(case, "skipped", message=_clean(f"{r.status}: {r.message}"))
    return bytes(ElementTree.tostring(suite, encoding="utf-8", xml_declaration=True))


def _clean(text: str) -> str:
    """Without characters that XML cannot hold."""
    return "".join(c if c.isprintable() or c in "\n\t" else "�" for c in text)
