"""Which hosts are this machine, and which fit a pattern of the user's.

A name is judged as written, without asking anybody: `localhost`, `*.localhost`, and the loopback addresses. Whether
another name leads here is only known when it is looked up, by whoever connects.
"""

from __future__ import annotations

import ipaddress
from typing import TypeAlias
from urllib.parse import urlsplit


def host_of(url: str) -> str:
    """The host of an http(s) address in lower case; empty if it is no such address."""
    try:
        parts = urlsplit(url)
        host = parts.hostname if parts.scheme in ("http", "https") else None
    except ValueError:
        return ""
    return (host or "").rstrip(".")


def is_address(url: str) -> bool:
    """Whether this is an http(s) address that can be connected to."""
    try:
        urlsplit(url).port  # noqa: B018 - it is read here, and may be none
    except ValueError:
        return False
    return bool(host_of(url)) and url.isprintable() and " " not in url


def is_this_machine(host: str) -> bool:
    """Whether a host, a name or an address, is the machine we run on."""
    name = host.lower().rstrip(".")
    return name == "localhost" or name.endswith(".localhost") or is_loopback(name)


def is_private(host: str) -> bool:
    """Whether a host is written as an address that is not one of the internet's, in whatever form of an address."""
    if not host.strip("[]"):
        return False
    try:
        return not without_wrapping(ipaddress.ip_address(host.strip("[]").partition("%")[0])).is_global
    except ValueError:
        # 10.1, 0xa000001: a resolver takes these for addresses.
        return all(part.isdigit() or part.startswith("0x") for part in host.lower().rstrip(".").split("."))


def is_loopback(address: str) -> bool:
    """Whether an IP address leads back to this machine. 0.0.0.0 does, too: that is where servers say they listen."""
    try:
        found = ipaddress.ip_address(address.strip("[]"))
    except ValueError:
        return False
    mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
    return (mapped or found).is_loopback or (mapped or found).is_unspecified


Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_COMPATIBLE = ipaddress.IPv6Network("::/96")
_OF_ITS_OWN = (ipaddress.IPv6Address("::"), ipaddress.IPv6Address("::1"))


def without_wrapping(address: Address) -> Address:
    """The address of the fourth version that one of the sixth stands for, or the address itself."""
    if isinstance(address, ipaddress.IPv4Address) or address in _OF_ITS_OWN:
        return address
    if address in _NAT64 or address in _COMPATIBLE:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour or (address.teredo[1] if address.teredo else address)


def matches_host(host: str, pattern: str) -> bool:
    """Whether a host is the one of a pattern, or below it: `*.example.com` is example.com and everything under it."""
    pattern = pattern.lower().rstrip(".")
    if pattern.startswith("*."):
        return host == pattern[2:] or host.endswith(pattern[1:])
    return pattern in ("*", host)
