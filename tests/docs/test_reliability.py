"""The guarantees of the page are each shown by tests that are there."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_guarantee_names_tests_that_are_there():
    page = (ROOT / "docs" / "reliability.md").read_text("utf-8")
    rows = [line for line in page.splitlines() if line.startswith("| ")][2:]
    assert len(rows) > 15
    places = (ROOT / "tests", ROOT)
    for row in rows:
        files = re.findall(r"`(\S+\.py)`", row.split("|")[2])
        assert files, row
        assert [name for name in files if not any((at / name).exists() for at in places)] == []
