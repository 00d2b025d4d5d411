"""Every kind of file of a store, damaged in every way: it costs its own run, and no other.

After each damage: the states are what the files say, what else was finished is byte for byte as it
was, and the next command ends with the same results. Seeded: a failure names file and damage. The
index is in use throughout.
"""

import json
import os
import random
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from damaged import folder, link, pipe, text
from uqbench_leaderboard.check import check

from uqbench.api.status import run_status
from uqbench.boards import StoredBoard, board, board_at
from uqbench.cli.terminal import warn
from uqbench.errors import StorageError, UqbenchError
from uqbench.identity import digest_of
from uqbench.pages.board_folders import write_board
from uqbench.registry import Host
from uqbench.results import RunState, Store, verified
from uqbench.results.store import TO_DO
from uqbench.results.verified import FILE
from uqbench.runner import execute, make_batch_groups
from uqbench.runner.checkpoints import Checkpointer
from uqbench.runner.process import Stop
from uqbench.suites import Plan, Selection

LONG = "UQBENCH_FAULTS" in os.environ
SHORT_FORM = 5
"""Damages of the short form, drawn from all."""
NOBODY = 65534

Damage = Callable[[Path, Path, random.Random], object]


def flip(path: Path, other: Path, rng: random.Random) -> None:
    data = bytearray(path.read_bytes())
    data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    path.write_bytes(data)


def cut(path: Path, other: Path, rng: random.Random) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: rng.randrange(len(data))])


def swap(path: Path, other: Path, rng: random.Random) -> None:
    mine, theirs = path.read_bytes(), other.read_bytes()
    path.write_bytes(theirs)
    if path.suffix == other.suffix and path.name == other.name:
        other.write_bytes(mine)


def gone(path: Path, other: Path, rng: random.Random) -> None:
    path.unlink()


def foreign(path: Path, other: Path, rng: random.Random) -> None:
    path.chmod(0o400)
    if os.geteuid() == 0:
        os.chown(path, NOBODY, NOBODY)


def newer(path: Path, other: Path, rng: random.Random) -> None:
    """A later schema; of what has none, contents that a later version might write."""
    try:
        table = json.loads(path.read_bytes())
        table["schema_version"] = 99
        table.pop("digest", None)
        path.write_text(json.dumps(table | {"digest": digest_of(table)}))
    except (ValueError, TypeError, AttributeError):
        path.write_bytes(b"UQB2" + path.read_bytes())


DAMAGES: dict[str, Damage] = {
    "a flipped bit": flip, "cut": cut, "empty": text(b""), "swapped": swap, "gone": gone,
    "a folder": folder, "a pipe": pipe, "a link": link, "somebody else's": foreign,
    "of a newer version": newer}  # fmt: skip


@pytest.fixture(autouse=True)
def an_index_of_every_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verified, "FEWEST", 0)
    monkeypatch.setattr(verified, "LEAST_AGE_NS", -(10**15))


def complete(plan: Plan, root: Path, host: Host, told: list[Any] | None = None) -> None:
    """What ``uqbench run`` does of a plan, in this process."""
    told = [] if told is None else told
    store = Store(root)
    todo = {run for run in plan.runs if store.find(run).state in TO_DO}
    records = {run: store.read(run.folder).record for run in todo}
    saved = [run for run in todo if records[run] and records[run].checkpoint is not None]
    checkpoints = {run: records[run].checkpoint.folder for run in saved}
    for group in make_batch_groups(plan, todo, "cpu", 1, checkpoints):
        execute(group, store, host, told.append, 0.0, Stop())


def digests(found: dict[Any, Any]) -> dict[Any, str | None]:
    """Of the results of runs that are finished."""
    done = {key for key, one in found.items() if one.state is RunState.FINISHED}
    of = {key: one.record.digests["results"] for key, one in found.items() if key in done}
    return dict.fromkeys(found) | of


def results(plan: Plan, root: Path) -> dict[str, str | None]:
    """By run: the digest of its results where it is finished; the states are told alike twice."""
    store = Store(root)
    found = {run.name: store.find(run) for run in plan.runs}
    [json.dumps(run_status(*entry, store, {})) for entry in store.walk()]
    store.save_index()
    again = Store(root)  # with what the first kept in the index
    assert {name: one.state for name, one in found.items()} == {
        run.name: again.find(run).state for run in plan.runs
    }
    return digests(found)


def files(root: Path) -> dict[str, bytes]:
    found = [path for path in root.rglob("*") if path.is_file() and not path.is_symlink()]
    return {str(p.relative_to(root)): p.read_bytes() for p in found if p.name != FILE}


