"""Forms in which secrets stand in texts: by kind, in our own words, with values that nobody uses.

The kinds are those that the rules of gitleaks, detect-secrets and trufflehog look for, and what commands,
files of settings and programs write. `{}` stands for the secret.
"""

from __future__ import annotations

WORD = "Zq7fK2mWx9"
MIXED = "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8s9T0u1V2w3X4y5Z6a7B8c9D0e1F2g3H4i5J6"
HEX = "0a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8f9"
CAPITALS = MIXED.upper()

_FLAGS = """
curl --token {} https://example.com
tool --token={} run
tool --api-key {} --verbose
tool --access-token "{}"
tool --client-secret='{}'
gh auth login --with-token {}
tool --password {} login
tool --auth-token {}
twine upload --username ada --password={} dist/*
tool --pat {}
curl -u ada:{} https://example.com
curl -uada:{} https://example.com
curl --user ada:{} https://example.com
curl --user=ada:{} https://example.com
curl --proxy-user ada:{} https://example.com
curl --oauth2-bearer {} https://example.com
sshpass -p {} ssh ada@example.com
docker login -u ada -p {} registry.example.com
mysql -u root -p{} shop
redis-cli -h db01 -a {} ping
helm install shop --set db.password={}
aws configure set aws_secret_access_key {}
az login --service-principal -u app -p {} --tenant t1
"""
_ELEMENTS = """
<password>{}</password>
<ns:apiKey>{}</ns:apiKey>
<token type="bearer">{}</token>
<client_secret><![CDATA[{}]]></client_secret>
<add key="ApiKey" value="{}"/>
<property name="db.password" value="{}"/>
<entry key="password">{}</entry>
<string name="api_key">{}</string>
<input type="password" name="pw" value="{}">
<meta name="csrf-token" content="{}">
<key>apiToken</key><string>{}</string>
<server id="x" password="{}"/>
"""
_PAIRS = """
{"name": "api_key", "value": "{}"}
{"key": "API_TOKEN", "value": "{}"}
{"value": "{}", "name": "client_secret"}
{"Name": "Password", "Value": "{}"}
{"ParameterKey": "DbPassword", "ParameterValue": "{}"}
{"name": "Authorization", "value": "{}"}
{"header": "X-Api-Key", "value": "{}"}
- name: API_TOKEN\\n  value: {}
- key: password\\n  value: "{}"
("api_key", "{}")
["x-api-key", "{}"]
name=api_token&value={}
"""
_COOKIES = """
Cookie: session={}; theme=dark
Set-Cookie: sid={}; Path=/; HttpOnly
curl -b "session={}" https://example.com
curl --cookie 'sid={}' https://example.com
document.cookie = "session={}"
{"name": "Cookie", "value": "sid={}"}
{"name": "set-cookie", "value": "sid={}; HttpOnly; Secure"}
{"name": "sessionid", "value": "{}", "path": "/", "httpOnly": true}
{"name": "access_token", "value": "{}"}
.example.com\\tTRUE\\t/\\tTRUE\\t0\\tsessionid\\t{}
cookies = {"session": "{}"}
PHPSESSID={}
"""
_ADDRESSES = """
postgres://ada:{}@db01/main
mongodb+srv://ada:{}@cluster.example.com/shop
redis://:{}@cache:6379/0
amqp://ada:{}@queue:5672
https://oauth2:{}@gitlab.example.com/a.git
https://{}@github.com/ada/shop.git
https://example.com/cb?access_token={}&state=1
https://example.com/cb#access_token={}
https://example.com/?api-key={}
https://example.com/?client_secret={}&grant=x
https://example.com/?password={}
https://example.com/reset?reset_token={}
jdbc:mysql://db01/shop?user=ada&password={}
Server=db01;Uid=ada;Pwd={};
DefaultEndpointsProtocol=https;AccountName=a;AccountKey={};
Endpoint=sb://x.example.com/;SharedAccessKeyName=all;SharedAccessKey={}
"""
_ASSIGNMENTS = """
token = "{}"
API_KEY: str = "{}"
os.environ["SERVICE_TOKEN"] = "{}"
os.environ.setdefault("SERVICE_TOKEN", "{}")
client = Client(token="{}")
auth=("ada", "{}")
settings = {"secret": "{}"}
const token = '{}';
let secret = `{}`
private readonly token: string = "{}";
process.env.AUTH_SECRET = '{}'
headers: { 'X-Auth-Token': '{}' }
xhr.setRequestHeader("Authorization", "{}");
secret := "{}"
const apiToken string = "{}"
req.Header.Set("X-Api-Key", "{}")
os.Setenv("API_TOKEN", "{}")
String apiToken = "{}";
private static final String DB_PASSWORD = "{}";
System.setProperty("db.password", "{}");
var secret = "{}";
#define API_TOKEN "{}"
char *token = "{}";
:token => '{}'
token: '{}',
$password = '{}';
define('DB_PASSWORD', '{}');
'secret' => '{}',
let token: &str = "{}";
val token = "{}"
let apiSecret: String = "{}"
export SERVICE_TOKEN={}
setenv API_KEY {}
set -x API_TOKEN {}
set API_TOKEN={}
$env:API_TOKEN = "{}"
ConvertTo-SecureString "{}" -AsPlainText
ENV API_KEY {}
ARG GITHUB_TOKEN={}
Sys.setenv(API_TOKEN = "{}")
local token = "{}"
my $secret = '{}';
CREATE USER ada WITH PASSWORD '{}';
CREATE USER 'ada'@'%' IDENTIFIED BY '{}';
machine example.com login ada password {}
//registry.example.com/:_authToken={}
//registry.example.com/:_password={}
db01:5432:shop:ada:{}
signing.password={}
encryption_key = "{}"
passcode: {}
credentials: "{}"
client-key-data: {}
access key: {}
"""

