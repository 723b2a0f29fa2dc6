"""A text in the shape of a key is hidden though nobody told of it; ordinary text, code and prose stay as they were."""

from __future__ import annotations

import base64
import hashlib
import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from console_app.config.secrets import RedactedStream, Redactor
from tests.each import each

ROOT = Path(__file__).parents[2]
_BYTES = hashlib.sha512(b"canary").digest() * 4
LETTERS = base64.b64encode(_BYTES).decode().replace("+", "a").replace("/", "b")
HEX = _BYTES.hex()


def _part(fields: dict[str, str]) -> str:
    return base64.urlsafe_b64encode(json.dumps(fields).encode()).decode().rstrip("=")


KEYS = {
    "OpenAI": f"sk-proj-{LETTERS[:48]}",
    "OpenAI, older": f"sk-{LETTERS[:48]}",
    "Anthropic": f"sk-ant-api03-{LETTERS[:40]}-{LETTERS[40:60]}_AA",
    "OpenRouter": f"sk-or-v1-{HEX[:64]}",
    "Groq": f"gsk_{LETTERS[:52]}",
    "Google": f"AIza{LETTERS[:35]}",
    "Google, a token": f"ya29.{LETTERS[:60]}",
    "Google, a client": f"GOCSPX-{LETTERS[:28]}",
    "xAI": f"xai-{LETTERS[:80]}",
    "Hugging Face": f"hf_{LETTERS[:34]}",
    "Replicate": f"r8_{LETTERS[:37]}",
    "Perplexity": f"pplx-{LETTERS[:48]}",
    "NVIDIA": f"nvapi-{LETTERS[:64]}",
    "Cerebras": f"csk-{LETTERS[:48]}",
    "GitHub": f"ghp_{LETTERS[:36]}",
    "GitHub, of an app": f"ghs_{LETTERS[:36]}",
    "GitHub, fine-grained": f"github_pat_{LETTERS[:22]}_{LETTERS[:59]}",
    "GitLab": f"glpat-{LETTERS[:20]}",
    "GitLab, routable": f"glpat-{LETTERS[:27]}.01.{LETTERS[:9]}",
    "AWS": "AKIAQ4XAMPLE2KEY7ABC",
    "AWS, temporary": "ASIAQ4XAMPLE2KEY7ABC",
    "Slack": "xoxb-2444333222111-2444333222111-AbCdEfGhIjKlMnOp",
    "Stripe": f"sk_live_{LETTERS[:24]}",
    "npm": f"npm_{LETTERS[:36]}",
    "PyPI": f"pypi-AgEIcHlwaS5vcmc{LETTERS[:100]}",
    "LangSmith": f"lsv2_pt_{HEX[:32]}_{HEX[:10]}",
    "SendGrid": f"SG.{LETTERS[:22]}.{LETTERS[:43]}",
    "a JSON web token": f"{_part({'alg': 'HS256', 'typ': 'JWT'})}.{_part({'sub': 'someone'})}.{LETTERS[:43]}",
    "a JSON web token, unsigned": f"{_part({'alg': 'none'})}.{_part({'sub': 'someone'})}.",
}
PLACES = ("{}", "the key {} is wrong", "key={}&x=1", '{{"key": "{}"}}', "https://h.test/{}/x", "({}).", "'{}',")


@each("maker", KEYS)
def test_a_key_of_each_maker_is_hidden_wherever_it_stands(maker: str) -> None:
    key = KEYS[maker]
    for place in PLACES:
        cleaned = Redactor().clean(place.format(key))
        assert Redactor.HIDDEN in cleaned
        assert LETTERS[:12] not in cleaned
        assert HEX[:12] not in cleaned
        assert key[-12:] not in cleaned
    assert Redactor.has_key(f"/connect openai {key}")


@each(
    "written",
    [
        "Authorization: Bearer {}",
        "authorization: basic {}",
        "{{'Authorization': 'Bearer {}'}}",
        '"x-api-key": "{}"',
        "api_key={}",
        "aws_secret_access_key = {}",
        "client_secret: '{}'",
        "&access_token={}&",
        "postgres://app:{}@db.test/x",
    ],
)
@each("value", [LETTERS[:40], LETTERS[:11] + "7x", HEX[:16], "dXNlcjpwYXNzd29yZA=="])
def test_what_stands_where_keys_do_is_hidden(written: str, value: str) -> None:
    cleaned = Redactor().clean(written.format(value))
    assert Redactor.HIDDEN in cleaned
    assert value.rstrip("=") not in cleaned


