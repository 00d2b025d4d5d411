"""Error rates of a board's brackets and ranks, by simulated boards like it: ``errors.csv``."""
