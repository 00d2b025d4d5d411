import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from example_runs import EPISODES, METRICS, finish, make_record, make_run

from uqbench.errors import UqbenchError
from uqbench.identity import digest_of
from uqbench.results import RunRecord, RunState, Store
from uqbench.results.records import SCHEMA_VERSION
from uqbench.results.tables import columns_digest


def test_a_finished_run_is_found_with_its_columns(tmp_path):
    store, run = Store(tmp_path), make_run()
    assert store.find(run).state is RunState.MISSING
    finish(store, run)
    assert store.find(run).state is RunState.FINISHED
    metrics, episodes = store.columns(run)
    for found, given in ((metrics, METRICS), (episodes, EPISODES)):
        assert found.keys() == given.keys()
        assert all((found[name] == given[name]).all() for name in given)


def test_a_finished_run_is_never_overwritten(tmp_path):
    store, run = Store(tmp_path), make_run()
    finish(store, run)
    with pytest.raises(UqbenchError, match="never overwritten"):
        store.write(run, make_record(run))


def test_a_run_is_running_while_it_is_locked_and_abandoned_after(tmp_path):
    store, run = Store(tmp_path), make_run()
    with store.lock(run):
        store.write(run, make_record(run))
        assert store.find(run).state is RunState.RUNNING
    assert store.find(run).state is RunState.ABANDONED


def test_a_lock_ends_with_its_process_however_that_ends(tmp_path):
    store, run = Store(tmp_path), make_run()
    script = (
        "import os, signal, sys; sys.path.insert(0, sys.argv[2]); import example_runs as t\n"
        "from pathlib import Path; s = t.Store(Path(sys.argv[1])); c = s.lock(t.make_run())\n"
        "s.write(t.make_run(), t.make_record(t.make_run())); os.kill(os.getpid(), signal.SIGKILL)"
    )
    here = str(Path(__file__).parents[1] / "support")
    subprocess.run([sys.executable, "-c", script, str(tmp_path), here], check=False)
    assert store.find(run).state is RunState.ABANDONED
    assert store.lock(run) is not None


def test_a_newer_schema_is_told_from_damage(tmp_path):
    store, run = Store(tmp_path), make_run()
    path, later = finish(store, run) / "run.json", SCHEMA_VERSION + 1
    path.write_text(json.dumps(json.loads(path.read_text()) | {"schema_version": later}))
    found = store.find(run)
    assert found.state is RunState.NEWER
    assert found.reason == f"it has schema {later}, this uqbench reads up to {SCHEMA_VERSION}"


EARLIER = [
    (("checkpoint", "resumed"), {"schema_version": 1}),
    ((), {"schema_version": 2, "timing": {"seconds": 8.0, "lanes": 2, "steps_per_s": 5.0}}),
]


@pytest.mark.parametrize(
    ("lacking", "changes"), EARLIER, ids=["before checkpoints", "before process time"]
)
def test_a_run_that_was_stored_by_an_earlier_schema_is_finished(lacking, changes, tmp_path):
    """Without process time it costs its wall time."""
    store, run = Store(tmp_path), make_run()
    path = finish(store, run) / "run.json"
    table = json.loads(path.read_text()) | changes
    for name in (*lacking, "digest"):
        del table[name]
    path.write_text(json.dumps(table | {"digest": digest_of(table)}))
    found = store.find(run)
    assert found.state is RunState.FINISHED
    if "timing" in changes:
        timing = found.record.timing
        assert (timing.device_seconds, timing.cpu_seconds) == (8.0, None)


NAMES = [
    ("method\ntask", RunState.ABANDONED),
    ("meth\udcffod", RunState.ABANDONED),
    ("a\\b", RunState.DAMAGED),
]


@pytest.mark.parametrize(("name", "state"), NAMES)
def test_a_folder_of_any_name_costs_its_own_runs(name, state, tmp_path):
    store, run = Store(tmp_path), make_run()
    store.write(run, make_record(run))
    above = store.folder(run).parent
    shutil.copytree(above, above.with_name(name))
    found = {place.split("/")[3]: stored.state for place, stored in store.walk()}
    assert found == {"method": RunState.ABANDONED, name: state}


def test_damaged_runs_are_set_aside_and_kept_and_so_is_the_lock(tmp_path):
    store, run = Store(tmp_path), make_run()
    with store.lock(run):
        for number in (1, 2):
            (finish(store, run) / "run.json").write_text("{")
            assert store.set_aside(run).name.endswith(f".damaged-{number}")
            assert store.lock(run) is None
    assert (store.find(run).state, list(store.walk())) == (RunState.MISSING, [])


def test_the_digest_of_numbers_sees_values_names_and_boundaries():
    base = columns_digest(METRICS, EPISODES)
    assert base == columns_digest(dict(reversed(METRICS.items())), EPISODES)
    changed = METRICS | {"value": np.array([0.5, np.nextafter(1.5, 2)])}
    renamed = {"values" if name == "value" else name: v for name, v in METRICS.items()}
    joined = METRICS | {"metric": np.array(["rewardr", "eward"], object)}
    for other in (changed, renamed, joined):
        assert columns_digest(other, EPISODES) != base


def test_the_published_schema_names_the_fields_of_the_record():
    published = Path(__file__).parents[2] / "docs" / "run.schema.json"
    schema, own = json.loads(published.read_text()), RunRecord.model_json_schema()
    assert max(schema["properties"]["schema_version"]["enum"]) == SCHEMA_VERSION
    for there, here in [(schema, own), *((schema["$defs"][k], d) for k, d in own["$defs"].items())]:
        assert there["properties"].keys() == here["properties"].keys()
        assert sorted(there["required"]) == sorted(here["required"])
        assert there["additionalProperties"] is False
