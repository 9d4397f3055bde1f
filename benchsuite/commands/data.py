"""``benchsuite data``: look into a corpus."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from benchsuite.commands.parser import Parser

if TYPE_CHECKING:
    from PIL import Image as PillowImage

    from benchsuite.corpus.model import Image

FAULTY_DATA = 1
DELIVERED_SIDE = 768  # the longest side of the delivery presets that stamp


def data_command(argv: list[str]) -> int:
    """``data check PATH``: what is in a corpus, and all that is wrong or odd in it. Exit 1 for errors."""
    parser = Parser(
        "benchsuite data", "Look into the data of a MemLens corpus.", "  benchsuite data check memlens-mini"
    )
    parser.add_argument("action", choices=["check"], help="count, and list what is wrong (errors) or odd (notes)")
    parser.add_argument(
        "corpus", metavar="PATH", help="a dataset file, its folder, or memlens-mini; PATH#NAME also looks for NAME"
    )
    options = parser.parse_args(argv)
    import numpy as np  # and whatever else the other commands do without

    from benchsuite.corpus.check.checker import check_corpus
    from benchsuite.corpus.memlens import memlens_path
    from benchsuite.delivery.images import decode, scaled
    from benchsuite.delivery.stamp import Cover, audit_covers, stamp_cover

    covers: list[Cover] = []

    def look(data: bytes, image: Image) -> PillowImage.Image:
        picture = decode(data, image)
        covers.append(stamp_cover(np.asarray(scaled(picture, DELIVERED_SIDE))))
        return picture

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Pillow's, about oddities of image files
        report = check_corpus(memlens_path(options.corpus), look)
    report.remarks.append(str(audit_covers(covers)))
    for line in report.lines():
        print(line)
    return FAULTY_DATA if report.errors.counts else 0
