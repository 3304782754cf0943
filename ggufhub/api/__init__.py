"""REST under /api/v1: JSON in and out, errors as RFC 9457 problems."""
