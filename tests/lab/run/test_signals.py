import signal

import pytest

from prorandconv.lab.run.signals import StopRequest


def test_only_a_second_ctrl_c_does_not_wait():
    stop = StopRequest()
    assert not stop
    stop(signal.SIGINT, None)
    assert stop
    stop(signal.SIGTERM, None)
    with pytest.raises(KeyboardInterrupt):
        stop(signal.SIGINT, None)
