"""Executors: where batches are executed."""
