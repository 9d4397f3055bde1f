"""The embedded reader: OCR and MiniLM behind an OpenAI-compatible endpoint, for machines with nothing else.

It is a floor reference, not a model of answering skill: it sees only the request, reads the delivered pixels,
and answers with the best supported span of text or refuses.
"""

EMBEDDED_VERSION = "2"
REFUSING_MODEL = "embedded"
FORCED_MODEL = "embedded-forced"
EMBEDDING_MODEL = "all-MiniLM-L6-v2"
TEXT_ENCODER = "minilm"
OCR_ENCODER = "ocr-minilm"
