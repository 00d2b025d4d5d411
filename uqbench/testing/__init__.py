"""Tools for the tests of plugins."""
