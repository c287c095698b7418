"""The forms of keys by issuer: prefixes, characters and lengths.

A source without an address is the name of a rule of gitleaks (gitleaks/gitleaks, config/gitleaks.toml, 009e025, MIT).
Lengths are a little below those of gitleaks, since recordings shorten what they show.
"""

from typing import NamedTuple

_WORD = r"[\w-]"
_LETTERS = "[A-Za-z0-9]"
_HEX = "[A-Fa-f0-9]"


class Form(NamedTuple):
    """One form of an issuer's keys: a prefix, followed by at least `least` characters that match `character`."""

    issuer: str
    prefixes: tuple[str, ...]
    character: str
    least: int
    source: str


FORMS = (
    Form("Anthropic", ("sk-ant-",), _WORD, 16, "anthropic-api-key, anthropic-admin-api-key"),
    Form("OpenAI", ("sk-proj-", "sk-svcacct-", "sk-admin-", "sk-or-v1-"), _WORD, 16,
         "openai-api-key; OpenRouter's begin alike"),
    Form("OpenAI", ("sk-",), _LETTERS, 32, "openai-api-key, in its older form"),
    Form("Google", ("AIza",), _WORD, 35, "gcp-api-key"),
    Form("Google", ("GOCSPX-",), _WORD, 24, "https://developers.google.com/identity/protocols/oauth2 shows it"),
    Form("Google", ("ya29.",), _WORD, 40, "https://developers.google.com/identity/protocols/oauth2 shows it"),
    Form("GitHub", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), _LETTERS, 30,
         "https://github.blog/engineering/platform-security/behind-githubs-new-authentication-token-formats/"),
    Form("GitHub", ("github_pat_",), r"\w", 30, "github-fine-grained-pat"),
    Form("GitLab", ("glpat-", "gldt-", "glrt-", "glptt-", "glcbt-", "glft-", "glimt-", "glagent-", "gloas-", "glsoat-"),
         _WORD, 20, "gitlab-pat and its like"),
    Form("Hugging Face", ("hf_", "api_org_"), "[A-Za-z]", 30, "huggingface-access-token"),
    Form("AWS", ("AKIA", "ASIA", "ABIA", "ACCA"), "[A-Z0-9]", 16,
         "https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html#identifiers-prefixes"),
    Form("Slack", ("xoxb-", "xoxp-", "xoxa-", "xoxe-", "xoxr-", "xoxs-", "xoxo-", "xapp-"), _WORD, 20,
         "https://api.slack.com/concepts/token-types"),
    Form("Stripe", ("sk_live_", "rk_live_", "sk_test_", "rk_test_", "sk_prod_", "rk_prod_", "whsec_"), _LETTERS, 16,
         "https://docs.stripe.com/keys"),
    Form("npm", ("npm_",), _LETTERS, 36, "npm-access-token"),
    Form("PyPI", ("pypi-AgE",), _WORD, 40, "https://docs.pypi.org/api/secrets/"),
    Form("SendGrid", ("SG.",), r"[\w.-]", 60, "sendgrid-api-token"),
    Form("xAI", ("xai-",), _WORD, 60, "https://docs.x.ai shows it"),
    Form("Groq", ("gsk_",), _LETTERS, 40, "https://console.groq.com/docs/quickstart shows it"),
    Form("Perplexity", ("pplx-",), _LETTERS, 40, "perplexity-api-key"),
    Form("Replicate", ("r8_",), _LETTERS, 36, "https://replicate.com/docs/topics/security/api-tokens shows it"),
    Form("DigitalOcean", ("doo_v1_", "dop_v1_", "dor_v1_"), _HEX, 60, "digitalocean-access-token and its like"),
    Form("Databricks", ("dapi",), "[a-f0-9]", 32, "databricks-api-token"),
    Form("Doppler", ("dp.pt.", "dp.st.", "dp.ct."), r"[\w.]", 40, "doppler-api-token"),
    Form("Grafana", ("glc_", "glsa_"), r"[\w+/=]", 32, "grafana-cloud-api-token, grafana-service-account-token"),
    Form("Vault", ("hvs.", "hvb."), _WORD, 60, "vault-service-token, vault-batch-token"),
    Form("Linear", ("lin_api_",), _LETTERS, 36, "linear-api-key"),
    Form("New Relic", ("NRAK-", "NRJS-", "NRII-"), _LETTERS, 19, "new-relic-user-api-key and its like"),
    Form("Notion", ("ntn_",), _LETTERS, 40, "notion-api-token"),
    Form("Planetscale", ("pscale_tkn_", "pscale_oauth_", "pscale_pw_"), r"[\w.=-]", 32, "planetscale-api-token"),
    Form("Postman", ("PMAK-",), _WORD, 50, "postman-api-token"),
    Form("Prefect", ("pnu_",), _LETTERS, 36, "prefect-api-token"),
    Form("Pulumi", ("pul-",), "[a-f0-9]", 40, "pulumi-api-token"),
    Form("ReadMe", ("rdme_",), _LETTERS, 60, "readme-api-token"),
    Form("RubyGems", ("rubygems_",), "[a-f0-9]", 48, "rubygems-api-token"),
    Form("Shopify", ("shpat_", "shpca_", "shppa_", "shpss_"), _HEX, 32, "shopify-access-token and its like"),
    Form("Square", ("sq0atp-", "sq0csp-"), _WORD, 22, "square-access-token"),
    Form("Sentry", ("sntryu_",), "[a-f0-9]", 60, "sentry-user-token"),
    Form("Sentry", ("sntrys_",), r"[\w+/=]", 50, "sentry-org-token"),
    Form("Brevo", ("xkeysib-",), _WORD, 60, "sendinblue-api-token"),
    Form("Typeform", ("tfp_",), r"[\w.=-]", 56, "typeform-api-token"),
    Form("Atlassian", ("ATATT3",), r"[\w=-]", 60, "atlassian-api-token"),
    Form("Artifactory", ("AKCp", "cmVmd"), _LETTERS, 56, "artifactory-api-key, artifactory-reference-token"),
    Form("Alibaba", ("LTAI",), _LETTERS, 20, "alibaba-access-key-id"),
    Form("1Password", ("ops_eyJ",), r"[\w+/=]", 60, "1password-service-account-token"),
    Form("age", ("AGE-SECRET-KEY-1",), "[A-Z0-9]", 58, "age-secret-key"),
    Form("Fly.io", ("fo1_", "fm2_"), r"[\w+/=-]", 43, "flyio-access-token"),
    Form("Frame.io", ("fio-u-",), r"[\w=-]", 60, "frameio-api-token"),
    Form("Heroku", ("HRKU-AA",), _WORD, 50, "heroku-api-key-v2"),
    Form("EasyPost", ("EZAK", "EZTK"), _LETTERS, 54, "easypost-api-token"),
    Form("Duffel", ("duffel_test_", "duffel_live_"), r"[\w=-]", 40, "duffel-api-token"),
    Form("Shippo", ("shippo_live_", "shippo_test_"), _HEX, 40, "shippo-api-token"),
    Form("Sourcegraph", ("sgp_",), r"\w", 40, "sourcegraph-access-token"),
    Form("OpenShift", ("sha256~",), _WORD, 43, "openshift-user-token"),
    Form("Dynatrace", ("dt0c01.",), r"[A-Z0-9.]", 60, "dynatrace-api-token"),
    Form("Mapbox", ("pk.eyJ", "sk.eyJ"), r"[\w.-]", 50, "mapbox-api-token"),
    Form("Tailscale", ("tskey-auth-", "tskey-api-", "tskey-client-"), _WORD, 16,
         "https://tailscale.com/kb/1277/key-prefixes"),
    Form("Supabase", ("sbp_",), "[a-f0-9]", 40, "https://supabase.com/docs/reference/api shows it"),
    Form("Docker", ("dckr_pat_",), _WORD, 24, "https://docs.docker.com/security/access-tokens/ shows it"),
    Form("JSON web token", ("eyJ",), r"[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]", 8, "https://www.rfc-editor.org/rfc/rfc7519"),
)  # fmt: skip
