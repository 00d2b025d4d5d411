"""Links and messages that point into a page find a heading there."""

import re
from pathlib import Path

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
