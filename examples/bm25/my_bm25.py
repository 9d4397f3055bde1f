"""BM25 over the messages' text: a retriever that lives outside the suite."""

import math
import re
from collections import Counter


class BM25:
    version = "1"

    def __init__(self, k1: float = 1.2, b: float = 0.75):
        self.k1, self.b = k1, b

    def rank(self, query, items, k):
        """The k best (item id, score) pairs; ties stand in conversation order."""
        messages = [Counter(words(item.text)) for item in items]
        lengths = [message.total() for message in messages]
        mean = sum(lengths) / max(1, len(lengths)) or 1.0
        scores = [0.0] * len(items)
        for word in sorted(set(words(query.text))):
            holders = sum(word in message for message in messages)
            weight = math.log(1 + (len(items) - holders + 0.5) / (holders + 0.5))
            for i, message in enumerate(messages):
                norm = self.k1 * (1 - self.b + self.b * lengths[i] / mean)
                scores[i] += weight * message[word] * (self.k1 + 1) / (message[word] + norm)
        best = sorted(range(len(items)), key=lambda i: -scores[i])[:k]
        return [(items[i].id, scores[i]) for i in best]


def words(text):
    return re.findall(r"\w+", text.replace("<image>", " ").lower())


def pytest_bench_register(registry):
    registry.retriever("bm25", BM25)
