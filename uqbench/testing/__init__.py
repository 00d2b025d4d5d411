"""For the tests of plugins, also those outside this repository; needs pytest.

``agents`` has tests to inherit, ``fixtures`` what a ``conftest.py`` imports, ``worlds``
deterministic data, ``capture`` CUDA graphs without a GPU.
"""
