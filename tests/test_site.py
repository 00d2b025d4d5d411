"""The pictures that the README shows are those of the committed boards."""

import importlib.util
from pathlib import Path

ROOT = Path(__file__).parents[1]


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
