"""The keys of suite files: their page and schema follow from the models, and a file is checked."""

import json
import re
import runpy
import tomllib
from pathlib import Path

import jsonschema
import pytest
from uqbench_testing.command import check

from uqbench.errors import UqbenchError
from uqbench.registry import local

ROOT = Path(__file__).parents[2]
FILES = sorted(ROOT.glob("plugins/*/src/**/*.toml"))


@pytest.fixture(scope="module")
def tool():
    return runpy.run_path(str(ROOT / "tools" / "suite_keys.py"))


def test_the_schema_is_that_of_the_models(tool):
    """``python tools/suite_keys.py`` writes it."""
    stored = (ROOT / "docs" / "suite.schema.json").read_text(encoding="utf-8")
    assert stored == tool["schema_file"]()


def test_the_page_tells_each_key_of_each_table_with_its_type(tool):
    page = tool["page"]()
    for table, model in tool["TABLES"].items():
        _, _, after = page.partition(f"\n## {f'`{table}`' if table else 'Top level'}\n")
        rows = re.findall(r"^\| `(\w+)` \| (.+?) \|", after.partition("\n## ")[0], re.MULTILINE)
        assert [name for name, _ in rows] == list(model.model_fields)


def test_every_shipped_file_keeps_to_the_schema_and_a_slip_does_not():
    schema = json.loads((ROOT / "docs" / "suite.schema.json").read_text())
    validator = jsonschema.Draft202012Validator(schema)
    suites = [table for path in FILES if "summary" in (table := tomllib.loads(path.read_text()))]
    assert len(suites) > 10
    for table in suites:
        assert [error.message for error in validator.iter_errors(table)] == []
    suites[0]["budgets"]["smoke"]["sedes"] = 3
    assert "sedes" in str(next(validator.iter_errors(suites[0])))


@pytest.fixture
def suite(tmp_path, monkeypatch):
    monkeypatch.setenv("UQBENCH_PLUGINS", "builtin,uqbench-tabular")
    monkeypatch.setenv(local.VARIABLE, "[]")
    path = tmp_path / "mine.toml"
    path.write_text('[[extend.five-state.methods]]\nname = "slow"\nagent = "bql"\n')
    return path


def test_a_file_is_checked_without_a_run_and_what_is_wrong_is_said_once(suite, capsys):
    assert check.main([str(suite)], standalone_mode=False) == 0
    assert capsys.readouterr().out.startswith("five-state: ")
    suite.write_text(suite.read_text().replace("bql", "bqll"))
    with pytest.raises(UqbenchError) as error:
        check.main([str(suite)], standalone_mode=False)
    assert str(error.value).count("there is no agent 'bqll'. Did you mean 'bql'") == 1
