"""The seeded generator of the bundled corpus ``memlens-mini``: ``python -m benchsuite.corpus.minis.memlens_gen OUT``."""
