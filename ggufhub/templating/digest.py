"""Whether two templates are the same, apart from differences that change nothing."""

from hashlib import sha256


def template_digest(text: str) -> str:
    """SHA-256 of a template without blanks at both ends and at the ends of lines."""
    normalised = "\n".join(line.rstrip() for line in text.strip().splitlines())
    return sha256(normalised.encode("utf-8", "surrogatepass")).hexdigest()
