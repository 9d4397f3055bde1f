"""Encoders of the user's own weights: bge-small-en-v1.5, SigLIP 2 and open_clip, served by a process of their own.

The two encoders that need no weights, ``minilm`` and ``ocr-minilm``, are served by the embedded reader's process.
What all of them are is ``benchsuite.models.embedded.vectors.VectorEncoder``.
"""

ENCODERS_VERSION = "1"  # of what our code makes of a checkpoint's vectors; part of every identity
BGE = "bge-small-en-v1.5"
SIGLIP2 = "siglip2"
OPEN_CLIP = "open_clip"
