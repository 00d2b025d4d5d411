"""No reader of what may come from elsewhere raises anything but a message for the user.

``UQBENCH_FUZZ`` is the number of inputs: 20,000 unless it is set; a million in ``tox -e faults``.
"""

import os
import time
import traceback
from collections import Counter

import pytest
from fuzz import readers, uncaught

from uqbench.boards import board
from uqbench.boards.provenance import provenance, provenance_json
from uqbench.results import Store

pytestmark = pytest.mark.long

NUMBER = int(os.environ.get("UQBENCH_FUZZ", "20000"))
SEED = int(os.environ.get("UQBENCH_FUZZ_SEED", "0"))


@pytest.mark.filterwarnings("ignore")
def test_no_input_raises_what_a_command_does_not_expect(host, plan, template, tmp_path):
    store = Store(template)
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
