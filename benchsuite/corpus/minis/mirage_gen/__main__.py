"""``python -m benchsuite.corpus.minis.mirage_gen OUT_DIR`` writes the bank."""

from __future__ import annotations

import argparse
from pathlib import Path

from benchsuite.corpus.minis.mirage_gen.write import write_bank


def main() -> None:
    parser = argparse.ArgumentParser(prog="mirage_gen", description="Write the bank mirage-mini.")
    parser.add_argument("out", type=Path, help="folder to write into")
    write_bank(parser.parse_args().out)


if __name__ == "__main__":
    main()
