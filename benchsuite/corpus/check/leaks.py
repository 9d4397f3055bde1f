"""Does a gold answer stand in a text that reaches a model without pixels: captions, file names, metadata, messages.

A figure is found in any spelling (``$1,260.00`` as ``1260``, ``2024/05/06`` as ``6 May 2024``), words as they follow
each other. An answer that any text holds by chance (yes, a letter, a number of one or two digits) is not looked for.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchsuite.corpus.minis.audit import CHOICE, figures

if TYPE_CHECKING:
    from PIL import Image as PillowImage

MIN_DIGITS = 3
MIN_LETTERS = 4
MAX_METADATA = 1 << 16  # characters kept of one value
_WORD = re.compile(r"[^\W_]+")
_ARTICLES = ("a", "an", "the")
_EXIF_POINTERS = (0x8769, 0x8825)
_UTF16_TAGS = range(0x9C9B, 0x9CA0)  # XPTitle to XPSubject
_NO_TEXT = ("exif", "icc_profile", "transparency")


@dataclass(frozen=True, slots=True)
class Secret:
    """What of a gold answer a text may not hold: all of its figures, or its words in their order.

    ``needles`` are substrings without which a text, lower-cased and without commas, cannot hold it.
    """

    figures: frozenset[str]
    words: re.Pattern[str] | None
    needles: tuple[str, ...]

    def is_in(self, text: str) -> bool:
        plain = text.lower().replace(",", "")
        if not all(needle in plain for needle in self.needles):
            return False
        return self.figures <= figures(text) if self.words is None else bool(self.words.search(text.lower()))


def secret_of(answer: str) -> Secret | None:
    """None for an answer that is too short to be looked for."""
    lower = answer.strip().lower()
    found = frozenset(figures(answer))
    if CHOICE.fullmatch(lower):
        return None
    if found and all(sum(char.isdigit() for char in figure) >= MIN_DIGITS for figure in found):
        return Secret(found, None, tuple(_needle(figure) for figure in sorted(found)))
    words = _WORD.findall(lower)
    while words and words[0] in _ARTICLES:
        words.pop(0)
    if len("".join(words)) < MIN_LETTERS:
        return None
    pattern = r"(?<![^\W_])" + r"[\W_]+".join(re.escape(word) for word in words) + r"(?![^\W_])"
    return Secret(frozenset(), re.compile(pattern), tuple(words))


def metadata_text(picture: PillowImage.Image) -> str:
    """What a loaded image file says in words: PNG text, EXIF, comments, XMP; one value a line."""
    said: list[object] = [value for key, value in picture.info.items() if key not in _NO_TEXT]
    exif = picture.getexif()
    for tags in (exif, *(exif.get_ifd(pointer) for pointer in _EXIF_POINTERS)):
        for tag, value in tags.items():
            utf16 = tag in _UTF16_TAGS and isinstance(value, bytes)
            said.append(value.decode("utf-16-le", "ignore") if utf16 else value)
    texts = [each.decode("utf-8", "ignore") if isinstance(each, bytes) else each for each in said]
    shown = (text[:MAX_METADATA].strip("\0 ") for text in texts if isinstance(text, str))
    return "\n".join(text for text in shown if text)


def _needle(figure: str) -> str:
    """What every spelling of a figure has: the year of a date, the minutes of a clock time, digits of the rest."""
    if re.fullmatch(r"\d{4}-\d\d-\d\d", figure):
        return figure[:4]
    if ":" in figure:
        return figure[figure.index(":") :]
    return str(re.findall(r"\d+", figure)[0])
