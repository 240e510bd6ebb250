import calls
import pytest
import torch

import prorandconv as prc


@pytest.mark.skipif(
    not prc.engines()["native"].startswith("available"), reason=prc.engines()["native"]
)
def test_one_call_stays_in_few_files_and_calls():
    found = calls.calls_of(prc.ProRandConv(), torch.rand(64, 3, 32, 32) * 2 - 1)
    assert found.total() <= 110
    assert len({file for file, _ in found}) <= 8
