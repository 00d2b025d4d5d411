"""Command-line tools that measure or verify; nothing here is needed to run a suite."""
