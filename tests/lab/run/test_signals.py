import signal
import subprocess
import sys

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


BLOCKED = """
import os, signal, threading, time
from prorandconv.lab.run.signals import signals, signals_blocked

threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
came = []
with signals_blocked():
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(0.1)
    print("blocked", came)
    with signals(lambda number, frame: came.append(number)):
        time.sleep(0.01)
print("came", came == [signal.SIGTERM])
"""


@pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="needs signals of POSIX")
def test_a_signal_that_comes_to_another_thread_waits_too():
    done = subprocess.run([sys.executable, "-c", BLOCKED], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == ["blocked []", "came True"]
