"""``benchsuite data``: look into a corpus."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Sequence
from functools import cache
from itertools import cycle, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from benchsuite.commands.parser import Parser
from benchsuite.errors import ConfigError, DataError

if TYPE_CHECKING:
    from PIL import Image as PillowImage

    from benchsuite.corpus.bank import Bank, SplitBank
    from benchsuite.corpus.check.bank import BankPath, Measures, Reached
    from benchsuite.corpus.check.report import Report
    from benchsuite.corpus.model import Image, Turn

FAULTY_DATA = 1
DELIVERED_SIDE = 768  # the longest side of the delivery presets that stamp


def data_command(argv: list[str]) -> int:
    """``data check PATH``: what is in a corpus, and all that is wrong or odd in it. Exit 1 for errors."""
    parser = Parser(
        "benchsuite data",
        "Look into the data of a corpus: which suite it is of is found out from what is there.",
        "  benchsuite data check memlens-mini\n  benchsuite data check mirage-mini",
    )
    parser.add_argument("action", choices=["check"], help="count, and list what is wrong (errors) or odd (notes)")
    parser.add_argument(
        "corpus",
        metavar="PATH",
        help="a dataset file or its folder, a bank.json or its folder, memlens-mini or mirage-mini; PATH#NAME also "
        "looks for NAME",
    )
    options = parser.parse_args(argv)
    from benchsuite.corpus.check.bank import bank_path  # and whatever else the other commands do without

    place = bank_path(options.corpus)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Pillow's, about oddities of image files
        report = _check_memlens(options.corpus) if place is None else _check_mirage(place)
    for line in report.lines():
        print(line)
    return FAULTY_DATA if report.errors.counts else 0


def _check_memlens(spec: str) -> Report:
    import numpy as np

    from benchsuite.corpus.check.checker import check_corpus
    from benchsuite.corpus.memlens import memlens_path
    from benchsuite.delivery.images import decode, scaled
    from benchsuite.delivery.stamp import Cover, audit_covers, stamp_cover

    covers: list[Cover] = []

    def look(data: bytes, image: Image) -> PillowImage.Image:
        picture = decode(data, image)
        covers.append(stamp_cover(np.asarray(scaled(picture, DELIVERED_SIDE))))
        return picture

    report = check_corpus(memlens_path(spec), look)
    report.remarks.append(str(audit_covers(covers)))
    return report


def _check_mirage(place: BankPath) -> Report:
    from benchsuite.corpus.check.bank import check_bank
    from benchsuite.delivery.images import decode

    return check_bank(place, decode, bank_measures())


def bank_measures() -> Measures:
    """Sizes and states of a bank as a run has them: its trunks are played, with summaries that no model wrote."""
    from benchsuite.corpus.check.bank import Measures, Reached
    from benchsuite.delivery.protocol import bundled_protocol
    from benchsuite.models.tokenizer import BUNDLED, count_bundled
    from benchsuite.runtime.compaction import Summariser
    from benchsuite.runtime.conversation import Spoken, reference_tokens
    from benchsuite.runtime.states import parse_state
    from benchsuite.runtime.trunk import Stage, Trunk
    from benchsuite.runtime.workspace import BlobStore

    class Longest(Summariser):
        """Says as many words as it may: the first ones of what it is given, again and again."""

        def __init__(self) -> None:
            """Without a model."""

        async def summary(self, spoken: Sequence[Spoken], form: str, words: int) -> str:
            said = [word for each in spoken for word in each.text.split()]
            return " ".join(islice(cycle(said), words))

    @cache
    def one(text: str) -> int:
        return count_bundled([text])[0]

    def count(texts: Sequence[str]) -> list[int]:
        return [one(text) for text in texts]

    def tokens(turns: Sequence[Turn]) -> int:
        return sum(reference_tokens(map(Spoken.of, turns), count))

    protocol = bundled_protocol("mirage")

    def reach(bank: Bank, split: SplitBank, scale: str, state: str) -> Reached:
        script = bank.script(split)
        stage = Stage(split.name, split.history, script, scale, protocol, lambda image: b"", BUNDLED, count)
        with TemporaryDirectory() as folder:
            trunk = Trunk(stage, BlobStore(Path(folder)), Longest(), "verbatim", "none")
            try:
                found = asyncio.run(trunk.reach(parse_state(state)))
            except DataError as error:
                return Reached(never=_why(error.problem))
            except ConfigError as error:
                return Reached(never=_why(str(error)))
        return Reached(found.depth, found.active)

    return Measures(BUNDLED, tokens, reach)


def _why(text: str) -> str:
    return text.partition("is never reached: ")[2] or text
