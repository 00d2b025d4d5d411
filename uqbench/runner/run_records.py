"""The record that a batch's runs begin with: process, plugins, device."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from uqbench.identity import Run
from uqbench.registry.registry import Plugin
from uqbench.results.provenance import provenance
from uqbench.results.records import SCHEMA_VERSION, RunRecord
from uqbench.results.store import Store, now, this_process
from uqbench.runner import mkl

if TYPE_CHECKING:  # it takes seconds, and most who write records do not compute
    import torch


def write_record(store: Store, run: Run, record: RunRecord, update: dict[str, Any]) -> None:
    """Store a run's record with ``update``; the time and the run's identity are filled in."""
    common = {
        "schema_version": SCHEMA_VERSION,
        "identity": dict(run.identity),
        "updated": now(),
    }
    store.write(run, record.model_copy(update=common | update))


def blank_record(plugins: Sequence[Plugin], device: str) -> RunRecord:
    """A record that begins now, in this process."""
    return RunRecord(
        identity={},
        status="running",
        step=0,
        began=now(),
        updated=now(),
        process=this_process(),
        provenance=provenance(plugins, device),
    )


def device_name(device: torch.device) -> str:
    """What the computation runs on, in words."""
    if device.type == "cuda":
        import torch

        return torch.cuda.get_device_name(device)
    processor = platform.processor() or platform.machine()
    return f"{processor}, numpy {np.__version__}, {mkl.in_words()}"
