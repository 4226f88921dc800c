package redact

import (
	"fmt"
	"strings"
	"testing"

	"github.com/clewdev/clew/internal/soak"
)

// kinds are well-known kinds of secrets: what is written around them, and how they look.
var kinds = []struct{ name, around, pattern string }{
	// Clouds and hosts.
	{"AWS access key", "id %s", `AKIA[A-Z2-7]{16}`}, {"AWS temporary key", "id %s", `ASIA[A-Z2-7]{16}`},
	{"AWS secret key", "aws_secret_access_key = %s\n", `[A-Za-z0-9/+]{40}`}, {"AWS session token", "AWS_SESSION_TOKEN=%s", `[A-Za-z0-9/+]{200}`},
	{"AWS Bedrock key", "use %s", `ABSK[A-Za-z0-9+/]{120}`}, {"AWS MWS key", "use %s", `amzn\.mws\.[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`},
	{"Google API key", "use %s", `AIza[A-Za-z0-9_-]{35}`}, {"Google OAuth token", "use %s", `ya29\.[A-Za-z0-9_-]{60}`},
	{"Google client secret", "use %s", `GOCSPX-[A-Za-z0-9_-]{28}`}, {"Google refresh token", "use %s", `1//0[A-Za-z0-9_-]{60}`},
	{"Google service account", "{\"private_key\": \"-----BEGIN PRIVATE KEY-----\\n%s\\n-----END PRIVATE KEY-----\\n\"}", `[A-Za-z0-9+/]{120}`},
	{"Firebase server key", "use %s", `AAAA[A-Za-z0-9_-]{7}:APA91b[A-Za-z0-9_-]{134}`},
	{"Azure storage key", "AccountName=x;AccountKey=%s;", `[A-Za-z0-9+/]{86}==`}, {"Azure SAS", "https://x.example/c?sv=1&sig=%s", `[A-Za-z0-9]{40}%3D`},
	{"Azure client secret", "use '%s'", `[A-Za-z0-9]{3}8Q~[A-Za-z0-9_~.-]{34}`}, {"Azure DevOps token", "AZURE_DEVOPS_EXT_PAT=%s", `[a-z0-9]{52}`},
	{"Azure SQL", "Server=tcp:x;User ID=a;Password=%s;", `[A-Za-z0-9!]{16}`}, {"Azure Service Bus", "SharedAccessKeyName=x;SharedAccessKey=%s", `[A-Za-z0-9+/]{43}=`},
	{"Alibaba access key", "use %s", `LTAI5t[A-Za-z0-9]{18}`}, {"Tencent secret ID", "use %s", `AKID[A-Za-z0-9]{32}`}, {"Baidu key", "use bce-v3/%s", `ALTAK-[A-Za-z0-9]{21}/[a-f0-9]{40}`},
	{"IBM Cloud key", "IBMCLOUD_API_KEY=%s", `[A-Za-z0-9_-]{44}`}, {"DigitalOcean token", "use %s", `dop_v1_[a-f0-9]{64}`}, {"DigitalOcean OAuth", "use %s", `doo_v1_[a-f0-9]{64}`},
	{"Linode token", "LINODE_TOKEN=%s", `[a-f0-9]{64}`}, {"Vultr key", "VULTR_API_KEY: %s", `[A-Z0-9]{36}`}, {"Hetzner token", "HCLOUD_TOKEN=%s", `[A-Za-z0-9]{64}`},
	{"Scaleway key", "use %s", `SCW[A-Z0-9]{17}`}, {"Fly token", "use %s", `fm2_[A-Za-z0-9+/]{120}`}, {"Heroku key", "HEROKU_API_KEY=%s", `[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`},
	{"Heroku key, new", "use %s", `HRKU-AA[A-Za-z0-9_-]{58}`}, {"Render key", "use %s", `rnd_[A-Za-z0-9]{28}`}, {"Netlify token", "use %s", `nfp_[A-Za-z0-9]{36}`},
	{"Vercel blob token", "use %s", `vercel_blob_rw_[A-Za-z0-9]{16}_[A-Za-z0-9]{30}`}, {"Cloudflare key", "cloudflare_key = \"%s\"", `[a-f0-9]{37}`},
	{"Cloudflare token", "CLOUDFLARE_API_TOKEN=%s", `[A-Za-z0-9_-]{40}`}, {"Cloudflare origin key", "use %s", `v1\.0-[a-f0-9]{24}-[a-f0-9]{146}`}, {"Fastly token", "FASTLY_API_TOKEN=%s", `[A-Za-z0-9_-]{32}`},
	{"Supabase token", "use %s", `sbp_[a-f0-9]{40}`}, {"Supabase secret", "use %s", `sb_secret_[A-Za-z0-9_-]{31}`}, {"Neon key", "use %s", `napi_[a-z0-9]{64}`},
	{"PlanetScale password", "use %s", `pscale_pw_[A-Za-z0-9_-]{43}`}, {"PlanetScale token", "use %s", `pscale_tkn_[A-Za-z0-9_-]{43}`}, {"MongoDB Atlas", "use %s", `mdb_sa_sk_[A-Za-z0-9_-]{40}`},
	{"Yandex key", "yandex: \"%s\"", `AQVN[A-Za-z0-9_-]{36}`}, {"OpenShift token", "use %s", `sha256~[A-Za-z0-9_-]{43}`}, {"Tailscale key", "use %s", `tskey-auth-[A-Za-z0-9]{12}CNTRL-[A-Za-z0-9]{32}`},
	{"ngrok token", "NGROK_AUTHTOKEN=%s", `[A-Za-z0-9]{27}_[A-Za-z0-9]{21}`},
	// Models.
	{"Anthropic key", "use %s", `sk-ant-api03-[A-Za-z0-9_-]{93}AA`}, {"Anthropic OAuth", "use %s", `sk-ant-oat01-[A-Za-z0-9_-]{90}`}, {"OpenAI key", "use %s", `sk-[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20}`},
	{"OpenAI project key", "use %s", `sk-proj-[A-Za-z0-9_]{74}T3BlbkFJ[A-Za-z0-9_-]{74}`}, {"OpenRouter key", "use %s", `sk-or-v1-[a-f0-9]{64}`}, {"Groq key", "use %s", `gsk_[A-Za-z0-9]{52}`},
	{"xAI key", "use %s", `xai-[A-Za-z0-9]{80}`}, {"Replicate token", "use %s", `r8_[A-Za-z0-9]{37}`}, {"Perplexity key", "use %s", `pplx-[A-Za-z0-9]{48}`}, {"Mistral key", "MISTRAL_API_KEY=%s", `[A-Za-z0-9]{32}`},
	{"Together key", "use %s", `tgp_v1_[A-Za-z0-9_-]{43}`}, {"Fireworks key", "use %s", `fw_[A-Za-z0-9]{24}`}, {"Cerebras key", "use %s", `csk-[a-z0-9]{48}`}, {"Cohere key", "cohere_key = '%s'", `[A-Za-z0-9]{40}`},
	{"Hugging Face token", "use %s", `hf_[A-Za-z0-9]{34}`}, {"LangSmith key", "use %s", `lsv2_pt_[a-f0-9]{32}_[a-f0-9]{10}`}, {"Langfuse key", "use %s", `sk-lf-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`},
	{"Pinecone key", "use %s", `pcsk_[A-Za-z0-9]{5}_[A-Za-z0-9]{63}`}, {"NVIDIA key", "use %s", `nvapi-[A-Za-z0-9_-]{64}`}, {"Tavily key", "use %s", `tvly-[A-Za-z0-9]{32}`}, {"Firecrawl key", "use %s", `fc-[a-f0-9]{32}`},
	{"Jina key", "use %s", `jina_[a-f0-9]{32}[A-Za-z0-9_-]{28}`}, {"E2B key", "use %s", `e2b_[a-f0-9]{40}`}, {"Apify token", "use %s", `apify_api_[A-Za-z0-9]{36}`}, {"Weights and Biases", "WANDB_API_KEY=%s", `[a-f0-9]{40}`},
	{"Deepgram key", "DEEPGRAM_API_KEY: %s\n", `[a-f0-9]{40}`}, {"ElevenLabs key", "use %s", `sk_[a-f0-9]{48}`}, {"AssemblyAI key", "assemblyai.api_key = \"%s\"", `[a-f0-9]{32}`},
	// Code, builds and packages.
	{"GitHub token", "use %s", `ghp_[A-Za-z0-9]{36}`}, {"GitHub OAuth", "use %s", `gho_[A-Za-z0-9]{36}`}, {"GitHub app token", "use %s", `ghs_[A-Za-z0-9]{36}`}, {"GitHub refresh token", "use %s", `ghr_[A-Za-z0-9]{36}`},
	{"GitHub fine-grained", "use %s", `github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59}`}, {"GitLab token", "use %s", `glpat-[A-Za-z0-9_-]{20}`}, {"GitLab runner", "use %s", `glrt-[A-Za-z0-9_-]{20}`}, {"GitLab deploy", "use %s", `gldt-[A-Za-z0-9_-]{20}`},
	{"GitLab trigger", "use %s", `glptt-[a-f0-9]{40}`}, {"GitLab registration", "use %s", `GR1348941[A-Za-z0-9_-]{20}`}, {"Bitbucket app password", "use %s", `ATBB[A-Za-z0-9]{32}`}, {"Atlassian token", "use %s", `ATATT3[A-Za-z0-9_-]{186}`},
	{"npm token", "use %s", `npm_[A-Za-z0-9]{36}`}, {"npmrc token", "//registry.example/:_authToken=%s", `[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}`}, {"PyPI token", "use %s", `pypi-AgEIcHlwaS5vcmc[A-Za-z0-9_-]{60}`},
	{"RubyGems key", "use %s", `rubygems_[a-f0-9]{48}`}, {"NuGet key", "use %s", `oy2[a-z0-9]{43}`}, {"crates.io token", "use %s", `cio[A-Za-z0-9]{32}`}, {"Clojars token", "use %s", `CLOJARS_[a-z0-9]{60}`}, {"Docker token", "use %s", `dckr_pat_[A-Za-z0-9_-]{27}`},
	{"Docker config", "{\"auths\":{\"x\":{\"auth\":\"%s\"}}}", `dXNlcjpwYXNz[A-Za-z0-9]{8}`}, {"Artifactory key", "use %s", `AKCp[A-Za-z0-9]{69}`}, {"Artifactory reference", "use %s", `cmVmd[A-Za-z0-9]{59}`},
	{"CircleCI token", "use %s", `CCIPAT_[A-Za-z0-9]{22}_[a-f0-9]{40}`}, {"Buildkite token", "use %s", `bkua_[a-f0-9]{40}`}, {"Travis token", "travis_token: \"%s\"", `[a-z0-9]{22}`}, {"Jenkins token", "JENKINS_TOKEN=%s", `11[a-f0-9]{32}`},
	{"SonarQube token", "use %s", `squ_[a-f0-9]{40}`}, {"Snyk token", "SNYK_TOKEN=%s", `[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`}, {"Codecov token", "codecov = '%s'", `[a-z0-9]{32}`},
	{"Sourcegraph token", "use %s", `sgp_[a-f0-9]{40}`}, {"Pulumi token", "use %s", `pul-[a-f0-9]{40}`}, {"Terraform token", "use %s", `[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_-]{64}`}, {"Vault token", "use %s", `hvs\.[A-Za-z0-9_-]{95}`},
	{"Doppler token", "use %s", `dp\.pt\.[A-Za-z0-9]{43}`}, {"1Password secret key", "use %s", `A3-[A-Z0-9]{6}-[A-Z0-9]{6}-[A-Z0-9]{5}-[A-Z0-9]{5}-[A-Z0-9]{5}-[A-Z0-9]{5}`}, {"1Password service account", "use %s", `ops_eyJ[A-Za-z0-9+/]{260}`},
	{"Databricks token", "use %s", `dapi[a-f0-9]{32}`}, {"Postman key", "use %s", `PMAK-[a-f0-9]{24}-[a-f0-9]{34}`}, {"Prefect key", "use %s", `pnu_[A-Za-z0-9]{36}`}, {"Octopus key", "use %s", `API-[A-Z0-9]{26}`},
	// Payments and shops.
	{"Stripe key", "use %s", `sk_live_[A-Za-z0-9]{24}`}, {"Stripe restricted", "use %s", `rk_live_[A-Za-z0-9]{24}`}, {"Stripe webhook", "use %s", `whsec_[A-Za-z0-9]{32}`}, {"Square token", "use %s", `EAAA[A-Za-z0-9_-]{60}`},
	{"Square secret", "use %s", `sq0csp-[A-Za-z0-9_-]{43}`}, {"PayPal Braintree", "use %s", `access_token\$production\$[a-z0-9]{16}\$[a-f0-9]{32}`}, {"Razorpay key", "use %s", `rzp_live_[A-Za-z0-9]{14}`},
	{"Flutterwave key", "use %s", `FLWSECK-[a-f0-9]{32}-X`}, {"Plaid token", "plaid: '%s'", `access-sandbox-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`}, {"Shopify token", "use %s", `shpat_[a-f0-9]{32}`},
	{"Shopify secret", "use %s", `shpss_[a-f0-9]{32}`}, {"WooCommerce secret", "use %s", `cs_[a-f0-9]{40}`}, {"Coinbase token", "coinbase_token = \"%s\"", `[a-z0-9_-]{64}`}, {"Binance secret", "BINANCE_SECRET_KEY=%s", `[A-Za-z0-9]{64}`},
	{"EasyPost key", "use %s", `EZAK[A-Za-z0-9]{54}`}, {"Shippo token", "use %s", `shippo_live_[a-f0-9]{40}`}, {"Duffel token", "use %s", `duffel_live_[A-Za-z0-9_-]{43}`},
	// Messages and documents.
	{"Slack bot token", "use %s", `xoxb-[0-9]{12}-[0-9]{12}-[A-Za-z0-9]{24}`}, {"Slack user token", "use %s", `xoxp-[0-9]{12}-[0-9]{12}-[0-9]{12}-[a-f0-9]{32}`}, {"Slack app token", "use %s", `xapp-1-A[A-Z0-9]{10}-[0-9]{13}-[a-f0-9]{64}`},
	{"Slack webhook", "https://hooks.slack.com/services/%s", `T[A-Z0-9]{10}/B[A-Z0-9]{10}/[A-Za-z0-9]{24}`}, {"Discord bot token", "use %s", `MTA[A-Za-z0-9]{21}\.G[A-Za-z0-9]{5}\.[A-Za-z0-9_-]{38}`},
	{"Discord webhook", "https://discord.com/api/webhooks/%s", `[0-9]{18}/[A-Za-z0-9_-]{68}`}, {"Telegram bot", "https://api.telegram.org/bot%s/x", `[0-9]{10}:AA[A-Za-z0-9_-]{33}`}, {"Teams webhook", "https://x.webhook.office.com/webhookb2/%s",
		`[a-f0-9]{8}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{12}@[a-f0-9]{8}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{12}/IncomingWebhook/[a-f0-9]{32}/[a-f0-9]{8}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{12}`},
	{"SendGrid key", "use %s", `SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}`}, {"Mailgun key", "use %s", `key-[a-f0-9]{32}`}, {"Mailchimp key", "mailchimp_key = '%s'", `[a-f0-9]{32}-us[0-9]{2}`}, {"Brevo key", "use %s", `xkeysib-[a-f0-9]{64}-[A-Za-z0-9]{16}`},
	{"Resend key", "use %s", `re_[A-Za-z0-9]{8}_[A-Za-z0-9]{24}`}, {"Postmark token", "X-Postmark-Server-Token: %s\n", `[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`}, {"Twilio key", "use %s", `SK[a-f0-9]{32}`},
	{"Twilio token", "TWILIO_AUTH_TOKEN=%s", `[a-f0-9]{32}`}, {"HubSpot token", "use %s", `pat-na1-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`}, {"Salesforce session", "use %s", `00D[A-Za-z0-9]{12}![A-Za-z0-9._]{96}`},
	{"Notion token", "use %s", `ntn_[0-9]{11}[A-Za-z0-9]{35}`}, {"Notion secret", "use %s", `secret_[A-Za-z0-9]{43}`}, {"Airtable token", "use %s", `pat[A-Za-z0-9]{14}\.[a-f0-9]{64}`}, {"Linear key", "use %s", `lin_api_[A-Za-z0-9]{40}`},
	{"Figma token", "use %s", `figd_[A-Za-z0-9_-]{40}`}, {"Dropbox token", "use %s", `sl\.[A-Za-z0-9_-]{135}`}, {"Asana token", "asana_secret = '%s'", `[a-z0-9]{32}`}, {"Typeform token", "use %s", `tfp_[A-Za-z0-9_.]{59}`}, {"Contentful token", "use %s", `CFPAT-[A-Za-z0-9_-]{43}`},
	{"Facebook token", "use %s", `EAAC[A-Za-z0-9]{120}`}, {"Twitter bearer", "Authorization: Bearer %s", `A{22}[A-Za-z0-9%]{80}`}, {"Twitch secret", "twitch_secret = '%s'", `[a-z0-9]{30}`}, {"Spotify secret", "SPOTIFY_CLIENT_SECRET=%s", `[a-f0-9]{32}`},
	{"Mapbox token", "use %s", `sk\.eyJ[A-Za-z0-9]{80}\.[A-Za-z0-9_-]{22}`}, {"Intercom token", "intercom: '%s'", `[A-Za-z0-9=_-]{60}`}, {"Zendesk secret", "zendesk_secret: '%s'", `[a-z0-9]{40}`}, {"Okta token", "okta_token = '%s'", `00[A-Za-z0-9_-]{40}`},
	// Measurements and features.
	{"Datadog key", "DD_API_KEY=%s", `[a-f0-9]{32}`}, {"New Relic key", "use %s", `NRAK-[A-Z0-9]{27}`}, {"Sentry token", "use %s", `sntryu_[a-f0-9]{64}`}, {"Grafana token", "use %s", `glsa_[A-Za-z0-9]{32}_[a-f0-9]{8}`}, {"Grafana Cloud token", "use %s", `glc_[A-Za-z0-9+/]{60}`},
	{"Honeycomb key", "use %s", `hcaik_[a-z0-9]{58}`}, {"Dynatrace token", "use %s", `dt0c01\.[A-Z0-9]{24}\.[A-Z0-9]{64}`}, {"PostHog key", "use %s", `phx_[A-Za-z0-9]{43}`}, {"LaunchDarkly key", "use %s", `sdk-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`},
	{"Algolia key", "ALGOLIA_ADMIN_KEY=%s", `[a-f0-9]{32}`}, {"PagerDuty key", "PAGERDUTY_TOKEN=%s", `[A-Za-z0-9+_-]{20}`}, {"Readme key", "use %s", `rdme_[a-z0-9]{70}`}, {"MaxMind key", "use %s", `[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk`},
	// Keys and formats.
	{"SSH key", "-----BEGIN OPENSSH PRIVATE KEY-----\n%s\n-----END OPENSSH PRIVATE KEY-----", `[A-Za-z0-9+/]{70}`}, {"PGP key", "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n%s\n-----END PGP PRIVATE KEY BLOCK-----", `[A-Za-z0-9+/]{64}`},
	{"age key", "use %s", `AGE-SECRET-KEY-1[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}`}, {"WireGuard key", "PrivateKey = %s\n", `[A-Za-z0-9+/]{43}=`}, {"JSON web token", "use %s", `eyJ[A-Za-z0-9]{20}\.eyJ[A-Za-z0-9]{30}\.[A-Za-z0-9_-]{43}`},
	{"Bearer token", "Authorization: Bearer %s", `[A-Za-z0-9]{40}`}, {"Session cookie", "Set-Cookie: session=%s; HttpOnly", `[A-Za-z0-9]{32}`}, {"URL password", "mongodb+srv://app:%s@x.example/db", `[A-Za-z0-9]{16}`},
	{"Rails secret", "secret_key_base: %s\n", `[a-f0-9]{128}`}, {"Django secret", "SECRET_KEY = '%s'", `[A-Za-z0-9!@#^&*_-]{50}`}, {"Laravel key", "APP_KEY=base64:%s", `[A-Za-z0-9+/]{43}=`}, {"WordPress password", "define( 'DB_PASSWORD', '%s' );", `[A-Za-z0-9]{16}`},
	{"Maven password", "<password>%s</password>", `[A-Za-z0-9]{16}`}, {"netrc", "machine x login y password %s", `[A-Za-z0-9]{12}`}, {"pgpass", "h:5432:d:u:%s", `[A-Za-z0-9]{12}`}, {"Kubernetes secret", "kind: Secret\ndata:\n  x: %s\n", `[A-Za-z0-9+/]{24}`},
}

// Well-known kinds of secrets are found.
func TestRedactKnowsKinds(t *testing.T) {
	t.Parallel()
	s := newSampler()
	for name, redact := range map[string]func(string) string{"Text": new(Redactor).Text, "Mask": Mask} {
		found := 0
		for _, kind := range kinds {
			secret := s.matching(t, kind.pattern)
			if text := fmt.Sprintf(kind.around, secret); !strings.Contains(redact(text), secret) {
				found++
			} else {
				t.Logf("%s does not know %s: %q", name, kind.name, text)
			}
		}
		soak.Figure(t, "%s knows %d of %d kinds of secrets", name, found, len(kinds))
		if len(kinds) < 163 || found*163 < 150*len(kinds) {
			t.Errorf("%s knows %d of %d kinds of secrets", name, found, len(kinds))
		}
	}
}
