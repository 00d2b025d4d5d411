"""Plugins: they are found, imported with care, and their specs get names.

Read ``plugins`` (discovery; a ``Host`` is all that is registered) and ``registry`` (specs by name),
then ``imports`` (imports that hang or end the process), ``side_effects``, and ``local`` with
``methods`` (files and classes that are not installed).
"""
