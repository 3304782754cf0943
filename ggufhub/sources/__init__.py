"""Where bytes come from. Every source hands them out by range and knows nothing of formats."""

from ggufhub.sources.open import open_source

__all__ = ["open_source"]
