"""Runs of other code are told, and made again without losing the earlier ones."""

import numpy as np
import pytest

from uqbench.errors import StorageError
from uqbench.identity import Run
from uqbench.registry.contents import content_hash
from uqbench.results import Provenance, RunColumns, RunRecord, RunState, Store, now, this_process
from uqbench.results.earlier import move_earlier
from uqbench.runner.states import code_note, make_room, stored_states, to_do
from uqbench.runner.watcher import Watcher
from uqbench.suites import Selection

SELECTION = Selection("toy", "smoke", ("fast",), ("short",))


def finish(store: Store, run: Run, content: dict[str, str]) -> None:
    made = Provenance(platform="p", device="d", versions={}, content=content, git_revision=None)
    record = RunRecord(
        identity=dict(run.identity), status="finished", step=1, began=now(), updated=now(),
        process=this_process(), provenance=made,
    )  # fmt: skip
    store.finish(run, record, RunColumns({"value": np.array([1.0])}, {}))


@pytest.fixture
def stored(host, tmp_path):
    """A plan of two runs: one of this code, and one of another uqbench and of a file."""
    plan, store = SELECTION.plan(host, "cpu"), Store(tmp_path)
    here = {"uqbench": content_hash("uqbench")}
    new, old = plan.runs
    finish(store, new, here)
    finish(store, old, {"uqbench": "0" * 64, "local-mine": "1" * 64, "gone_package": "2" * 64})
    return plan, store, new, old


def test_only_installed_packages_whose_contents_differ_are_told(stored):
    plan, store, _, _ = stored
    note = code_note(stored_states(plan, store).values())
    assert "1 finished run (gone_package, uqbench)" in note


def test_rerun_makes_runs_of_other_code_again_and_keeps_them_as_a_store(stored, tmp_path):
    plan, store, new, old = stored
    before = (store.folder(old) / "run.json").read_bytes()
    assert make_room(plan, store, Watcher().say) == [old]
    assert to_do(stored_states(plan, store)) == {old}
    earlier = Store(tmp_path / ".earlier" / "1")
    assert earlier.find(old).state is RunState.FINISHED
    assert (earlier.folder(old) / "run.json").read_bytes() == before
    assert [place for place, _ in store.walk()] == [new.place]
    # made again, it is of this code; what is of this code is never moved
    finish(store, old, {"uqbench": content_hash("uqbench")})
    assert make_room(plan, store, Watcher().say) == []
    assert not (tmp_path / ".earlier" / "2").exists()


def test_a_second_generation_does_not_replace_the_first(stored, tmp_path):
    plan, store, _, old = stored
    make_room(plan, store, Watcher().say)
    finish(store, old, {"uqbench": "3" * 64})
    make_room(plan, store, Watcher().say)
    found = [Store(tmp_path / ".earlier" / n).find(old).record for n in "12"]
    assert [one.provenance.content["uqbench"][0] for one in found] == ["0", "3"]


def test_a_run_that_another_process_has_locked_stays(stored):
    plan, store, _, old = stored
    with Store(store.root).lock(old):
        assert make_room(plan, store, Watcher().say) == []
    assert store.find(old).state is RunState.FINISHED


def test_runs_are_not_moved_through_a_link(stored, tmp_path):
    plan, store, _, old = stored
    elsewhere = tmp_path.parent / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / ".earlier").symlink_to(elsewhere)
    with pytest.raises(StorageError, match="symbolic link"):
        make_room(plan, store, Watcher().say)
    assert store.find(old).state is RunState.FINISHED


def test_a_run_that_was_made_again_meanwhile_stays(stored):
    _, store, _, old = stored
    _, moved = move_earlier(store, [old], lambda found: False)  # as it is under the lock
    assert moved == []
    assert store.find(old).state is RunState.FINISHED
