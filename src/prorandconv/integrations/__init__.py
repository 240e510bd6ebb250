"""The augmentation in other libraries' own terms: one file each, imported by nobody else.

``docs/integrations.md`` has an example for each. ``pip install 'prorandconv[kornia]'`` brings
Kornia, and so on.
"""
