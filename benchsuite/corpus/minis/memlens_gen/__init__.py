"""The seeded generator of the bundled corpus ``memlens-mini``.

Run as ``python -m benchsuite.corpus.minis.memlens_gen OUT_DIR``.
"""
