"""The site, and the pictures that the README shows, are made from the committed boards."""

import importlib
import json
import pkgutil
import re
from itertools import product
from pathlib import Path

import pytest
from scripts import script

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def tools():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "tools"))
        yield importlib.import_module("site_hook")


def test_the_pictures_are_current():
    site = script("tools/site.py")
    drawn = dict(site.pictures())
    stored = {path.name: path.read_text("utf-8") for path in site.PICTURES.glob("*.svg")}
    assert stored == drawn, "tox -e site draws them again"
    assert f"\n{site.counts()}\n" in (ROOT / "README.md").read_text("utf-8")
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    text = "".join(page.read_text("utf-8") for page in pages)
    assert [name for name in drawn if f"pictures/{name}" not in text] == []


def test_every_board_is_in_the_world_of_its_observations(tools):
    worlds = {one.id: one.world for one in tools.boards()}
    assert (worlds["deepsea-paper"], worlds["cartpole-paper"]) == ("tabular", "small")
    assert {world for board, world in worlds.items() if board.startswith("minatar")} == {"pixels"}
    assert worlds["ood-digits-paper"] == "predictions"


def choices(tools):
    return [*product(tools.WORLDS, tools.NEEDS, tools.SECONDS)]


def test_each_of_the_36_choices_has_evidence_or_says_what_is_missing(tools):
    """Each sentence has the numbers of the board that it links to; suites count once."""
    boards, named = {one.id: one for one in tools.boards()}, 0
    assert len(choices(tools)) == 36
    for choice in choices(tools):
        said, best = tools.chosen(tools.boards(), *choice)
        if not best:
            assert said.startswith("Not measured yet: no suite of "), choice
            continue
        named += 1
        assert len(best) <= 3
        assert len({of.of for of in best}) == len(best), choice
        for of in best:
            one = boards[of.board]
            assert one.world == choice[0]
            fits = one.a_run <= tools.SECONDS[choice[2]]
            assert fits or said.startswith("Nothing so short is measured: a run of "), choice
            row = next(m for m in one.methods if one.facts[m.method]["title"] == of.title)
            assert of.word == row.calibration
            numbers = [f"{of.value:.3f}" for of in row.estimates.values()]
            shares = [f"{100 * of.value:.0f} %" for of in row.estimates.values()]
            assert any(text in of.said for text in [*numbers, *shares]), (choice, of)
    assert named >= 24


def test_the_site_shows_the_readmes_agent(tools):
    text = tools.your_method()
    assert "class Mine(Agent):" in text
    assert "uqbench try mine.py:Mine" in text
    assert "](docs/" not in text


def test_notebooks_and_made_pages_are_in_the_nav(tools):
    nav = (ROOT / "mkdocs.yml").read_text("utf-8")
    notebooks = [f"notebooks/{p.stem}.md" for p in (ROOT / "docs/notebooks").glob("*.ipynb")]
    pages = [f"boards/{name}.html" for name in ("index", "methods", "claims")]
    assert [name for name in [*pages, *tools.MADE, *notebooks] if f": {name}\n" not in nav] == []
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


def test_beliefs_that_move_are_those_of_agents_that_learn_here_and_are_small(tools):
    """The first moments of a stored world are learned again; a ring is by these numbers alone."""
    path = ROOT / "docs" / "assets" / "beliefs.js"
    worlds = json.loads(path.read_text("utf-8").removeprefix("globalThis.uqBeliefs=").rstrip(";\n"))
    assert path.stat().st_size <= 60_000
    assert {len(of["seen"]) for one in worlds for of in one["methods"]} <= {
        len(one["steps"]) for one in worlds
    }
    moving = importlib.import_module("moving")
    suite, task, title, methods = moving.WORLDS[0]
    stored = next(one for one in worlds if one["title"] == title)
    again = moving.beliefs(suite, task, title, methods, most=stored["steps"][6])
    shared = [step for step in again["steps"] if step in stored["steps"]]
    assert len(shared) >= 4
    for old, new in zip(stored["methods"], again["methods"], strict=True):
        assert old["name"] == new["name"]
        for step in shared:
            (sd, above, acts), (sd_now, above_now, acts_now) = (
                of["seen"][one["steps"].index(step)] for one, of in ((stored, old), (again, new))
            )
            assert acts == acts_now
            assert [*sd, *above] == pytest.approx([*sd_now, *above_now], abs=2e-3)
