"""The tutorials are executed: each page is one program, and prints what it says."""

import importlib.util
import re
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

from uqbench.suites import Claim
from uqbench.testing.templates.render import KINDS

DOCS = Path(__file__).parents[2] / "docs"
PAGES = [*sorted((DOCS / "tutorials").glob("*.md")), DOCS / "your-results.md"]
BLOCK = re.compile(r"^```(python|text)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def program(page: Path) -> list[tuple[str, str]]:
    """Code with what it prints."""
    blocks, found = BLOCK.findall(page.read_text(encoding="utf-8")), []
    for at, (language, text) in enumerate(blocks):
        if language == "python":
            after = blocks[at + 1] if at + 1 < len(blocks) else ("", "")
            found.append((text, after[1] if after[0] == "text" else ""))
    return found


def test_there_is_a_tutorial_for_every_kind_of_plugin():
    assert {page.stem for page in PAGES} >= {*KINDS}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_tutorial_runs_and_prints_what_it_says(page, capsys, monkeypatch):
    if page.stem == "jax" and importlib.util.find_spec("jax") is None:
        pytest.skip("needs jax: tox -e jax")
    scores = ",scores" * (page.stem == "your-results")
    monkeypatch.setenv("UQBENCH_PLUGINS", f"builtin{scores}")
    module = ModuleType(f"tutorial_{page.stem.replace('-', '_')}")
    monkeypatch.setitem(sys.modules, module.__name__, module)  # where dataclasses look up names
    assert program(page)
    for code, printed in program(page):
        exec(compile(code, str(page), "exec"), vars(module))
        assert capsys.readouterr().out == printed


def test_the_claim_of_the_tutorial_is_one_that_a_suite_may_have():
    page = next(page for page in PAGES if page.stem == "claim-kind").read_text(encoding="utf-8")
    (text,) = re.findall(r"^```toml\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    (table,) = tomllib.loads(text)["claims"]
    claim = Claim.model_validate(table)
    assert claim.names_place
    assert set(claim.settings) == {"metric", "method", "least"}
