"""Messages point to entries of the page of errors, and every entry is pointed to."""

import re
from pathlib import Path

import pytest
from uqbench_keeper.make import read_submission

from uqbench.errors import UqbenchError, see

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")


def test_every_entry_is_pointed_to_and_every_pointer_has_an_entry():
    sources = [*(ROOT / "uqbench").rglob("*.py"), *ROOT.glob("plugins/*/src/**/*.py")]
    pointed = {
        entry
        for path in sources
        for entry in re.findall(r"\bsee\(['\"]([a-z-]+)['\"]\)", path.read_text(encoding="utf-8"))
    }
    entries = re.findall(r"^### (.+)$", PAGE, re.MULTILINE)
    assert len(entries) == len(set(entries))
    assert set(entries) == pointed


def test_a_message_names_the_page_and_the_entry(tmp_path):
    (tmp_path / "sent.json").write_bytes(b"no json")
    with pytest.raises(UqbenchError) as raised:
        read_submission(tmp_path / "sent.json")
    assert str(raised.value).endswith(see("refused-submission"))
    assert see("refused-submission") == " [docs/errors.md#refused-submission]"
