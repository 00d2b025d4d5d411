"""Searches of the settings of a suite's methods: ``search`` makes the runs and writes the table."""
