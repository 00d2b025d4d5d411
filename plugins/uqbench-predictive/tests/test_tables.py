"""Any table in one line: the suite file that it becomes, and the runs that follow."""

import tomllib

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import uqbench
from uqbench.cli import group
from uqbench.errors import UqbenchError


@pytest.fixture
def prices(tmp_path, monkeypatch):
    """A hundred houses of forty streets: the price, a size, a missing year and a town."""
    monkeypatch.setenv("UQBENCH_LOCAL", "[]")
    generator = np.random.default_rng(0)
    size = generator.uniform(50, 200, 100).round(1)
    year = pd.Series(generator.integers(1900, 2020, 100)).where(generator.random(100) > 0.1)
    frame = pd.DataFrame(
        {
            "price": (3 * size + 40 * generator.normal(size=100)).round(2), "size": size,
            "year": year, "town": generator.choice(["north", "south"], 100),
            "street": generator.integers(0, 40, 100), "sold": generator.choice(["yes", "no"], 100),
        }
    )  # fmt: skip
    frame.to_csv(tmp_path / "House Prices.csv", index=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "House Prices.csv"


def test_a_file_becomes_a_budget_of_the_suite_tables_and_says_what_was_done(prices):
    said: list[str] = []
    path = uqbench.table_suite(prices, "price", groups="street", tell=said.append)
    added = tomllib.loads(path.read_text())["extend"]["tables"]
    assert added["tasks"][0]["config"]["kind"] == "regression"
    assert added["budgets"]["house-prices"]["seeds"] == 6
    assert "price: a regression; 5 inputs, 100 rows" in said[0]
    assert any("year: 1" in line and "missing" in line for line in said)
    assert any("town: text; 1 is south" in line for line in said)
    assert "groups of rows that share 'street'" in said[-1]


def test_the_command_runs_it_and_leaves_out_who_cannot_regress(prices):
    arguments = ["run", "--table", prices.name, "--target", "price", "--groups", "street"]
    arguments += ["--methods", "climatology,linear,svm", "--seeds", "1", "--steps", "30"]
    done = CliRunner().invoke(group, [*arguments, "--out", "out", "--workers", "1"])
    assert done.exit_code == 0, done.output
    assert "left out: svm, for classification: house-prices is a regression." in done.output
    assert "tables · house-prices (selection)" in done.output
    assert "Traceback" not in done.output
    plugins = ["out/house-prices.uqbench.toml"]
    assert len(uqbench.plan("tables", "house-prices", plugins=plugins, out="out").runs) == 15 * 6


def test_a_classification_has_svm_where_it_is_asked_for(prices):
    path = uqbench.table_suite(prices, "sold", tell=lambda _: None)
    made = uqbench.plan("tables", "house-prices", methods=["svm", "network"], plugins=[str(path)])
    assert {*made.runs["method"]} == {"svm", "network"}


WRONG = [
    (["--target", "prise"], "has no column 'prise'. Did you mean 'price'"),
    ([], "--table needs --target: expected one of the columns of .*: price, size"),
    (["--target", "price", "--groups", "price"], "expected two columns"),
    (["--target", "price", "--suite", "frozen"], "expected no --suite and no --budget"),
    (["--target", "town", "--kind", "regression"], "is text; expected numbers"),
]


@pytest.mark.parametrize(("arguments", "message"), WRONG)
def test_errors_name_what_was_given_and_expected(prices, arguments, message):
    done = CliRunner().invoke(group, ["run", "--table", prices.name, *arguments, "--dry-run"])
    assert isinstance(done.exception, UqbenchError)
    with pytest.raises(UqbenchError, match=message):
        raise done.exception


def test_a_file_that_changed_is_refused_and_so_are_other_endings(prices, tmp_path):
    path = uqbench.table_suite(prices, "price", tell=lambda _: None)
    prices.write_text(prices.read_text() + "1,2,3,north,4,no\n")
    from uqbench_predictive.problems.table_file import TableFile, TableFileConfig

    config = tomllib.loads(path.read_text())["extend"]["tables"]["tasks"][0]["config"]
    with pytest.raises(UqbenchError, match="is not the table that these runs are of"):
        TableFile(TableFileConfig(**config))
    (tmp_path / "x.xls").write_text("")
    with pytest.raises(UqbenchError, match=r"expected a table as \.csv, \.tsv, \.parquet"):
        uqbench.table_suite(tmp_path / "x.xls", "price")
