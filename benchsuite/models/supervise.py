"""``python -m benchsuite.models.supervise CMD ...``: run a server so that nothing of it outlives its launcher.

CMD runs in a session of its own. When stdin ends (its launcher is gone, however it died) or on SIGTERM, the
whole process group gets SIGTERM, and after ``GRACE_S`` SIGKILL.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from types import FrameType

GRACE_S = 0.5


def main(command: Sequence[str]) -> int:
    """Exit status of the command, 127 when it cannot be run."""
    stop = threading.Event()

    def on_signal(number: int, frame: FrameType | None) -> None:
        stop.set()

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, on_signal)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the launcher to act upon
    try:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)
    except OSError as error:
        print(f"{command[0]}: {error.strerror}", file=sys.stderr)
        return 127
    threading.Thread(target=_until_stdin_ends, args=(stop,), daemon=True).start()
    threading.Thread(target=_until_child_ends, args=(child, stop), daemon=True).start()
    stop.wait()
    end_group(child.pid)
    return child.wait()


def end_group(group: int) -> None:
    """SIGTERM, a short grace, then SIGKILL, to a process group whose leader is our child."""
    with suppress(ProcessLookupError):
        os.killpg(group, signal.SIGTERM)
        deadline = time.monotonic() + GRACE_S
        while time.monotonic() < deadline:
            time.sleep(0.02)
            os.killpg(group, 0)  # raises once the last of them is gone
        os.killpg(group, signal.SIGKILL)


def _until_stdin_ends(stop: threading.Event) -> None:
    with suppress(OSError):
        while os.read(0, 4096):
            pass
    stop.set()


def _until_child_ends(child: subprocess.Popen[bytes], stop: threading.Event) -> None:
    child.wait()
    stop.set()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
