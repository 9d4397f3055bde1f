"""``python -m benchsuite.corpus.minis.memlens_gen OUT_DIR`` writes the corpus."""

from __future__ import annotations

import argparse
from pathlib import Path

from benchsuite.corpus.minis.memlens_gen.write import write_corpus


def main() -> None:
    parser = argparse.ArgumentParser(prog="memlens_gen", description="Write the corpus memlens-mini.")
    parser.add_argument("out", type=Path, help="folder to write into")
    write_corpus(parser.parse_args().out)


if __name__ == "__main__":
    main()
