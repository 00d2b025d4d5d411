"""Runs on disk: one folder per run, plain files, readable after any crash.

Read ``store`` (what can be done with a run) and ``records`` (``run.json``) first; then ``files``
(atomic, regular files alone), ``locks``, ``tables`` (parquet), and ``verified``, which remembers
whose files were verified, as long as they do not change.
"""

from uqbench.contract.faces import face

__getattr__ = face(
    __name__, store="RunState,Store,StoredRun,now,this_process", folders="Folder",
    records="Provenance,RunRecord", scores="CellScores,Making,Score,Scores",
    tables="CURVES,PREDICTIONS,Columns,RunColumns",
)  # fmt: skip
