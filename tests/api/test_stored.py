"""A stored board has rows of all that its manifest lists."""

import csv
import io
from pathlib import Path

import pytest

from uqbench.api.stored import StoredBoard
from uqbench.cli.options import Selection
from uqbench.cli.terminal import warn
from uqbench.errors import UqbenchError
from uqbench.registry.plugins import Host
from uqbench.results.store import Store
from uqbench.scoring.leaderboard import Board, write
from uqbench.scoring.scores import gather

TOY = Path(__file__).parents[1] / "toy"
SELECTION = Selection("toy", "paper", None, None, None, None)


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> Host:
    monkeypatch.syspath_prepend(str(TOY))
    monkeypatch.setenv("UQBENCH_PLUGINS", "toy,builtin")
    return Host.load()


def keep(path: Path, methods: set[str]) -> None:
    rows = csv.DictReader(io.StringIO(path.read_text()))
    text = io.StringIO()
    writer = csv.DictWriter(text, rows.fieldnames or (), lineterminator="\n")
    writer.writeheader()
    writer.writerows(row for row in rows if row["method"] in methods)
    path.write_text(text.getvalue())


def test_rows_of_a_method_that_were_removed_are_missed(host, tmp_path, capsys):
    plan = SELECTION.plan(host, "cpu")
    write(Board.of(plan, gather(plan, Store(tmp_path / "none"))).files(), tmp_path)
    assert StoredBoard.read(plan, SELECTION, host, tmp_path).plan.runs == plan.runs
    keep(tmp_path / "scores.csv", {"slow"})
    with pytest.raises(UqbenchError, match=r"no rows of long/fast, short/fast, which manifest"):
        StoredBoard.read(plan, SELECTION, host, tmp_path)
    (tmp_path / "manifest.json").unlink()
    StoredBoard.read(plan, SELECTION, host, tmp_path, warn)
    assert "has no runs of fast, which the suite has here" in capsys.readouterr().err
    (tmp_path / "manifest.json").write_text('{"methods": 3}')
    with pytest.raises(UqbenchError, match=r"manifest\.json is damaged"):
        StoredBoard.read(plan, SELECTION, host, tmp_path)
