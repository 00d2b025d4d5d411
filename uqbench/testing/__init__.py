"""Support for plugins' tests, in this repository or outside it; needs pytest.

``agents`` has tests to inherit, ``fixtures`` the fixtures to import in a ``conftest.py``,
``worlds`` deterministic data, ``capture`` CUDA graphs without a GPU. ``conformance`` has the checks
that pytest makes: of a plugin's own tests by ``checks``, of an installed plugin by ``results``.
"""
