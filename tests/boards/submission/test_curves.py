"""A submission's curves join those of a board, and nothing else does."""

import io
from functools import partial

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from uqbench.boards.submission.curves import CURVE_FILES, merged
from uqbench.errors import UqbenchError
from uqbench.suites.selection import Selection


@pytest.fixture
def plans(host):
    """Of the submission, whose method is ``fast``, and of the board."""
    of = partial(Selection, "toy", "paper")
    return of(("fast",)).plan(host, "cpu"), of(("fast", "slow")).plan(host, "cpu")


def rows(plan, name, **changed):
    """One row of each owner, whose numbers are 0.5 or 1."""
    of = CURVE_FILES[name]
    owners = dict.fromkeys(tuple(getattr(run, column) for column in of.owner) for run in plan.runs)
    columns = dict(zip(of.owner, map(list, zip(*owners, strict=True)), strict=True))
    for column, kind in of.columns.items():
        value = {"string": "pit", "float32": 0.5, "float64": 0.5}.get(kind, 1)
        columns.setdefault(column, [value] * len(owners))
    return {column: columns[column] for column in of.columns} | changed


def file(columns):
    out = io.BytesIO()
    pq.write_table(pa.table(columns), out)
    return out.getvalue()


@pytest.mark.parametrize("name", CURVE_FILES)
def test_curves_are_the_boards_and_the_submissions_which_replace_its_own(plans, name):
    own, whole = plans
    first = merged(name, file(rows(own, name)), own, None, whole)
    stored = merged(name, file(rows(whole, name)), whole, None, whole)
    number = "y" if "y" in CURVE_FILES[name].columns else "return"
    fresh = rows(own, name)
    fresh[number] = [0.25] * len(fresh[number])
    both = pq.read_table(io.BytesIO(merged(name, file(fresh), own, stored, whole))).to_pylist()
    assert len(both) == 2 * pq.read_table(io.BytesIO(first)).num_rows
    assert {row["method"]: row[number] for row in both} == {"fast": 0.25, "slow": 0.5}


@pytest.mark.parametrize("name", CURVE_FILES)
def test_curves_that_are_not_of_the_submissions_runs_are_refused(plans, name):
    own, whole = plans
    refuse = partial(merged, name, judged=own, stored=None, whole=whole)
    good = rows(own, name)
    with pytest.raises(UqbenchError, match="of other runs"):
        refuse(file(good | {"method": ["slow"] * len(good["method"])}))
    with pytest.raises(UqbenchError, match="expected the columns"):
        refuse(file({**good, "more": good["task"]}))
    with pytest.raises(UqbenchError, match="is damaged"):
        refuse(file(good)[:-9])
    many = CURVE_FILES[name].points + 1
    with pytest.raises(UqbenchError, match="rows"):
        refuse(file({column: values * many for column, values in good.items()}))


def test_a_curve_that_no_board_has_is_refused(plans):
    own, whole = plans
    name = "uncertainty.parquet"
    bad = rows(own, name) | {"curve": ["<script>"] * len(rows(own, name)["curve"])}
    with pytest.raises(UqbenchError, match="other than reliability"):
        merged(name, file(bad), own, None, whole)
