"""The seeded generator of the bundled bank ``mirage-mini``.

Run as ``python -m benchsuite.corpus.minis.mirage_gen OUT_DIR``.
"""
