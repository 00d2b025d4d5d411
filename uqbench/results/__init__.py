"""Runs on disk: one folder per run, plain files, readable after any crash.

Read ``store`` (what can be done with a run), ``states`` and ``records`` (``run.json``) first; then
``files`` (atomic, regular files alone), ``locks`` with ``leases``, ``tables`` (parquet), and
``run_cache``, which remembers what was read and is never believed against the files.
"""
