"""Reasoning that a client keeps for us: sealed, so that what comes back is what was given out.

The wires have a place for it (`signature`, `encrypted_content`) that clients send back unread. A seal holds the text
and the upstream's own signature, if it has one, and a code made with a secret of this gateway. What comes back with
another code is not believed: its text counts as plain reasoning, and no signature goes upstream.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import zlib
from dataclasses import dataclass

from joey.messages import ReasoningBlock

_MARK = "joey1."
_CODE = 16
_MAX_TEXT = 4_000_000


@dataclass(frozen=True, slots=True)
class Seal:
    """Seals with one secret."""

    secret: bytes

    def close(self, text: str, signature: str | None) -> str:
        body = zlib.compress(json.dumps([text, signature], ensure_ascii=False).encode("utf-8", "surrogatepass"))
        return _MARK + base64.urlsafe_b64encode(self._code(body) + body).decode("ascii")

    def open(self, sealed: object) -> ReasoningBlock | None:
        """What was sealed; None for what is not ours."""
        if not isinstance(sealed, str) or not sealed.startswith(_MARK):
            return None
        try:
            data = base64.urlsafe_b64decode(sealed.removeprefix(_MARK))
            code, body = data[:_CODE], data[_CODE:]
            if not hmac.compare_digest(code, self._code(body)):
                return None
            plain = zlib.decompressobj().decompress(body, _MAX_TEXT)
            text, signature = json.loads(plain.decode("utf-8", "surrogatepass"))
        except (ValueError, zlib.error):
            return None
        return ReasoningBlock(str(text), signature)

    def _code(self, body: bytes) -> bytes:
        return hmac.new(self.secret, body, hashlib.sha256).digest()[:_CODE]
