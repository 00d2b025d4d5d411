"""Runs on disk: one folder per run, plain files, readable after any crash.

Read ``store`` (what can be done with a run) and ``records`` (``run.json``) first; then ``files``
(atomic, regular files alone), ``locks``, ``tables`` (parquet), and ``verified``, which remembers
whose files were verified, as long as they do not change.
"""
