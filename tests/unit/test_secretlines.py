"""Configuration files as people have them, and what is left of them for an agent to read."""

from __future__ import annotations

import pytest

from drumline.core.secretlines import leave_out_secrets

NPMRC = """\
registry=https://npm.corp.example/
//npm.corp.example/:_authToken=npm-secret-1
//npm.corp.example/:always-auth=true
_auth = c2VjcmV0LTI=
//other.example/:_password="c2VjcmV0LTM="
init-author-name=Ada
save-exact=true
"""
PIP = """\
[global]
index-url = https://ada:secret-1@pypi.corp.example/simple
extra-index-url =
    https://secret-2@pypi.corp.example/more
    https://pypi.org/simple
trusted-host = pypi.corp.example
"""
MAVEN = """\
<?xml version="1.0"?>
<settings>
  <mirrors><mirror><id>corp</id><url>https://ada:secret-1@maven.corp.example</url></mirror></mirrors>
  <servers>
    <server><id>corp</id><username>ada</username><password>secret-2</password></server>
    <server><id>key</id><passphrase><![CDATA[secret-3]]></passphrase></server>
    <server><id>lab</id><configuration><httpHeaders><property>
      <name>Private-Token</name>
      <value>secret-4</value>
    </property></httpHeaders></configuration></server>
  </servers>
</settings>
"""
NUGET = """\
<configuration>
  <packageSources><add key="corp" value="https://nuget.corp.example/v3" /></packageSources>
  <packageSourceCredentials><corp><add key="ClearTextPassword" value="secret-1" /></corp></packageSourceCredentials>
  <apikeys><add key="https://x" value="secret-2" /></apikeys>
</configuration>
"""
YARN = """\
npmRegistryServer: "https://npm.corp.example"
npmAlwaysAuth: true
npmAuthToken: secret-1
npmScopes:
  corp:
    npmAuthIdent: "ada:secret-2"
"""
GRADLE = "org.gradle.jvmargs=-Xmx2g\nmavenUser=ada\nmavenPassword=secret-1\nsystemProp.https.proxyPassword=secret-2\n"
GIT = """\
[user]
    name = Ada
    signingkey = ABCDEF
[url "https://ada:secret-1@git.example/"]
    insteadOf = https://git.example/
[url "ssh://git@git.example/"]
    insteadOf = git:
[http "https://git.example/"]
    extraHeader = AUTHORIZATION: basic secret-2
[credential]
    helper = store
[github]
    token = secret-3
"""
YARN_1 = '"//npm.corp.example/:_authToken" "secret-1"\n"always-auth" true\nregistry "https://npm.corp.example"\n'
PROPERTIES = "signing.password secret-1\nsigning.keyId 12AB\n# the password is in the vault\n"
MAIL = "[sendemail]\n\tsmtpUser = ada\n\tsmtpPass = secret-1\n[core]\n\taskPass = /usr/bin/ask\n"
TERRAFORM = 'credentials "app.terraform.io" {\n  token = "secret-1"\n}\nplugin_cache_dir = "x"\n'
CURL_2 = 'oauth2-bearer secret-1\n--pass "secret-2"\ncookie = "sid=secret-3"\nretry 3\n'
CURL = 'user = "ada:secret-1"\nproxy = http://ada:secret-2@proxy.example:3128\ncompressed\n'
CONDA = "channels:\n  - https://conda.example/t/secret-1/corp\n  - conda-forge\n"
BUN = '[install.scopes]\ncorp = { url = "https://npm.corp.example", token = "secret-1" }\n[install]\nexact = true\n'
KEYS = (
    'email=ada@example\nkey="-----BEGIN PRIVATE KEY-----\\nsecret-1\\n-----END PRIVATE KEY-----"\n'
    "note=ghp_0123456789012345678901234567890123456789\n"
)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (NPMRC, ["registry=https://npm.corp.example/", ":always-auth=true", "init-author-name=Ada", "save-exact=true"]),
        (PIP, ["index-url = https://pypi.corp.example/simple", "    https://pypi.corp.example/more", "trusted-host"]),
        (
            MAVEN,
            ["<id>corp</id>", "<url>https://maven.corp.example</url>", "<username>ada</username>", "Private-Token"],
        ),
        (NUGET, ["https://nuget.corp.example/v3"]),
        (YARN, ["npmRegistryServer", "npmAlwaysAuth: true", "  corp:"]),
        (GRADLE, ["org.gradle.jvmargs=-Xmx2g", "mavenUser=ada"]),
        (GIT, ["signingkey = ABCDEF", '[url "https://git.example/"]', "ssh://git@git.example/", "helper = store"]),
        (CURL, ["proxy = http://proxy.example:3128", "compressed"]),
        (YARN_1, ['"always-auth" true', 'registry "https://npm.corp.example"']),
        (PROPERTIES, ["signing.keyId 12AB", "# the password is in the vault"]),
        (MAIL, ["smtpUser = ada", "askPass = /usr/bin/ask"]),
        (TERRAFORM, ['credentials "app.terraform.io" {\n}\n', 'plugin_cache_dir = "x"']),
        (CURL_2, ["retry 3"]),
        (CONDA, ["conda-forge"]),
        (BUN, ["exact = true"]),
        (KEYS, ["email=ada@example"]),
    ],
    ids=[
        *("npm", "pip", "maven", "nuget", "yarn", "gradle", "git", "curl"),
        *("yarn-1", "properties", "mail", "terraform", "curl-2", "conda", "bun", "keys"),
    ],
)
def test_secrets_are_left_out_and_what_configures_stays(text: str, kept: list[str]) -> None:
    left = leave_out_secrets(text)

    assert "secret-" not in left
    assert "c2VjcmV0" not in left
    assert "ghp_" not in left
    assert [line for line in kept if line not in left] == []


def test_a_file_without_secrets_stays_as_it_is() -> None:
    text = "[global]\nindex-url = https://pypi.org/simple\ntimeout = 60\n"

    assert leave_out_secrets(text) == text
