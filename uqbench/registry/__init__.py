"""What is installed: plugins are found, imported with care, and what they register gets names.

Read ``plugins`` (discovery; a ``Host`` is all that is registered) and ``registry`` (specs by name),
then ``side_effects`` (imports that hang or change the process), and ``local`` (files and classes
that are not installed).
"""
