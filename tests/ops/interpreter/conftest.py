"""Tests of Triton's kernels in its interpreter, for a process of their own.

Triton decides when it is imported whether it interprets kernels, so these files are collected only
where the environment says so from the start: ``TRITON_INTERPRET=1 pytest tests/ops/interpreter``.
``tests/ops/test_triton_engine.py`` starts such a process.
"""

import os

collect_ignore_glob = [] if os.environ.get("TRITON_INTERPRET") == "1" else ["test_*.py"]
