"""The commands as functions, which the command line and Python both call.

The command line parses options and prints; a notebook passes arguments and gets objects. What lies
between them and the runner is here. Read ``session`` first (options, and the plugins, store and
plan that they mean), then ``execute`` (run, dry run, cancel), ``boards`` (written);
``results`` has results as pandas frames. ``import uqbench`` imports none of it until it is used.
"""
