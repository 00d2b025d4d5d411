"""The site, and the pictures that the README shows, are made from the committed boards."""

import importlib
import pkgutil
import re
from pathlib import Path
from types import ModuleType

import pandas as pd
import pytest
from markupsafe import escape

ROOT = Path(__file__).parents[1]
CARD = re.compile(
    r'<article class="uq-card uq-([a-z-]+)" data-board="([^"]+)" data-world="([a-z]+)" '
    r'data-need="([a-z]+)"(.*?)</article>',
    re.S,
)


@pytest.fixture(scope="module")
def tools():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "tools"))
        yield importlib.import_module("site_hook")


@pytest.fixture(scope="module")
def front(tools: ModuleType) -> dict[tuple[str, str], tuple[str, str, str]]:
    """By board and need: the state, the world, and the text of a card of the front page."""
    found = CARD.findall(tools.parts("chooser"))
    return {(board, need): (state, world, text) for state, board, world, need, text in found}


def test_the_pictures_are_current():
    spec = importlib.util.spec_from_file_location("site_tool", ROOT / "tools" / "site.py")
    assert spec is not None
    assert spec.loader is not None
    site = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(site)
    drawn = dict(site.pictures())
    stored = {path.name: path.read_text("utf-8") for path in site.PICTURES.glob("*.svg")}
    assert stored == drawn, "tox -e site draws them again"
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    text = "".join(page.read_text("utf-8") for page in pages)
    assert [name for name in drawn if f"pictures/{name}" not in text] == []


def test_every_board_is_in_the_world_of_its_observations(front):
    worlds = {board: world for (board, _), (_, world, _) in front.items()}
    assert worlds["deepsea-paper"] == "tabular"
    assert worlds["cartpole-paper"] == "small"
    assert {world for board, world in worlds.items() if board.startswith("minatar")} == {"pixels"}
    assert worlds["ood-digits-paper"] == "predictions"


@pytest.mark.parametrize("folder", sorted((ROOT / "leaderboards").glob("*/*/manifest.json")))
def test_the_front_page_says_what_a_board_decides_and_no_more(front, tools, folder: Path):
    table = pd.read_csv(folder.with_name("leaderboard.csv"))
    methods = table[(table["role"] == "method") & table["rank_low"].notna()]
    top = methods[methods["rank_low"] == 1]
    board = f"{folder.parents[1].name}-{folder.parent.name}"
    one = next(one for one in tools.boards() if one.id == board)
    cards = {need: card for (name, need), card in front.items() if name == board}
    for need, (state, _, text) in cards.items():
        answer = one.answer(need)
        named = state == "none" or answer.methods[0].method in text
        assert f'href="boards/{board}.html"' in text
        assert named, (need, text)
        if answer.column != one.board.ranking or need == "uncertainty":
            continue
        names = set(top["method"]) or set(table.loc[table["role"] == "method", "method"])
        assert {line.method for line in answer.methods} == names
        alone = len(names) == 1 < len(methods)  # one row by itself is first of nothing
        expected = "decided" if alone else "nothing-decided"
        beaten = set(top["beats_trivial"]) == {"no"}
        assert state == ("none" if beaten else expected)
        assert ("Nothing decided" in text) == (state == "nothing-decided")
    if "uncertainty" in cards:
        honest = set(table.loc[table["calibration"] == "honest", "method"])
        assert {line.method for line in one.answer("uncertainty").methods} == honest
        assert cards["uncertainty"][0] == ("decided" if honest else "none")


def test_nothing_is_decided_between_intervals_that_overlap(front, tools):
    compared = 0
    for one in tools.boards():
        for need in ("return", "risk"):
            answer = one.answer(need)
            if answer is None or answer.column == one.board.ranking:
                continue
            table = one.board.leaderboard.set_index("method")
            ends = table[[f"{answer.column}_low", f"{answer.column}_high"]]
            inside = [ends.loc[line.method] for line in answer.methods]
            first = inside[0]
            assert all(low <= first.iloc[1] and high >= first.iloc[0] for low, high in inside)
            state = front[one.id, need][0]
            assert state == ("decided" if len(inside) == 1 else "nothing-decided")
            compared += 1
    assert compared > 3


def test_its_sentences_are_those_of_the_boards_pages(tools, front):
    index = (ROOT / "leaderboards/README.md").read_text(
        "utf-8"
    )  # ‡: pages that are kept as they were
    for one in tools.boards():
        page = one.board.unchecked("README.md").decode()
        if f"({'/'.join(one.board.folder.parts[-2:])}/README.md) ‡" not in index:
            assert f"**{one.board.finding}**" in page
        shown = [text for (board, _), (_, _, text) in front.items() if board == one.id]
        assert all(str(escape(one.board.finding)) in text for text in shown)


def test_the_site_shows_the_readmes_agent(tools):
    text = tools.your_method()
    assert "class Mine(Agent):" in text
    assert "uqbench try mine.py:Mine" in text
    assert "](docs/" not in text


def test_notebooks_and_made_pages_are_in_the_nav(tools):
    nav = (ROOT / "mkdocs.yml").read_text("utf-8")
    notebooks = [f"notebooks/{p.stem}.md" for p in (ROOT / "docs/notebooks").glob("*.ipynb")]
    pages = [f"boards/{name}.html" for name in ("index", "methods", "claims")]
    made = [*pages, *tools.MADE, *notebooks]
    assert [name for name in made if f": {name}\n" not in nav] == []
    assert "```python\nimport tempfile" in tools.notebook(ROOT / "docs/notebooks/first-board.ipynb")


def test_each_page_of_the_api_is_in_the_nav_and_names_what_is_there():
    nav = (ROOT / "mkdocs.yml").read_text("utf-8")
    for page in (ROOT / "docs/api").glob("*.md"):
        assert f": api/{page.name}\n" in nav
        for name in re.findall(r"^::: (\S+)", page.read_text("utf-8"), re.MULTILINE):
            assert pkgutil.resolve_name(name) is not None


def test_pages_of_the_docs_link_to_pages_of_the_docs(tools):
    """What lies outside is not on the site, which is built with ``strict``."""
    docs = ROOT / "docs"
    broken = [
        f"{page.name}: {link}"
        for page in docs.rglob("*.md")
        for link in re.findall(r"\]\((?!https?:|#)([^)#\s]+)", page.read_text("utf-8"))
        if docs not in (target := (page.parent / link).resolve()).parents
        or not (
            target.exists()
            or target.name in tools.MADE
            or target.parent == docs / "boards"
            or target.with_suffix(".ipynb").exists()
        )
    ]
    assert broken == []
