"""Slurm as an executor: each batch is a job of an array, requeued until it is done."""
