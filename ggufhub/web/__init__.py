"""Settings, URLs and the launcher of the service."""
