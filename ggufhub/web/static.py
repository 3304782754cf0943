"""Static files: named by their content once collected, by themselves before that."""

from whitenoise.storage import CompressedManifestStaticFilesStorage


class StaticStorage(CompressedManifestStaticFilesStorage):
    """Content-named files that browsers may keep for ever; modules import each other likewise.

    Before ``collectstatic`` has run (tests, a bare ``manage.py``) names stay as they are and
    the files are served from where they lie.
    """

    support_js_module_import_aggregation = True

    def stored_name(self, name: str) -> str:
        return super().stored_name(name) if self.hashed_files else name
