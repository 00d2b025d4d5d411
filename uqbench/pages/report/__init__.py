"""The report: one page about a folder of results, made to be opened by a double click.

It is one HTML file that requests nothing: style and pictures are in it, and a
content security policy forbids the rest. Numbers are those of the boards' CSV files, each with its
full value in a ``data`` element; nothing is computed that a board has, and single runs are left to
its ``scores.csv``. Read ``page`` first, then ``sections``. It needs
``pip install uqbench[report]``.
"""
