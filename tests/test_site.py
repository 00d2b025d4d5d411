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
    readme = (ROOT / "README.md").read_text("utf-8")
    assert [name for name in drawn if f"docs/pictures/{name}" not in readme] == []
