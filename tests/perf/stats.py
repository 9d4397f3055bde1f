"""`make perf`: exact permutation of 20 clusters and 10,000 bootstrap resamples of 800 questions, with their bars.

Memory is the peak resident size of the whole process, numpy included. Each is run once before it is timed ROUNDS times.
"""

from __future__ import annotations

import random
import resource
import statistics
import sys
import time
from collections.abc import Callable

from benchsuite.stats.bootstrap import bootstrap
from benchsuite.stats.permutation import cluster_permutation, sign_flip_means

ROUNDS = 5
BAR_S, BAR_MIB = 1.0, 200.0


def peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    dice = random.Random(1)
    chains = {f"chain{number}": [dice.gauss(0.05, 0.3) for _ in range(40)] for number in range(20)}
    questions = [dice.choice((-1.0, 0.0, 0.0, 1.0)) for _ in range(800)]
    graded = [dice.gauss(0.02, 0.3) for _ in range(800)]
    groups = {f"cluster{number}": [dice.gauss(0.05, 0.3) for _ in range(1 + number % 5)] for number in range(800)}
    work: dict[str, Callable[[], object]] = {
        "exact permutation, 20 clusters": lambda: cluster_permutation(chains),
        "drawn permutation, 800 questions, 100,000 draws": lambda: sign_flip_means(graded),
        "bootstrap, 800 questions, 10,000 resamples": lambda: bootstrap(questions),
        "bootstrap, 800 unequal clusters, 10,000 resamples": lambda: bootstrap(groups, weights="questions"),
    }
    broken = False
    for name, call in work.items():
        call()
        taken = []
        for _ in range(ROUNDS):
            begun = time.perf_counter()
            call()
            taken.append(time.perf_counter() - begun)
        median, peak = statistics.median(taken), peak_mib()
        broken |= median > BAR_S or peak > BAR_MIB
        print(
            f"stats, {name}: {1000 * median:.1f} ms (most {1000 * max(taken):.1f}), bar {1000 * BAR_S:.0f} ms; "
            f"process peak {peak:.0f} MiB, bar {BAR_MIB:.0f} MiB"
        )
    if broken:
        sys.exit("stats: over the bar")


if __name__ == "__main__":
    main()
