"""Figures: frames of numbers, Altair charts of them, and files.

Every figure is a module with two functions, ``frame``, from a board's tables to the numbers that
are drawn, and ``chart``, from these to an Altair chart; ``figure`` puts both together with a title
and a text alternative. One specification is what a notebook shows, and what SVG, PDF and the
report are made of. Read ``intervals`` as an example, then ``catalog`` (which figures there are) and
``render``. Nothing below imports this room; it needs ``pip install uqbench[plots]``.
"""
