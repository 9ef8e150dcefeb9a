"""A proxy or tunnel in front of a site, and a certificate for one that speaks https."""

from __future__ import annotations

import datetime
import ipaddress
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.e2e.site import Instructor, Site
from tests.paths import ROOT


@contextmanager
def proxy(site: Site, *options: str, certificate: Path | None = None) -> Iterator[Instructor]:
    """A proxy (``tests/e2e/proxy.py``) in front of a site, and an instructor whose calls go through it."""
    secure = ("--certificate", str(certificate)) if certificate else ()
    command = [sys.executable, "-m", "tests.e2e.proxy", "--to", site.url, *secure, *options]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        ready = re.match(r"READY (\d+)", process.stdout.readline())
        assert ready, "the proxy did not start"
        through = Instructor(f"{'https' if certificate else 'http'}://127.0.0.1:{ready[1]}", certificate=certificate)
        try:
            yield through
        finally:
            through.http.close()
    finally:
        process.terminate()
        process.wait(timeout=10)
        if process.stdout is not None:
            process.stdout.close()


def make_certificate(folder: Path, name: str) -> Path:
    """A self-signed certificate for a name and for 127.0.0.1, with its key, in one PEM file."""
    key = ec.generate_private_key(ec.SECP256R1())
    who = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    names = [x509.DNSName(name), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    certificate = (
        x509.CertificateBuilder()
        .subject_name(who)
        .issuer_name(who)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    file = folder / "certificate.pem"
    plain = serialization.NoEncryption()
    own = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
    file.write_bytes(own + certificate.public_bytes(serialization.Encoding.PEM))
    return file
