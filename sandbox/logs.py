"""Make the text of a job safe to show to a person and to hand to a model as data."""

import re
import unicodedata

# Sequences that carry a payload up to a terminator: OSC, DCS, SOS, PM, APC (7-bit and 8-bit forms).
# Where the terminator never comes the payload ends with its line, so no text after it is lost.
_STRINGS = re.compile(
    r"(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)?"
)
_CSI = re.compile(r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?")
_ESCAPES = re.compile(r"\x1b[ -/]*[0-~]?")
_LINE_ENDS = re.compile("\r\n?|\v|\f|\x85|\u2028|\u2029")

# Cc: controls. Cf: bidi overrides, zero-width characters, Unicode tags (text that a person does not
# see and a model reads). Cs, Co: lone surrogates, private use.
_DROPPED_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co"})


def _is_variation_selector(code: int) -> bool:
    # Category Mn, but a run of them encodes hidden bytes just as the tag characters do.
    return 0xFE00 <= code <= 0xFE0F or 0xE0100 <= code <= 0xE01EF


def _keep(character: str) -> bool:
    if character in "\n\t":
        return True
    if unicodedata.category(character) in _DROPPED_CATEGORIES:
        return False
    return not _is_variation_selector(ord(character))


def clean_log(data: bytes | str) -> str:
    """Decode a log and strip whatever a terminal would act on or a reader would not see.

    Escape sequences go with their payload; every line end becomes ``\\n``; control, format,
    surrogate and private-use characters are dropped. Undecodable bytes become U+FFFD.
    """
    text = data.decode("utf-8", "replace") if isinstance(data, bytes) else data
    text = _LINE_ENDS.sub("\n", text)
    # In this order: an OSC payload may hold what looks like a CSI.
    for pattern in (_STRINGS, _CSI, _ESCAPES):
        text = pattern.sub("", text)
    if text.isascii() and text.isprintable():
        return text
    return "".join(filter(_keep, text))
