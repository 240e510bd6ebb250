"""The ``prorandconv`` command: parse, call, print."""