#: How a token begins, what it is made of, and how long that is.
_PREFIXES = {
    "sk-proj-": (MIXED, 40),
    "sk-or-v1-": (HEX, 64),
    "sk-lf-": (HEX, 32),
    "sk_live_": (MIXED, 24),
    "rk_test_": (MIXED, 24),
    "whsec_": (MIXED, 32),
    "ghs_": (MIXED, 36),
    "github_pat_": (MIXED, 60),
    "glpat-": (MIXED, 20),
    "gldt-": (MIXED, 20),
    "glffct-": (MIXED, 20),
    "xoxb-": (MIXED, 30),
    "xapp-1-": (CAPITALS, 40),
    "AKIA": (CAPITALS, 16),
    "ASIA": (CAPITALS, 16),
    "AIza": (MIXED, 35),
    "GOCSPX-": (MIXED, 28),
    "ya29.": (MIXED, 60),
    "hf_": (MIXED, 34),
    "api_org_": (MIXED, 34),
    "npm_": (MIXED, 36),
    "pypi-AgEIcHlwaS5vcmc": (MIXED, 60),
    "rubygems_": (HEX, 48),
    "dckr_pat_": (MIXED, 27),
    "dckr_oat_": (MIXED, 32),
    "dop_v1_": (HEX, 64),
    "doo_v1_": (HEX, 64),
    "dp.pt.": (MIXED, 43),
    "dt0c01.": (CAPITALS, 24),
    "hvs.": (MIXED, 60),
    "hvb.": (MIXED, 60),
    "lin_api_": (MIXED, 40),
    "ATATT3x": (MIXED, 60),
    "AGE-SECRET-KEY-1": (CAPITALS, 58),
    "LTAI": (MIXED, 20),
    "NRAK-": (CAPITALS, 27),
    "PMAK-": (HEX, 24),
    "pul-": (HEX, 40),
    "pscale_tkn_": (MIXED, 43),
    "rdme_": (HEX, 64),
    "sntrys_": (MIXED, 60),
    "sntryu_": (HEX, 64),
    "sqp_": (HEX, 40),
    "squ_": (HEX, 40),
    "shpat_": (HEX, 32),
    "shpss_": (HEX, 32),
    "shippo_live_": (HEX, 40),
    "figd_": (MIXED, 40),
    "glsa_": (MIXED, 32),
    "glc_": (MIXED, 40),
    "tskey-auth-": (MIXED, 32),
    "xkeysib-": (HEX, 64),
    "nfp_": (MIXED, 36),
    "ntn_": (MIXED, 40),
    "EAA": (MIXED, 60),
    "EZAK": (MIXED, 54),
    "key-": (HEX, 32),
    "pat-na1-": (HEX, 32),
    "fo1_": (MIXED, 43),
    "fw_": (MIXED, 24),
    "jina_": (MIXED, 60),
    "gsk_": (MIXED, 52),
    "xai-": (MIXED, 60),
    "r8_": (MIXED, 37),
    "pplx-": (MIXED, 48),
    "tvly-": (MIXED, 32),
    "pcsk_": (MIXED, 60),
    "lsv2_pt_": (HEX, 40),
    "nvapi-": (MIXED, 60),
    "e2b_": (HEX, 40),
    "sgp_": (HEX, 40),
    "sl.": (MIXED, 60),
    "CFPAT-": (MIXED, 43),
    "bkua_": (HEX, 40),
    "ops_eyJ": (MIXED, 60),
    "sha256~": (MIXED, 43),
    "FLWSECK_TEST-": (HEX, 32),
    "duffel_test_": (MIXED, 43),
}
_PATHS = {
    "bot token in a path": "https://api.telegram.org/{}/sendMessage",
    "bot token in a path, encoded": "https://api.telegram.org/{}/getMe",
    "hook of Slack": "https://hooks.slack.com/services/{}",
    "flow of Slack": "https://hooks.slack.com/triggers/{}",
    "hook of Discord": "https://discord.com/api/webhooks/{}",
    "hook of Teams": "https://x.webhook.office.com/webhookb2/{}",
    "hook of Zapier": "https://hooks.zapier.com/hooks/catch/{}",
}
_IN_PATHS = [
    "bot110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw8",
    "bot110201543%3AAAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw8",
    "T0001/B0002/a1B2c3D4e5F6g7H8i9J0",
    "T0001/123456789/a1B2c3D4e5F6g7H8i9J0a1B2c3D4",
    "123456789012345678/" + MIXED[:68],
    f"{HEX[:8]}-aaaa-bbbb-cccc-{HEX[:12]}@{HEX[:8]}-aaaa-bbbb-cccc-{HEX[:12]}/IncomingWebhook/{HEX[:32]}/x",
    "1234567/abc12de",
]
_LONGER = {
    "private key": ("-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----", MIXED[:60]),
    "key of OpenSSH": ("-----BEGIN OPENSSH PRIVATE KEY-----\n{}\n-----END", MIXED[:60]),
    "key of PuTTY": ("PuTTY-User-Key-File-2: ssh-rsa\nPrivate-Lines: 1\n{}\nPrivate-MAC: x", MIXED[:60]),
    "web token": ("the token {} is old", f"eyJ{MIXED[:20]}.eyJ{MIXED[:20]}.{MIXED[:30]}"),
    "bearer": ("Authorization: Bearer {}", MIXED[:30]),
    "basic": ("authorization: Basic {}", "YWRhOmxvdmVsYWNlNDI="),
    "token of GitHub": ("Authorization: token {}", HEX[:40]),
    "digest": ('Authorization: Digest username="ada", response="{}"', HEX[:32]),
    "signed address": ("https://s3.example.com/x?X-Amz-Signature={}", HEX[:64]),
    "signed address of Azure": ("https://a.example.com/x?sv=1&sig={}", MIXED[:44]),
    "signed address of Google": ("https://a.example.com/x?X-Goog-Signature={}", HEX[:64]),
    "header of GitLab": ("PRIVATE-TOKEN: {}", WORD),
    "header of a key": ("X-API-Key: {}", WORD),
    "hash of a password": ("ada:{}:0:0", "$6$" + MIXED[:16] + "$" + MIXED[:43]),
}


def _named(kind: str, templates: str, secret: str = WORD) -> dict[str, tuple[str, str]]:
    lines = [line.replace("\\n", "\n").replace("\\t", "\t") for line in templates.strip().splitlines()]
    return {f"{kind}: {line}": (line, secret) for line in lines}


#: By name, a text and the secret that stands in it for `{}`.
KNOWN: dict[str, tuple[str, str]] = {
    **_named("flag", _FLAGS),
    **_named("element", _ELEMENTS),
    **_named("pair", _PAIRS),
    **_named("cookie", _COOKIES, MIXED[:24]),
    **_named("address", _ADDRESSES, MIXED[:20]),
    **_named("assignment", _ASSIGNMENTS),
    **{f"prefix: {each}": ("see {} there", each + made[:long]) for each, (made, long) in _PREFIXES.items()},
    **{name: (text, secret) for (name, text), secret in zip(_PATHS.items(), _IN_PATHS, strict=True)},
    **_LONGER,
}
