"""What looks like a secret goes; all else stays, and JSON stays JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from counting import ends, lines_of
from hypothesis import example, given
from hypothesis import strategies as st

from zoolab.secrets import HIDDEN, scrub, scrub_json

# Put together here, so that no scanner takes this file for a leak.
SECRETS = {
    "openai": "sk-" + "proj-abcdefghijk1234",
    "openai, letters only": "sk-" + "abcdefghijklmnopqrstuvwxyzAB",
    "openai, masked": "sk-" + "proj-********9xW",
    "anthropic": "sk-" + "ant-api03-Zx8_abc-DEF",
    "stripe": "rk_" + "live_51H8abcdefGHIJ",
    "github": "ghp_" + "a1B2c3D4e5F6g7H8i9J0",
    "github, fine": "github_pat_" + "11ABCDEFG0abcdefghij_xyz",
    "gitlab": "glpat-" + "abcdEFGH1234ijkl5678",
    "slack": "xoxb-" + "123456789012-abcdef",
    "aws": "AKIA" + "IOSFODNN7EXAMPLE",
    "aws, temporary": "ASIA" + "IOSFODNN7EXAMPLE",
    "google": "AIza" + "SyA-1234567890abcdefghijklmnopqrstu",
    "google, oauth": "ya29." + "a0AfH6SMBx1234567890abcd",
    "hugging face": "hf_" + "abcdefghijklmnopqrstuv",
    "npm": "npm_" + "abcdefghijklmnopqrstuvwxyz0123456789",
    "json web token": "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0NTY3ODkwIn0." + "dozjgNryP4J3jVmNHl0w5N",
    "groq": "gsk_" + "a1B2c3D4e5F6g7H8i9J0a1B2",
    "xai": "xai-" + "a1B2c3D4e5F6g7H8i9J0a1B2",
    "nvidia": "nvapi-" + "a1B2c3D4e5F6-7H8i9J0_a1B2",
    "replicate": "r8_" + "a1B2c3D4e5F6g7H8i9J0a1B2",
    "perplexity": "pplx-" + "a1B2c3D4e5F6g7H8i9J0a1B2",
    "pypi": "pypi-" + "AgEIcHlwaS5vcmcCJGE1B2c3D4e5",
    "databricks": "dapi" + "0123456789abcdef0123456789abcdef",
    "sendgrid": "SG." + "a1B2c3D4e5F6g7H8i9J0aa" + "." + "a1B2c3D4e5F6g7H8i9J0a1B2c3D4e5F6",
    "azure client": "abc8Q~" + "a1B2c3D4e5F6g7H8i9J0a1B2c3D4e5F6g",
    "cerebras": "csk-" + "a1B2c3D4e5F6g7H8i9J0a1B2",
    "together": "tgp_v1_" + "a1B2c3D4e5F6g7H8i9J0a1B2",
    "tavily": "tvly-" + "dev-a1B2c3D4e5F6g7H8i9J0",
    "pinecone": "pcsk_" + "a1B2c3D4e5F6_g7H8i9J0a1B2",
    "langsmith": "lsv2_pt_" + "a1b2c3d4e5f6a7b8c9d0_a1b2c3",
    "vault": "hvs." + "a1B2c3D4e5F6g7H8i9J0a1B2",
    "grafana": "glsa_" + "a1B2c3D4e5F6g7H8i9J0a1B2",
    "docker": "dckr_pat_" + "a1B2c3D4e5F6g7H8i9J0a1B",
    "gitlab runner": "GR1348941" + "a1B2c3D4e5F6g7H8i9J0",
    "gitlab job": "glcbt-" + "1f_a1B2c3D4e5F6g7H8i9J0",
    "aws, bearer": "ABIA" + "IOSFODNN7EXAMPLE",
    "artifactory": "AKCp" + "5a1B2c3D4e5F6g7H8i9J0",
    "artifactory, encrypted": "AP6" + "a1B2c3D4e5F6g7H8i9J0a1B2c3D4e5F6",
    "discord": "MTk4NjIyNDgzNDcxOTI1" + "MjQ4.Cl2FMQ." + "ZnCjm1XVW7vRze4b7Cq4se7kKWs",
    "telegram": "110201543:" + "AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw8"[:35],
    "twilio": "SK" + "0123456789abcdef0123456789abcdef",
    "mailchimp": "0123456789abcdef0123456789abcdef" + "-us12",
    "square": "sq0csp-" + "a1B2c3D4e5F6g7H8i9J0a1B2c3D4e5F6g7H8i9J0a1B",
}
LABELS = ["api_key", "apiKey", "OPENAI_API_KEY", "x-api-key", "access_token", "refreshToken", "client_secret"]
LABELS += ["password", "db_password", "passwd", "aws_secret_access_key", "private_key"]
LABELS += ["AccountKey", "SharedAccessKey", "Ocp-Apim-Subscription-Key", "X-Amz-Signature"]
PLAIN = "Tr0ub4dor-x"

TEMPLATES = [
    "{}",
    "the key {} is wrong",
    "({})",
    "https://example.com/v1?q=1&k={}&r=2",
    'curl -H "Authorization: Bearer {}"',
    "line one\n{}\nline three",
    "key:{}",
]
LABELLED = [
    "{label}={secret}",
    "{label}: {secret}",
    'export {label}="{secret}"',
    "https://example.com/?{label}={secret}&page=2",
    "{{'{label}': '{secret}'}}",
    '{{"{label}": "{secret}"}}',
    '"{{\\"{label}\\":\\"{secret}\\"}}"',
]
HEADERS = [
    "Authorization: Bearer {}",
    "authorization: Basic {}",
    "'authorization': 'Bearer {}'",
    "bearer {}",
    "Cookie2=1, https://ada:{}@example.com/x",
    "postgres://:{}@db01/main",
    "https://example.com/?token={}{}",
    "-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----",
]


@pytest.mark.parametrize("template", TEMPLATES)
@pytest.mark.parametrize("kind", SECRETS)
def test_a_token_is_known_by_its_form(kind: str, template: str) -> None:
    before, _, after = template.partition("{}")
    assert scrub(template.format(SECRETS[kind])) == f"{before}{HIDDEN}{after}"


@pytest.mark.parametrize("template", LABELLED)
@pytest.mark.parametrize("label", LABELS)
def test_a_secret_is_known_by_its_label(label: str, template: str) -> None:
    kept = template.format(label=label, secret=HIDDEN)
    assert scrub(template.format(label=label, secret=PLAIN)) == kept


@pytest.mark.parametrize("template", HEADERS)
def test_a_secret_is_known_by_where_it_stands(template: str) -> None:
    clean = scrub(template.replace("{}", PLAIN))
    assert PLAIN not in clean
    assert HIDDEN in clean


@pytest.mark.parametrize("length", [20, 500, 5000])
def test_no_end_of_a_long_secret_is_left(length: int) -> None:
    for text in (f"password={'x1' * length}", f"Bearer {'x1' * length}", f"sk-{'x1' * length}"):
        assert "x1" not in scrub(text)


#: Flags, elements, pairs, assignments of six languages and calls, none with a known form of a token.
STRUCTURES = [
    "curl --token {} https://example.com",
    "tool --api-key {} --verbose",
    "tool --client-secret='{}'",
    "curl -u ada:{} https://example.com",
    'curl --user "ada:{}" https://example.com',
    "<password>{}</password>",
    "<ns:apiKey>{}</ns:apiKey>",
    '<add key="ApiKey" value="{}"/>',
    '{"name": "api_key", "value": "{}"}',
    "- name: API_TOKEN\n  value: {}",
    '{"name": "Authorization", "value": "{}"}',
    "export SERVICE_TOKEN={}",
    "setenv API_KEY {}",
    "ENV API_KEY {}",
    'token = "{}"',
    "const token = '{}';",
    "let secret = `{}`",
    'secret := "{}"',
    'String apiToken = "{}";',
    'os.environ["API_KEY"] = "{}"',
    "'password' => '{}'",
    'request.Header.Set("Authorization", "{}")',
    "machine example.com login ada password {}",
]

#: What stands in a header, a file or a line of a log, and the part of it that must go.
FORMS = {
    "cookie": ("Cookie: session=abc123; theme=dark", "abc123"),
    "set-cookie": ("Set-Cookie: sid=s3cr3tvalue; Path=/; HttpOnly", "s3cr3tvalue"),
    "raw authorization": ("Authorization: a1b2c3d4e5f6g7h8", "a1b2c3d4e5f6g7h8"),
    "digest": ('Authorization: Digest username="ada", nonce="n0n", response="6629fae4"', "6629fae4"),
    "aws": ("Authorization: AWS4-HMAC-SHA256 Credential=x/y, Signature=fe5f80f7", "fe5f80f7"),
    "azure storage": ("DefaultEndpointsProtocol=https;AccountKey=Eby8vdM02xNO+/q==;X=1", "Eby8vdM02xNO"),
    "azure header": ("Ocp-Apim-Subscription-Key: 0123456789abcdef", "0123456789abcdef"),
    "presigned": ("https://s3/x?X-Amz-Credential=AAA%2Fus&X-Amz-Signature=fe5f80f7", "fe5f80f7"),
    "pgp": (
        "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\nlQOYBF\n-----END PGP PRIVATE KEY BLOCK-----",
        "lQOYBF",
    ),
    "json token": ('{"token": "a1b2c3d4e5f6g7"}', "a1b2c3d4e5f6g7"),
    "json secret": ('{"secret": "a1b2c3d4e5f6g7"}', "a1b2c3d4e5f6g7"),
    "words": ("password: correct horse battery staple", "staple"),
    "quoted words": ('password = "correct horse, battery staple"', "staple"),
    "basic": ("authorization: Basic YWRhOmxvdmU=", "YWRhOmxvdmU"),
    "proxy": ("Proxy-Authorization: Bearer a1b2c3d4e5", "a1b2c3d4e5"),
    "url": ("postgres://ada:l0velace@db01/main", "l0velace"),
    "query": ("https://example.com/?q=1&sig=a1b2c3d4e5f6g7h8i9", "a1b2c3d4e5f6"),
    "connection": ("Server=db01;Uid=ada;Pwd=correct horse;", "correct"),
    "npmrc": ("//registry.npmjs.org/:_authToken=0a1b2c3d-0000-1111", "0a1b2c3d"),
    "slack hook": ("https://hooks.slack.com/services/T0001/B0002/a1B2c3D4e5F6g7H8", "a1B2c3D4"),
    "softlayer": (f"https://api.softlayer.com/soap/v3/{'a1' * 32}", "a1a1"),
    "cloudant": (f"cloudant_password = '{'a1' * 32}'", "a1a1"),
    "ibm iam": (f"ibm_api_key={'a1' * 22}", "a1a1"),
    "ibm cos": (f"cos_hmac_secret_access_key: {'a1' * 24}", "a1a1"),
    "service key": ("service_key: a1b2c3d4e5f6g7", "a1b2c3d4"),
    "database": ("db_pass=l0velace", "l0velace"),
    "rsa": ("-----BEGIN RSA PRIVATE KEY-----\nMIIEow\n-----END RSA PRIVATE KEY-----", "MIIEow"),
    "google service": ('{"private_key": "-----BEGIN PRIVATE KEY-----\\nMIIEow\\n"}', "MIIEow"),
    "spanish": ("contraseña: l0velace", "l0velace"),
    **{name: (f"the key {key} is wrong", key) for name, key in SECRETS.items()},
}


@pytest.mark.parametrize("template", STRUCTURES)
def test_a_secret_is_known_by_what_surrounds_it(template: str) -> None:
    secret = "Zq7fK2mWx9"
    clean = scrub(template.replace("{}", secret))
    assert clean == template.replace("{}", HIDDEN)
    assert secret not in json.dumps(scrub_json({"content": template.replace("{}", secret)}))


def test_a_pair_of_name_and_value_is_hidden_by_its_name() -> None:
    pairs = [
        {"name": "api_key", "value": "x1"},
        {"key": "password", "value": "words"},
        {"name": "Authorization", "value": "Basic YTpi"},
        {"name": "sid", "value": "abc", "path": "/", "httpOnly": True},
    ]
    assert {pair["value"] for pair in scrub_json(pairs)} == {HIDDEN}
    plain = [{"name": "city", "value": "Oslo"}, {"value": 5}, {"name": 7, "value": "x"}]
    assert scrub_json(plain) == plain


HOME = Path(__file__).parents[1]
OF_THE_COURSE = [
    HOME / "README.md",
    *sorted(HOME.glob("notebooks/*.py")),
    *sorted(HOME.glob("labs/*/master.py")),
    *sorted(HOME.glob("labs/**/*.md")),
]


@pytest.mark.parametrize("path", OF_THE_COURSE, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_no_word_of_the_course_is_taken_out(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert scrub(text) == text


@pytest.mark.parametrize("place", ["alone", "in a log", "in JSON", "in JSON in JSON"])
@pytest.mark.parametrize("form", FORMS)
def test_a_form_of_a_secret_is_known_in_each_place(form: str, place: str) -> None:
    text, secret = FORMS[form]
    clean = {
        "alone": lambda: scrub(text),
        "in a log": lambda: scrub(f"12:30 INFO sent\n{text}\n12:31 INFO done"),
        "in JSON": lambda: json.dumps(scrub_json({"content": text})),
        "in JSON in JSON": lambda: json.dumps(scrub_json({"content": json.dumps({"content": text})})),
    }[place]()
    assert secret not in clean
    assert place != "in a log" or clean.endswith("\n12:31 INFO done")


@pytest.mark.parametrize("kind", SECRETS)
def test_json_stays_json_however_deep_the_secret_is(kind: str) -> None:
    value: Any = {"a": f"x\n{SECRETS[kind]}", "n": 1, "t": True}
    for _ in range(3):
        value = {"content": json.dumps(value), "list": [value, None]}
    clean = scrub_json(value)
    assert SECRETS[kind] not in json.dumps(clean)
    for _ in range(3):
        assert clean["list"][0] == json.loads(clean["content"])
        clean = json.loads(clean["content"])
    assert clean == {"a": f"x\n{HIDDEN}", "n": 1, "t": True}


@pytest.mark.parametrize("label", [*LABELS, "Authorization", "cookie"])
@pytest.mark.parametrize("secret", ["x", "two words, and more", 'quo"te\\d', 12345678, 1.5])
def test_a_member_with_such_a_name_is_hidden_whatever_it_is(label: str, secret: Any) -> None:
    assert scrub_json({label: secret}) == {label: HIDDEN}
    arguments = json.dumps({"deep": [{label: secret}]})
    assert json.loads(scrub_json({"arguments": arguments})["arguments"]) == {"deep": [{label: HIDDEN}]}


@pytest.mark.parametrize(
    "value",
    [
        {"password": True, "api_key": None, "max_tokens": 100, "tokens": "abc", "token": "the word"},
        {"password": {"type": "string", "description": "Your word."}, "required": ["password"]},
        '{"password": false, "a":  1}',
        "{api_key",
        {"logprobs": [{"token": " Hello", "bytes": [32]}]},
        {"service_key": "billing", "db-key": "orders", "pwd": "/home/ada", "secretary": "Grace"},
        [],
        1.0,
    ],
)
def test_json_without_secrets_stays_as_it_is(value: Any) -> None:
    assert scrub_json(value) == value


@pytest.mark.parametrize(
    "text",
    [
        "What is 42 + 58?",
        "risk-management and task-1234567890, disk-00000001, desk-ABCDEFGH12",
        "pip install sk-learn sk-learn-contrib; ask-me-anything-2026",
        "Tell a bearer of bad news about basic arithmetic and the bearer certificate.",
        "The password is too short. Passwords must be long; reset your password.",
        "Which API key do I need? An api_key, or none. access tokens, 128 tokens",
        "https://example.com:8080/a@b?key=value&token=abc#x and http://[::1]:80/",
        "mailto:ada@example.com, 12:30:45, a://b, C:\\new\\task-12345678",
        "token_count = tokenizer.encode(text)  # eyJust a comment. eyJ.a.b",
        "def f(key: str = 'abcdefgh', *, sort_keys=True) -> None: ...",
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "3f1c2d4e-aaaa-bbbb-cccc-1234567890ab call_5wOJVGiqfJcWJcMhGFnTUDoc chatcmpl-AQWf5Xi4AGR1n",
        '{"name": "add", "arguments": {"a": 42, "b": 58}}',
        "PWD=/home/ada OLDPWD=/ and pwd: /srv; service_key: billing, db_key=orders",
        "ACCEPTED SKIPPED APARTMENTS APACHE24Server 20261123:120000 NOTES.TXT.md 12345678:90",
        "tool --token NAME --api-key $KEY -u ada:name --password <PASSWORD> docker run -u 1000:1000",
        '{"required": ["password", "address1"], "name": "token", "value": "a word"}',
        '<token>word one</token2> token = tokens[1]; if token == "}1a": next_token(text1)',
        "sk- sk-short pk-1 ghp_short hf_x AKIA AIza xoxb- 日本語 \U0001f600",
    ],
)
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    assert scrub(text) == text


PARTS = [
    *SECRETS.values(),
    *LABELS,
    PLAIN,
    HIDDEN,
    *"=:\"'\\ \n,;&{}<>[]@",
    "bearer ",
    "authorization",
    "basic ",
]
PARTS += ["://ada:", "?key=", "-----BEGIN PRIVATE KEY-----", "-----", "\\n", "x" * 9, "eyJ", "sk-"]
PIECES = st.sampled_from(PARTS)


@given(st.lists(PIECES | st.text(max_size=3), max_size=12).map("".join))
@example("api_key=password=[secret removed]x")
def test_scrubbing_twice_is_scrubbing_once(text: str) -> None:
    assert scrub(scrub(text)) == scrub(text)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.lists(PIECES, max_size=6).map("".join),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from([*LABELS, "a", "content"]), inner, max_size=3)
        | inner.map(json.dumps)
    ),
    max_leaves=8,
)


@given(JSON)
def test_scrubbing_json_twice_is_scrubbing_it_once(value: Any) -> None:
    clean = scrub_json(value)
    assert scrub_json(clean) == clean
    assert json.loads(json.dumps(clean)) == clean


HOSTILE = ["sk-", "sk-a", "eyJaaaaaaaaaa-", "eyJaaaaaaaa.", "://a:", "://" + "a" * 99 + ":", "password=", "a"]
HOSTILE += ["password\\", "bearer ", "bearer a", "authorization: bearer ", "-----BEGIN PRIVATE KEY-----"]
HOSTILE += ["--", "-a-", "<a", "<token>", "-u a:", "name: ", '("a', 'token="', "/bot1", "login a ", "env a"]
HOSTILE += ["ghp_", "xoxb-", "?key=", "\\n", "AIza", "api_key '", "token=", "access_", "{", '{"', "\\\\", " "]


@pytest.mark.parametrize("unit", HOSTILE)
def test_work_is_linear_on_hostile_text(unit: str) -> None:
    text = unit * (1_000_000 // len(unit))
    scrub(unit)  # the forms are compiled once
    with ends():
        assert lines_of(lambda: scrub_json({"content": text})) < 1_000 + len(text)


# A long text is searched for places first; what goes must be the same as in a short one.

FILLER = "the quick brown fox, some_configuration_name = data.frame(columns); " * 20


@pytest.mark.parametrize("secret", SECRETS.values(), ids=SECRETS.keys())
def test_a_token_in_a_long_text_goes(secret):
    for before in (" ", "\n", "\\n", "x=", "_", "é", ".", "a" * 65_530 + " "):
        for after in ("", " ", '"'):
            short = scrub(before[-2:] + secret + after)
            assert scrub(FILLER + before + secret + after) == FILLER + before[:-2] + short


NAMED = st.sampled_from(
    [
        *("api_key", "API-KEY", "subscription-key", "secret-access-key", "shared_access_key", "private_key"),
        *("refresh-token", "session_token", "client_secret", "passphrase", "database_pass", "contraseña"),
        *("contrase\\u00f1a", "x-amz-signature", "_authToken", "npm_token", "database-key", "secret"),
        *("authorization", "Cookie", "Bearer", "?sig=", "&signature=", "; pwd=", "my-pwd", "token_count"),
        *("https://ada:", "hooks.slack.com/services/", "-----BEGIN PRIVATE KEY-----", "ſecret", "paſſword"),
    ]
)
JOINTS = st.sampled_from(
    [": ", "=", '": "', '\\": \\"', " = '", " ", "", "\u00a0:\u00a0", "bearer ", ": Basic "]
)
GIVEN = st.sampled_from(["hunter2hunter2", "a1B2c3D4e5F6g7H8i9J0", "0123456789", "x=y; z=1", "pass@host", ""])


@given(st.lists(st.tuples(NAMED, JOINTS, GIVEN, st.sampled_from(["\n", '"', ", ", "x" * 40])), max_size=12))
def test_what_goes_does_not_depend_on_the_length_of_the_text(parts):
    text = "".join(piece for part in parts for piece in part)
    line = "\n" + "-" * 600 + "\n"
    assert scrub(line + text) == line + scrub("\n" + text)[1:] if len(text) < 490 else True


@given(st.integers(-30, 30), st.sampled_from(["password=hunter2hunter", "AKIA" + "IOSFODNN7EXAMPLE"]))
def test_a_secret_across_two_pieces_goes(shift, secret):
    text = "- " * (65_536 // 2 + shift // 2) + secret + " -" * 400
    assert secret not in scrub(text)


def test_the_data_of_a_picture_stay_and_what_is_beside_them_goes():
    picture = "data:image/png;base64," + "A1b2C3d4/E5f6" * 5_000 + "=="
    key = SECRETS["aws"]
    assert scrub(f"{picture} {key} {picture}") == f"{picture} {HIDDEN} {picture}"


def test_pictures_side_by_side_stay_as_they_are():
    text = " ".join(f"data:image/png;base64,{letter * 40}" for letter in "ABC") + " the end"
    assert scrub(text) == text
