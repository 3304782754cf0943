"""AddressPolicy: which URLs may be read at all.

A URL is parsed once, here, into a Target. Everything later (the lookup, the dial, the request
line) is built from the Target and never from the text again, so no second parser can disagree.
"""

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from ipaddress import AddressValueError, IPv4Address, IPv6Address, ip_network
from urllib.parse import quote, urljoin

import idna

from ggufhub.errors import SourceError, UsageError
from ggufhub.sources.addresses import IPAddress, IPNetwork, is_public

USER_URL_LENGTH = 4096
REDIRECT_URL_LENGTH = 8192
"""Characters. Signed links of content-delivery hosts are longer than what people paste."""

DEFAULT_PORTS = {"https": 443, "http": 80}

NOT_REACHABLE = "This address cannot be reached, or may not be read from here."
"""One wording for blocked, unknown, refused and silent: it must not tell what is inside."""

RESERVED_SUFFIXES = frozenset(
    {
        "localhost", "test", "invalid", "example",  # RFC 6761
        "local",  # RFC 6762
        "arpa",  # RFC 3172; home.arpa is RFC 8375
        "onion",  # RFC 7686
        "alt",  # RFC 9476
        "internal",  # reserved for private use by ICANN, 2024
        "intranet", "private", "corp", "home", "lan",  # RFC 6762, appendix G
        "localdomain",  # the usual suffix in /etc/hosts
    }
)  # fmt: skip

_FORBIDDEN = re.compile(r'[\x00-\x20\x7f\\<>"{}|^`]')
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_AUTHORITY = re.compile(r"(\[[^\[\]]*\]|[^:\[\]]*)(?::(.*))?", re.DOTALL)
_PORT = re.compile(r"[0-9]{1,5}")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_QUAD = re.compile(r"(?:(?:0|[1-9][0-9]{0,2})\.){3}(?:0|[1-9][0-9]{0,2})")
_UNDERSCORE_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_PRINTABLE = "".join(map(chr, range(0x21, 0x7F)))


@dataclass(frozen=True, slots=True)
class Target:
    """A URL taken apart. ``host`` is lower-case ASCII, without brackets; ``path`` starts with /.

    ``address`` is set if the host is an IP literal. ``inside_only`` is "" or the code to refuse
    with unless every address of the host lies in a network the operator opened.
    """

    scheme: str
    host: str
    port: int
    path: str
    query: str
    address: IPAddress | None
    inside_only: str

    @property
    def origin(self) -> tuple[str, str, int]:
        """What credentials and connections are bound to."""
        return self.scheme, self.host, self.port

    @property
    def authority(self) -> str:
        """The value of the Host header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def resource(self) -> str:
        """Path and query, as the request line has them."""
        return f"{self.path}?{self.query}" if self.query else self.path

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.authority}{self.resource}"


class AddressPolicy:
    """The rules. Refuses by ``SourceError`` with a stable code.

    ``allowed_networks`` are CIDRs the operator opens: addresses inside them pass although they
    are not public; so do names without a dot and reserved names (``localhost``) if *every*
    address they resolve to is inside. ``allowed_ports`` replaces the ports 80 and 443 for all
    hosts; if it is not given, any port is good for addresses inside an opened network.
    """

    def __init__(
        self,
        allowed_networks: Iterable[str] = (),
        allowed_ports: Iterable[int] | None = None,
        *,
        allow_http: bool = True,
    ) -> None:
        self.allowed_networks: tuple[IPNetwork, ...] = tuple(map(_network, allowed_networks))
        self.allowed_ports = frozenset(
            DEFAULT_PORTS.values() if allowed_ports is None else allowed_ports
        )
        self._any_port_inside = allowed_ports is None
        self._schemes = frozenset({"https", "http"} if allow_http else {"https"})

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> "AddressPolicy":
        """GGUFHUB_ALLOWED_NETWORKS and GGUFHUB_ALLOWED_PORTS, both separated by commas."""
        ports = _items(environment, "GGUFHUB_ALLOWED_PORTS")
        for port in ports:
            if not _PORT.fullmatch(port) or not 0 < int(port) < 65536:
                raise UsageError(f"GGUFHUB_ALLOWED_PORTS: {port!r} is not a port (1 to 65535).")
        networks = _items(environment, "GGUFHUB_ALLOWED_NETWORKS")
        return cls(networks, map(int, ports) if ports else None)

    def parse(self, text: str, max_length: int = USER_URL_LENGTH) -> Target:
        """Take ``text`` apart and judge all that can be judged without a lookup."""
        _check_characters(text, max_length)
        scheme_match = _SCHEME.match(text)
        scheme = scheme_match[1].lower() if scheme_match else ""
        if scheme_match is None or scheme not in self._schemes:
            names = " or ".join(f"{name}://" for name in sorted(self._schemes, reverse=True))
            raise SourceError("scheme", f"The link must start with {names}.")
        rest = text[scheme_match.end() :]
        if not rest.startswith("//"):
            raise SourceError("url_syntax", "The link needs // after its scheme.")
        authority, path, query = _split(rest[2:])
        host, port_text = _split_authority(authority)
        port = _parse_port(port_text, DEFAULT_PORTS[scheme])
        host, address = _parse_host(host)
        target = Target(
            scheme, host, port, path, query, address, self._inside_only(host, address, port)
        )
        if address is not None:
            self.check(target, [address])
        return target

    def redirect(self, source: Target, location: str) -> Target:
        """The target a redirect answered by ``source`` leads to, judged like a new URL."""
        _check_characters(location, REDIRECT_URL_LENGTH)
        if location.startswith("//"):
            location = f"{source.scheme}:{location}"
        elif not _SCHEME.match(location):
            location = urljoin(source.url, location)
        target = self.parse(location, 2 * REDIRECT_URL_LENGTH)
        if source.scheme == "https" and target.scheme == "http":
            raise SourceError("downgrade", "The server redirects from https to plain http.")
        return target

    def check(self, target: Target, addresses: Iterable[IPAddress]) -> None:
        """Refuse ``target`` unless every one of its addresses may be dialled."""
        for address in addresses:
            inside = any(address in network for network in self.allowed_networks)
            if not inside and target.inside_only:
                raise SourceError(target.inside_only, NOT_REACHABLE)
            if not inside and not is_public(address):
                raise SourceError("address", NOT_REACHABLE)

    def _inside_only(self, host: str, address: IPAddress | None, port: int) -> str:
        """The value of ``Target.inside_only``; refuses at once if no opened network could help."""
        usual_port = port in self.allowed_ports
        if port == 0 or not (usual_port or (self._any_port_inside and self.allowed_networks)):
            ports = ", ".join(map(str, sorted(self.allowed_ports)))
            raise SourceError("port", f"Port {port} may not be read. Allowed: {ports}.")
        if address is None and _is_reserved(host):
            if not self.allowed_networks:
                raise SourceError("host_name", NOT_REACHABLE)
            return "host_name"
        return "" if usual_port else "port"


def _items(environment: Mapping[str, str], name: str) -> list[str]:
    return [item.strip() for item in environment.get(name, "").split(",") if item.strip()]


def _network(text: str) -> IPNetwork:
    try:
        return ip_network(text)
    except ValueError as error:
        raise UsageError(f"{text!r} is not a network such as 10.1.0.0/16: {error}.") from error


def _check_characters(text: str, max_length: int) -> None:
    """Before any parsing: parsers differ in what they strip, and so in which host they see."""
    if not text:
        raise SourceError("url_empty", "The link is empty.")
    if len(text) > max_length:
        raise SourceError("url_too_long", f"The link is longer than {max_length:,} characters.")
    if _FORBIDDEN.search(text) or any("\ud800" <= char <= "\udfff" for char in text):
        raise SourceError("url_bad_char", "The link holds a space or a character no link may hold.")


def _split(rest: str) -> tuple[str, str, str]:
    """Authority, path and query of what follows ``//`` (RFC 3986, appendix B)."""
    rest = rest.partition("#")[0]
    hierarchy, _, query = rest.partition("?")
    authority, slash, path = hierarchy.partition("/")
    return authority, quote(slash + path, safe=_PRINTABLE) or "/", quote(query, safe=_PRINTABLE)


