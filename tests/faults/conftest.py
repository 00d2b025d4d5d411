"""A plan of the toy suite, and a store in which one of its runs was interrupted."""

import sys
from pathlib import Path
from typing import Any

import pytest

from uqbench.registry import Host
from uqbench.results import Store
from uqbench.runner import execute, make_batch_groups
from uqbench.runner.checkpoints import Checkpointer
from uqbench.runner.process import Stop
from uqbench.suites import Plan, make_plan, read_suites

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def plan(host: Host) -> Plan:
    return make_plan(read_suites(host).suite("toy"), host, "smoke", device="cpu", tasks=["short"])


@pytest.fixture
def template(plan: Plan, host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store in which all runs are finished but the last, which has a checkpoint."""
    root = tmp_path / "template"
    *groups, last = make_batch_groups(plan, set(plan.runs), "cpu", lanes=1)
    for group in groups:
        execute(group, Store(root), host, lambda event: None, 0.0, Stop())
    after = Checkpointer.after

    def stop(checkpointer: Checkpointer, step: int, state: Any) -> None:
        checkpointer.stop.asked = step == 20
        after(checkpointer, step, state)

    with monkeypatch.context() as patch:
        patch.setattr(Checkpointer, "after", stop)
        with pytest.raises(SystemExit):
            execute(last, Store(root), host, lambda event: None, 1000.0, Stop())
    return root
