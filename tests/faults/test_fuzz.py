"""No reader of what may come from elsewhere raises anything but a message for the user.

``UQBENCH_FUZZ`` is the number of inputs: 20,000 unless it is set; a million in ``tox -e faults``.
"""

import os
import sys
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from fuzz import readers, uncaught

from uqbench.boards import board
from uqbench.boards.provenance import provenance, provenance_json
from uqbench.results import Store
from uqbench.runner import execute, make_batch_groups
from uqbench.runner.checkpoints import Checkpointer
from uqbench.runner.process import Stop
from uqbench.suites import make_plan, read_suites

pytestmark = pytest.mark.long

NUMBER = int(os.environ.get("UQBENCH_FUZZ", "20000"))
SEED = int(os.environ.get("UQBENCH_FUZZ_SEED", "0"))


@pytest.mark.filterwarnings("ignore")
def test_no_input_raises_what_a_command_does_not_expect(host, tmp_path, monkeypatch):
    suite = read_suites(host).suite("toy")
    plan = make_plan(suite, host, "smoke", device="cpu", tasks=["short"], steps=20)
    store = Store(tmp_path / "results")
    *groups, last = make_batch_groups(plan, set(plan.runs), "cpu", lanes=1)
    for group in groups:
        execute(group, store, host, lambda event: None, 0.0, Stop())
    after = Checkpointer.after

    def stop(checkpointer: Checkpointer, step: int, state: Any) -> None:
        checkpointer.stop.asked = step == 5
        after(checkpointer, step, state)

    with monkeypatch.context() as patch:
        patch.setattr(Checkpointer, "after", stop)
        with pytest.raises(SystemExit):
            execute(last, store, host, lambda event: None, 1000.0, Stop())
    made = board(plan, store)
    files = {name: text.encode() for name, text in made.files().items()}
    files["made_with.json"] = provenance_json(provenance(made.scores), "").encode()
    failures, counts = [], Counter[str]()
    for reader in readers(host, plan, store, files, tmp_path):
        for data in reader.examples:
            reader.read(data)
        began, number = time.monotonic(), round(NUMBER * reader.share)
        for i, data, error in uncaught(reader, SEED, number):
            counts[f"{reader.name}: {type(error).__name__}"] += 1
            where = traceback.extract_tb(error.__traceback__)[-1]
            if counts[f"{reader.name}: {type(error).__name__}"] == 1:
                shown = f"{type(error).__name__}: {error!s:.150} ({where.name}:{where.lineno})"
                failures.append(f"{reader.name} {SEED}/{i}: {shown}\n    {data[:150]!r}")
        print(f"{reader.name}: {number} inputs, {time.monotonic() - began:.1f} s")
    assert not failures, "\n".join([*failures, str(dict(counts))])
