"""Slurm as an executor, through submitit: each batch is a job of an array, requeued at its end."""
