"""Certificates of an authority that a test makes: files in PEM."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


class Authority:
    """Its own certificate and one that it signed, in `folder`."""

    def __init__(self, folder: Path, name: str) -> None:
        self.ca, self.cert, self.key = (folder / f"{name}-{end}.pem" for end in ("ca", "cert", "key"))
        own, other = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
        authority = _certificate(f"{name} authority", f"{name} authority", own, own, authority=True)
        signed = _certificate(name, f"{name} authority", other, own, authority=False)
        self.ca.write_bytes(authority.public_bytes(serialization.Encoding.PEM))
        self.cert.write_bytes(signed.public_bytes(serialization.Encoding.PEM))
        plain = (serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        self.key.write_bytes(other.private_bytes(serialization.Encoding.PEM, *plain))

    @property
    def options(self) -> list[str]:
        """For `dask scheduler` and `dask worker`."""
        return ["--tls-ca-file", str(self.ca), "--tls-cert", str(self.cert), "--tls-key", str(self.key)]

    def client(self, ca: Path) -> dict[str, str]:
        """The environment of a client that shows this certificate, and trusts `ca`."""
        prefix = "DASK_DISTRIBUTED__COMM__TLS__"
        own = {f"{prefix}CLIENT__CERT": str(self.cert), f"{prefix}CLIENT__KEY": str(self.key)}
        return {f"{prefix}CA_FILE": str(ca), **own}


def _certificate(
    name: str, issuer: str, key: ec.EllipticCurvePrivateKey, signer: ec.EllipticCurvePrivateKey, *, authority: bool
) -> x509.Certificate:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
        .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, issuer)]))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
        .sign(signer, hashes.SHA256())
    )
