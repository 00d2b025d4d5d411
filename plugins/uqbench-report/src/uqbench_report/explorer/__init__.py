"""The explorer: boards, methods and claims as one static page that asks nobody for anything.

``board`` makes the data of one board, ``page`` the page around them: one HTML file.
``tools/site_hook.py`` makes a page a board of the same, with the data beside it, for the site.
Numbers are those of the boards' CSV files; ranks by other scores and on other tasks are computed
here, in Python, and the page shows no others. It needs ``pip install uqbench[report]``.
"""
