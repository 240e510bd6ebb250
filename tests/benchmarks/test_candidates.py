import candidates
import pytest
import torch
from candidates import CANDIDATES, stock_block

import prorandconv as prc

ON_CPUS = [name for name in CANDIDATES if name not in ("compiled", "triton")]


@pytest.mark.parametrize("engine", ["reference", "eager", "native"])
def test_stock_operators_compute_what_the_engines_compute(engine):
    if not prc.engines()[engine].startswith("available"):
        pytest.skip(prc.engines()[engine])
    x = torch.rand(3, 3, 20, 20) * 2 - 1
    augment = prc.ProRandConv(repeats=3, engine=engine)
    draw = augment.draw(x)
    expected = x
    for _ in range(3):
        offsets = draw.offsets.dense().expand(3, -1, -1, -1)
        expected = stock_block(expected, offsets, draw.weight, draw.gamma, draw.beta)
    torch.testing.assert_close(augment(x, draw=draw), expected, atol=1e-4, rtol=0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("name", ON_CPUS)
def test_each_call_draws_anew_and_keeps_shape_dtype_and_range(name, dtype):
    if name == "kornia":
        pytest.importorskip("kornia")
    augment = CANDIDATES[name].make()
    x = (torch.rand(2, 3, 16, 16) * 2 - 1).to(dtype)
    with torch.no_grad():
        first, second = augment(x, 2), augment(x, 2)
    assert first.shape == x.shape
    assert first.dtype == dtype
    assert first.abs().max() <= 1
    assert not torch.equal(first, second)


@pytest.mark.parametrize("name", ["obvious", "plain_conv"])
def test_repetitions_asked_for_are_done(name, monkeypatch):
    done = []
    contrast = candidates.contrast
    monkeypatch.setattr(candidates, "contrast", lambda *a: done.append(1) or contrast(*a))
    CANDIDATES[name].make()(torch.rand(1, 3, 16, 16), 4)
    assert len(done) == 4


def test_what_is_not_pro_randconv_says_so():
    others = {name for name, one in CANDIDATES.items() if "not the same" in one.title}
    assert others == {"kornia", "plain_conv"}
