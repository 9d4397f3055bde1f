"""The reader as a process: ``python -m benchsuite.models.embedded.serve --port 0 --nonce X``."""

from __future__ import annotations

import contextlib
import os
import sys

OFFLINE_ONE_THREAD = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
}
# before numpy and torch are imported below: they read it once
os.environ.update(OFFLINE_ONE_THREAD)

from benchsuite.models.embedded.app import ReaderService, build_app  # noqa: E402
from benchsuite.models.embedded.process import obey_launcher, parser, serve_app  # noqa: E402


def main(argv: list[str] | None = None) -> int:
    """Serve under a launcher: ends when standard input does, at once on SIGTERM, and ignores SIGINT."""
    arguments = parser("embedded reader, under a launcher").parse_args(argv)
    obey_launcher()
    return serve_app(build_app(ReaderService(arguments.nonce)), arguments.port, arguments.nonce)


def serve_command(argv: list[str]) -> int:
    """``benchsuite serve``: the same server for a person; Ctrl-C ends it."""
    arguments = parser("serve the embedded reader on this machine").parse_args(argv)
    with contextlib.suppress(KeyboardInterrupt):
        return serve_app(build_app(ReaderService(arguments.nonce)), arguments.port, arguments.nonce)
    return 0


if __name__ == "__main__":
    sys.exit(main())
