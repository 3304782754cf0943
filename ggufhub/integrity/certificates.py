"""Whether the signature of a bundle is good, and whose it is: asked of the ``sigstore`` package.

It belongs to the extra ``signatures``. Nothing is fetched: the roots of trust are those that the
package carries or fetched earlier. Who may sign a model is not decided here; who did is reported.
"""

from importlib import import_module
from typing import Any

NO_EXTRA = 'not verified: that needs the extra signatures (pip install "ggufhub[signatures]")'
BY_KEY = "not verified: it is signed with a key, and only its owner knows the public half"
NOTHING = "not verified: the bundle holds neither a certificate nor a key"


def verify(text: str, material: str) -> str:
    """What is known of the signature in the bundle ``text``, in words that end a sentence:
    ``verified: …``, ``not verified: …`` with the reason, or ``bad: …``."""
    if material != "certificate":
        return BY_KEY if material == "key" else NOTHING
    try:
        models, verification = import_module("sigstore.models"), import_module("sigstore.verify")
    except ImportError:
        return NO_EXTRA
    try:
        verifier = verification.Verifier.production(offline=True)
    except Exception as error:  # whatever the package meets: it is not the signature's fault
        return f"not verified: the roots of trust are not there ({type(error).__name__})"
    try:
        bundle = models.Bundle.from_json(text)
        verifier.verify_dsse(bundle, verification.policy.UnsafeNoOp())
        return f"verified: signed by {_identity(bundle)}"
    except Exception as error:  # the package's own kinds, and those of broken certificates
        told = str(error).partition("\n")[0][:200]
        return f"bad: {told or type(error).__name__}"


def _identity(bundle: Any) -> str:
    """The names in the certificate: addresses, or links to the workflow that signed."""
    x509 = import_module("cryptography.x509")
    names = bundle.signing_certificate.extensions.get_extension_for_class(
        x509.SubjectAlternativeName
    ).value
    return ", ".join(str(name.value) for name in names)[:300]
