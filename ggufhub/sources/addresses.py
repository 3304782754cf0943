"""Which IP addresses belong to the public internet.

The tables are spelled out: ``ipaddress.is_global`` follows the interpreter's age (192.0.0.192,
2002:7f00:1:: and 3fff::1 count as global in some), and a fetcher must not change its mind with it.

Sources: IANA IPv4 Special-Purpose Address Registry, IANA IPv6 Special-Purpose Address Registry,
IANA Internet Protocol Version 6 Address Space, and the RFCs named beside each line.
"""

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

IPAddress = IPv4Address | IPv6Address
IPNetwork = IPv4Network | IPv6Network

DENIED_V4 = tuple(
    IPv4Network(block)
    for block in (
        "0.0.0.0/8",  # "this network", RFC 791
        "10.0.0.0/8",  # private use, RFC 1918
        "100.64.0.0/10",  # carrier-grade NAT, RFC 6598; holds 100.100.100.200 (cloud metadata)
        "127.0.0.0/8",  # loopback, RFC 1122
        "169.254.0.0/16",  # link local, RFC 3927; holds the usual cloud metadata addresses
        "172.16.0.0/12",  # private use, RFC 1918
        "192.0.0.0/24",  # protocol assignments, RFC 6890; holds 192.0.0.192 (cloud metadata)
        "192.0.2.0/24",  # documentation, RFC 5737
        "192.31.196.0/24",  # AS112-v4, RFC 7535
        "192.52.193.0/24",  # AMT, RFC 7450
        "192.88.99.0/24",  # 6to4 relay, RFC 7526
        "192.168.0.0/16",  # private use, RFC 1918
        "192.175.48.0/24",  # direct delegation AS112, RFC 7534
        "198.18.0.0/15",  # benchmarking, RFC 2544
        "198.51.100.0/24",  # documentation, RFC 5737
        "203.0.113.0/24",  # documentation, RFC 5737
        "224.0.0.0/4",  # multicast, RFC 5771
        "240.0.0.0/4",  # reserved and limited broadcast, RFC 1112, RFC 919
        "168.63.129.16/32",  # a cloud host's control server, though numbered publicly
    )
)

GLOBAL_V6 = IPv6Network("2000::/3")
"""Global unicast, RFC 4291. Everything outside is refused: mapped and compatible addresses,
NAT64 (RFC 6052, RFC 8215), unique local, link local, site local, multicast."""

DENIED_V6 = tuple(
    IPv6Network(block)
    for block in (
        "2001::/23",  # protocol assignments, RFC 2928: Teredo, ORCHIDv2, benchmarking
        "2001:db8::/32",  # documentation, RFC 3849
        "2002::/16",  # 6to4, RFC 3056: carries any IPv4 address inside
        "2620:4f:8000::/48",  # direct delegation AS112, RFC 7534
        "3fff::/20",  # documentation, RFC 9637
    )
)


def is_public(address: IPAddress) -> bool:
    """True if packets to ``address`` leave for the public internet."""
    if isinstance(address, IPv4Address):
        return not any(address in block for block in DENIED_V4)
    return address in GLOBAL_V6 and not any(address in block for block in DENIED_V6)
