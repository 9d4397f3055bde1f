"""What counts as a gold answer in a text, and where an image file hides words."""

from __future__ import annotations

import io

import pytest
from PIL import Image as PillowImage
from PIL.PngImagePlugin import PngInfo

from benchsuite.corpus.check.leaks import metadata_text, secret_of


@pytest.mark.parametrize(
    ("answer", "text", "found"),
    [
        ("$1,260.00", "I paid 1260 dollars", True),
        ("$1,260.00", "I paid 1,260.00 dollars", True),
        ("$1,260.00", "I paid 11,260 dollars", False),
        ("185 DKK", "it says DKK 185", True),
        ("48.5", "48.50 in all", True),
        ("2024/05/06", "on 6 May 2024", True),
        ("2024/05/06", "on 2024-05-07 and 2024", False),
        ("7:05", "at 07:05", True),
        ("7:05", "at 17:05", False),
        ("AB-123", "order ab-123.", True),
        ("the red car", "A Red\ncar!", True),
        ("red car", "a reddish car", False),
        ("red car", "a car that is red", False),
        ("Zürich", "in zürich", True),
    ],
)
def test_an_answer_in_a_text(answer: str, text: str, found: bool) -> None:
    secret = secret_of(answer)
    assert secret is not None
    assert secret.is_in(text) is found


@pytest.mark.parametrize("answer", ["Yes", "no", "A", "(2)(1)(3)", "5", "42", "5 km", "cat", "the cat"])
def test_what_any_text_holds_by_chance_is_not_looked_for(answer: str) -> None:
    assert secret_of(answer) is None


def saved(kind: str, **options: object) -> PillowImage.Image:
    buffer = io.BytesIO()
    PillowImage.new("RGB", (8, 8), "teal").save(buffer, kind, **options)
    picture = PillowImage.open(io.BytesIO(buffer.getvalue()))
    picture.load()
    return picture


def test_words_in_image_files() -> None:
    note = PngInfo()
    note.add_text("Title", "first")
    note.add_itxt("Comment", "zweites é")
    note.add(b"tEXt", b"Late\0third", after_idat=True)
    assert metadata_text(saved("PNG", pnginfo=note)).split("\n") == ["first", "zweites é", "third"]
    exif = PillowImage.Exif()
    exif[0x010E] = "described"
    exif[0x9C9C] = "commented".encode("utf-16-le")
    exif.get_ifd(0x8769)[0x9286] = b"ASCII\0\0\0by the user"
    text = metadata_text(saved("JPEG", exif=exif, comment=b"a comment"))
    assert all(words in text for words in ("described", "commented", "by the user", "a comment")), text
    assert metadata_text(saved("JPEG")).replace("\n", "") in ("", "JFIF")
    assert metadata_text(saved("PNG")) == ""
