"""What points into a page finds it: headings, errors, and the tests of its guarantees."""

import re
from pathlib import Path

import pytest
from uqbench_keeper.make import read_submission

from uqbench.errors import UqbenchError, see

ROOT = Path(__file__).parents[2]
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("plugins/*/*.md")]
SOURCES = [*ROOT.glob("uqbench/**/*.py"), *ROOT.glob("plugins/*/src/**/*.py")]


def headings(page: Path) -> set[str]:
    """The addresses of a page's headings, which GitHub and the site make alike of plain ones."""
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.M | re.S)
    found = re.findall(r"^#+ (.+)$", text, re.M)
    return {re.sub(r"\s+", "-", re.sub(r"[^\w\s-]", "", of).strip().lower()) for of in found}


def test_every_anchor_is_that_of_a_heading() -> None:
    pointed = [
        (page.parent / to if to else page, anchor)
        for page in PAGES
        for to, anchor in re.findall(
            r"\]\(((?!https?:)[^)#\s]+\.md|)#([^)\s]+)\)", page.read_text()
        )
    ]
    pointed += [
        (ROOT / to, anchor)
        for path in SOURCES
        for to, anchor in re.findall(r"(docs/[\w/-]+\.md)#([\w-]+)", path.read_text("utf-8"))
    ]
    assert len(pointed) > 20
    assert [(str(to), anchor) for to, anchor in pointed if anchor not in headings(to)] == []


PAGE = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")


def test_every_entry_is_pointed_to_and_every_pointer_has_an_entry():
    pointed = {
        entry
        for path in SOURCES
        for entry in re.findall(r"\bsee\(['\"]([a-z-]+)['\"]\)", path.read_text(encoding="utf-8"))
    }
    entries = re.findall(r"^### (.+)$", PAGE, re.MULTILINE)
    assert (len(entries), set(entries)) == (len(set(entries)), pointed)


def test_a_message_names_the_page_and_the_entry(tmp_path):
    (tmp_path / "sent.json").write_bytes(b"no json")
    with pytest.raises(UqbenchError) as raised:
        read_submission(tmp_path / "sent.json")
    assert str(raised.value).endswith(see("refused-submission"))
    assert see("refused-submission") == " [docs/errors.md#refused-submission]"


def test_every_guarantee_names_tests_that_are_there():
    page = (ROOT / "docs" / "reliability.md").read_text("utf-8")
    rows = [line for line in page.splitlines() if line.startswith("| ")][2:]
    assert len(rows) > 15
    places = (ROOT / "tests", ROOT)
    for row in rows:
        files = re.findall(r"`(\S+\.py)`", row.split("|")[2])
        assert files, row
        assert [name for name in files if not any((at / name).exists() for at in places)] == []