def targets(root: Path, plan: Plan) -> Iterator[tuple[Path, Path]]:
    """A file of each kind, and another of its kind, or of none."""
    first, second, *_ = (root / run.folder for run in plan.runs)
    for name in ("run.json", "metrics.parquet", "episodes.parquet"):
        yield first / name, second / name
    unfinished = root / plan.runs[-1].folder
    yield unfinished / "run.json", second / "run.json"
    yield unfinished / "checkpoint" / "checkpoint.json", first / "run.json"
    yield next(unfinished.glob("checkpoint/step-*.pt")), first / "metrics.parquet"
    yield root / FILE, first / "run.json"


def chosen(cases: list[tuple[int, str]]) -> list[tuple[int, str]]:
    return cases if LONG else sorted(random.Random(1).sample(cases, SHORT_FORM))


def test_every_kind_of_file_of_a_store_damaged_in_every_way(plan, host, template, tmp_path):
    reference = tmp_path / "reference"
    shutil.copytree(template, reference)
    complete(plan, reference, host)
    expected = results(plan, reference)
    assert None not in expected.values()
    results(plan, template)  # writes its index
    number_of_targets = len(list(targets(template, plan)))
    cases = chosen([(k, what) for k in range(number_of_targets) for what in DAMAGES])
    ends: Counter[str] = Counter()
    for number, (k, what) in enumerate(cases):
        root = tmp_path / f"case-{number}"
        shutil.copytree(template, root)
        results(plan, root)  # an index of the copy
        path, other = list(targets(root, plan))[k]
        case = f"{path.relative_to(root)}: {what}"
        DAMAGES[what](path, other, random.Random(number))
        found = results(plan, root)
        harmed = {path.parent.name, other.parent.name if what == "swapped" else ""}
        for run in plan.runs[:-1]:
            assert found[run.name] in (None, expected[run.name]), case
            if run.folder.name not in harmed:
                assert found[run.name] == expected[run.name], case
        before = files(root)
        kept = {run for run in plan.runs if found[run.name] is not None}
        states = {Store(root).find(run).state for run in plan.runs}
        ends.update(state.value for state in states)
        if RunState.NEWER in states:
            continue  # `uqbench run` refuses, and says to update
        complete(plan, root, host)
        assert results(plan, root) == expected, case
        after = files(root)
        for run in kept:
            own = {name: data for name, data in before.items() if name.startswith(str(run.folder))}
            assert own == {name: after[name] for name in own}, case
        shutil.rmtree(root)
    print(f"{len(cases)} damages of {number_of_targets} kinds of file; states after: {dict(ends)}")


def test_every_file_of_a_board_damaged_in_every_way_is_named(plan, host, template, tmp_path):
    complete(plan, template, host)
    store, whole = Store(template), tmp_path / "boards" / "toy" / "board"
    write_board(board(plan, store), store, board_at(whole), host)
    reference = files(whole)
    selection = Selection("toy", "smoke", None, ("short",), None, None)

    def follows(folder: Path) -> bool:
        stored = StoredBoard(board_at(folder))
        return check(stored, stored.board(plan, selection, host, warn), store, print)

    assert follows(whole)
    names = sorted(reference)
    cases = chosen([(k, what) for k in range(len(names)) for what in DAMAGES])
    for number, (k, what) in enumerate(cases):
        folder = tmp_path / f"case-{number}" / "toy" / "board"
        shutil.copytree(whole, folder)
        path, other = folder / names[k], folder / names[(k + 1) % len(names)]
        DAMAGES[what](path, other, random.Random(number))
        with suppress(UqbenchError, StorageError):  # which names the file, too
            # whoever runs this as root may read somebody else's file
            assert what == "somebody else's" or not follows(folder), (names[k], what)
    print(f"{len(cases)} damages of {len(names)} files")


def test_runs_that_a_plugin_deletes_are_missed_and_run_again(plan, host, tmp_path, monkeypatch):
    root = tmp_path / "results"
    complete(plan, root, host)
    expected = results(plan, root)
    victim, other = plan.runs[0], plan.runs[-1]
    shutil.rmtree(root / other.folder)
    after = Checkpointer.after

    def delete(checkpointer: Checkpointer, step: int, state: Any) -> None:
        shutil.rmtree(root / victim.folder, ignore_errors=True)
        after(checkpointer, step, state)

    with monkeypatch.context() as patch:
        patch.setattr(Checkpointer, "after", delete)
        complete(plan, root, host)
    found = results(plan, root)
    assert found.pop(victim.name) is None
    assert found == {name: one for name, one in expected.items() if name != victim.name}
    assert Store(root).find(victim).state is RunState.MISSING
    complete(plan, root, host)
    assert results(plan, root) == expected