def _split_authority(authority: str) -> tuple[str, str | None]:
    if "@" in authority:
        raise SourceError("userinfo", "The link must not hold a user name or password.")
    if "%" in authority:
        raise SourceError("host_percent", "The host name must not hold %.")
    match = _AUTHORITY.fullmatch(authority)
    if match is None or not match[1]:
        raise SourceError("url_syntax", "The link holds no host name.")
    return match[1], match[2]


def _parse_port(text: str | None, default: int) -> int:
    if text is None:
        return default
    if not _PORT.fullmatch(text) or int(text) > 65535:
        raise SourceError("url_syntax", "The port in the link is not a number up to 65535.")
    return int(text)


def _parse_host(host: str) -> tuple[str, IPAddress | None]:
    """The host in ASCII, and its address if it is an IP literal."""
    try:
        if host.startswith("["):
            address = IPv6Address(host[1:-1])
            return address.compressed, address
        name = _ascii_name(host)
        # WHATWG URL, "ends in a number": resolvers read such names as addresses in octal, hex
        # or short forms, so nothing but the plain dotted quad may pass.
        if _NUMBER.fullmatch(name.rpartition(".")[2]):
            if not _QUAD.fullmatch(name):
                raise SourceError("host_syntax", "The host is not a valid address.")
            return name, IPv4Address(name)
    except (AddressValueError, UnicodeError) as error:
        raise SourceError("host_syntax", "The host name in the link is not valid.") from error
    return name, None


def _ascii_name(host: str) -> str:
    """``host`` by UTS-46 (non-transitional, STD3 rules); ASCII labels with _ are let through.

    Bucket names in front of object stores hold underscores, which STD3 rules refuse.
    """
    if len(host) > 253:
        raise UnicodeError("host name too long")
    if host.isascii() and "_" in host:
        labels = host.lower().split(".")
        name = ".".join(
            label if "_" in label and _UNDERSCORE_LABEL.fullmatch(label) else _uts46(label)
            for label in labels
        )
    else:
        name = _uts46(host)
    if name.endswith(".") or len(name) > 253:
        raise UnicodeError("trailing dot or too long")
    return name


def _uts46(name: str) -> str:
    return idna.encode(name, uts46=True, std3_rules=True).decode("ascii").lower()


def _is_reserved(host: str) -> bool:
    """Names that only mean something inside a private network (``redis``, ``db.internal``)."""
    return "." not in host or host.rpartition(".")[2] in RESERVED_SUFFIXES
