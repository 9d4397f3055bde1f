"""The example bank of `docs/mirage-bank.md`, for the tests of its loader and of its check."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from PIL import Image as PillowImage

PAGE = Path(__file__).parents[2] / "docs" / "mirage-bank.md"


@pytest.fixture
def example_bank() -> dict[str, Any]:
    """The example of the page."""
    (example,) = re.findall(r"```json\n(.*?)```", PAGE.read_text(), re.DOTALL)
    made: dict[str, Any] = json.loads(example)
    return made


@pytest.fixture
def bank_folder(tmp_path: Path) -> Path:
    """A folder with the one picture that the example names."""
    place = tmp_path / "mine"
    (place / "images").mkdir(parents=True)
    PillowImage.new("RGB", (40, 30), "teal").save(place / "images" / "ax_01.png")
    return place


def write_bank(folder: Path, bank: object) -> Path:
    (folder / "bank.json").write_text(bank if isinstance(bank, str) else json.dumps(bank))
    return folder
