"""What Python and the command line both call: select, plan, run, load, look.

The command line parses options and prints; a notebook passes arguments and gets objects. What is
between them and the runner is here: what a call may say (:mod:`~uqbench.api.options`),
progress (:mod:`~uqbench.runner.display`), stored boards (:mod:`~uqbench.boards.stored`), and
results as pandas frames (:mod:`~uqbench.api.results`). Read ``experiment`` first: every command is
a call of it. ``import uqbench`` imports none of it until it is used.
"""