def pem(kind: str = "PRIVATE KEY", head: str = "", size: int = 1200) -> str:
    body = base64.b64encode((_BYTES * 20)[:size]).decode()
    lines = [body[begin : begin + 64] for begin in range(0, len(body), 64)]
    return "\n".join([f"-----BEGIN {kind}-----", *([head, ""] if head else []), *lines, f"-----END {kind}-----", ""])


PEMS = {
    "a key": pem(),
    "of RSA": pem("RSA PRIVATE KEY"),
    "of OpenSSH": pem("OPENSSH PRIVATE KEY"),
    "of PGP": pem("PGP PRIVATE KEY BLOCK"),
    "with a header": pem("EC PRIVATE KEY", "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,0123"),
    "without its end": pem().partition("-----END")[0],
    "a large one": pem(size=9000),
}


@each("kind", PEMS)
def test_a_private_key_is_hidden_as_it_is_and_in_json(kind: str) -> None:
    for text in (PEMS[kind], json.dumps({"private_key": PEMS[kind]}), json.dumps(json.dumps(PEMS[kind]))):
        cleaned = Redactor().clean(f"loaded {text} and on")
        assert LETTERS[:20] not in cleaned.replace("+", "a").replace("/", "b")
        assert len(cleaned) < 150
        assert cleaned.startswith("loaded ")
        assert cleaned.endswith(" and on")


@given(st.sampled_from([name for name in PEMS if name != "without its end"]), st.data())
def test_a_private_key_is_hidden_in_a_stream_however_it_was_cut(kind: str, data: st.DataObject) -> None:
    text = f"before\n{PEMS[kind]}after\n".encode()
    places = sorted(data.draw(st.sets(st.integers(0, len(text)), max_size=12)))
    stream = RedactedStream(Redactor())
    said = ""
    for begin, end in zip([0, *places], [*places, len(text)], strict=True):
        said += stream.feed(text[begin:end])
        assert "A" not in stream.rest.replace("RSA", "").replace("PRIVATE KEY BLOCK", "") or "BEGIN" in stream.rest
    assert said + stream.flush() == Redactor().clean(text.decode())


def test_lines_that_only_look_like_a_private_key_are_handed_on() -> None:
    stream = RedactedStream(Redactor())
    said = stream.feed(b"-----BEGIN PRIVATE KEY-----\nis how a key begins, it says.\n")
    assert said == "-----BEGIN PRIVATE KEY-----\nis how a key begins, it says.\n"
    said = stream.feed(b"-----BEGIN PRIVATE KEY-----\n" + b"ready\n" * 5000)
    assert said.endswith("ready\n")


# What comes nearest: the prefixes with words behind them, as names of packages, functions, files and settings have.
words = st.lists(st.from_regex(r"[a-z]{1,15}", fullmatch=True), min_size=1, max_size=6)
starts = st.sampled_from(
    [
        "",
        "sk",
        "pk",
        "rk",
        "xai",
        "hf",
        "r8",
        "gsk",
        "pplx",
        "glpat",
        "npm",
        "bearer",
        "basic",
        "api_key:",
        "ghp",
        "eyJ",
    ]
)


@given(st.lists(st.tuples(starts, st.sampled_from("-_. /"), words, st.sampled_from("-_. /")), max_size=6))
def test_words_are_no_keys_however_they_are_joined(parts: list[tuple[str, str, list[str], str]]) -> None:
    text = " ".join(start + sign + joint.join(some) for start, sign, some, joint in parts)
    assert Redactor().clean(text) == text


@each(
    "text",
    [
        "pip install sk-learn-contrib-plotting-extensions",
        "hf_hub_download(repo_id, filename) failed in hf_transfer_download_large_files",
        "the xai-org-grok-documentation-and-examples folder",
        "Bearer authentication is required; basic functionality, read/write access",
        "basic method=c14n tests, Basic FieldStorage multipart parsing",
        "api_key=self.api_key, authorization = self.headers.get('authorization')",
        "commit 3be021d1c0ffee3be021d1c0ffee3be021d1c0ff, sha256:" + HEX[:64],
        "id 123e4567-e89b-12d3-a456-426614174000 of task-0123456789abcdef0123",
        "-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE\n-----END PUBLIC KEY-----",
        "http://host:8080/a@b and mailto:a@b.test",
    ],
)
def test_ordinary_text_stays(text: str) -> None:
    assert Redactor().clean(text) == text


def test_what_fanout_says_of_itself_stays() -> None:
    pages = [*ROOT.glob("docs/**/*.md"), ROOT / "README.md", *ROOT.glob("console_app/**/*.py")]
    assert len(pages) > 100
    changed = {
        line: cleaned
        for page in pages
        for line in page.read_text(encoding="utf-8").splitlines()
        if (cleaned := Redactor().clean(line)) != line
    }
    assert changed == {}
