"""How a process of a run ends before its time: on SIGTERM, and with its controller."""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import FrameType

import pytest

_CLEAN_UP_S = 1.0


def exit_on_sigterm() -> Callable[[], None]:
    """From now on SIGTERM ends the session as Ctrl-C does, so that servers and workers are ended too.

    Returns what puts the old handler back. Outside the main thread, where no handler can be set, nothing changes.
    """
    if threading.current_thread() is not threading.main_thread():
        return lambda: None
    before = signal.signal(signal.SIGTERM, _exit)

    def restore() -> None:
        if signal.getsignal(signal.SIGTERM) is _exit:
            signal.signal(signal.SIGTERM, before)

    return restore


def _exit(number: int, frame: FrameType | None) -> None:
    pytest.exit("SIGTERM")


def end_with_controller(broker: Path, clean_up: Callable[[], None]) -> None:
    """End this worker once the broker's socket closes, however the controller ended, and not before.

    pytest-xdist gives a worker that waits for an answer 15 seconds; it would ask its endpoint as long. Ctrl-C
    reaches every process of a terminal: a worker that ended first would pass its slots on to the others.
    """
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, lambda number, frame: None)

    def watch() -> None:
        with suppress(OSError), socket.socket(socket.AF_UNIX) as line:
            line.connect(str(broker))
            line.recv(1)  # the broker never speaks first: this is its end
        cleaning = threading.Thread(target=clean_up, daemon=True)
        cleaning.start()
        cleaning.join(_CLEAN_UP_S)
        os._exit(1)

    threading.Thread(target=watch, name="bench-controller", daemon=True).start()
