"""BM25 over the texts of a workspace: what its tools find. No model, so that recall is the same for all of them."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence

K1, B = 1.2, 0.75
_WORD = re.compile(r"[^\W_]+(?:[.,]\d+)*")
_COMMON = frozenset(
    re.findall(
        r"\w+",
        "a an and are as at be by did do does for from had has have how i in is it its me my of on or our that the "
        "their this to was were what when where which who will with you your",
    )
)


def terms(text: str) -> list[str]:
    """Case-folded words and numbers, without the most common words and without a plural's ``s``."""
    found = (word.casefold() for word in _WORD.findall(text))
    return [word[:-1] if len(word) > 3 and word.endswith("s") else word for word in found if word not in _COMMON]


class Index:
    """Scores of documents for a query; immutable."""

    def __init__(self, documents: Sequence[str]) -> None:
        self._counts = [Counter(terms(text)) for text in documents]
        self._sizes = [count.total() for count in self._counts]
        self._mean = sum(self._sizes) / len(self._sizes) if any(self._sizes) else 1.0
        self._in = Counter(word for count in self._counts for word in count)

    def best(self, query: str, k: int, telling: bool = False) -> list[int]:
        """Places of at most ``k`` documents that share a word with the query, the best first; ties in order.

        ``telling``: a word that all of three documents or more have counts for none of them.
        """
        wanted = set(terms(query))
        if telling and len(self._counts) > 2:
            wanted = {word for word in wanted if self._in[word] < len(self._counts)}
        scored = [(self._score(at, wanted), at) for at in range(len(self._counts))]
        return [at for score, at in sorted(scored, key=lambda each: (-each[0], each[1]))[:k] if score > 0]

    def _score(self, at: int, wanted: set[str]) -> float:
        total = 0.0
        norm = K1 * (1 - B + B * self._sizes[at] / self._mean)
        for word in wanted & self._counts[at].keys():
            count, holding = self._counts[at][word], self._in[word]
            rarity = math.log(1 + (len(self._counts) - holding + 0.5) / (holding + 0.5))
            total += rarity * count * (K1 + 1) / (count + norm)
        return total
