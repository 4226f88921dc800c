package redact

import (
	"encoding/base64"
	"fmt"
	"strings"
)

// tokenPatterns match tokens that start with a text which nothing else starts with. Each starts
// with a literal text, its anchor.
var tokenPatterns = []string{
	// Clouds and hosts.
	`hv[sbr]\.[A-Za-z0-9_-]{20,}`, `do[pora]_v1_[A-Za-z0-9]{32,}`, `AKID[A-Za-z0-9]{32}`, `ALTAK[A-Za-z0-9-]{21,}`,
	`amzn\.mws\.[0-9a-f-]{36}`, `SCW[A-Z0-9]{17}\b`, `FlyV1 [A-Za-z0-9_+/,=-]{40,}`, `rnd_[A-Za-z0-9]{24,}`,
	`nfp_[A-Za-z0-9]{30,}`, `vercel_blob_rw_[A-Za-z0-9_]{20,}`, `vc[pkia]_[A-Za-z0-9]{50,}`, `sbp_[a-f0-9]{40}`,
	`sb_secret_[A-Za-z0-9_-]{20,}`, `napi_[a-z0-9]{40,}`, `mdb_sa_sk_[A-Za-z0-9_-]{30,}`, `tskey-[A-Za-z0-9-]{20,}`,
	`dp\.[a-z]{2,5}\.[A-Za-z0-9_.]{40,}`, `st\.[a-f0-9-]{20,}\.[a-f0-9]{20,}`, `ocm_[A-Za-z0-9]{30,}`, `nvapi-[A-Za-z0-9_-]{40,}`,
	`v1\.0-[a-f0-9]{24}-[a-f0-9]{100,}`, `cfut_[A-Za-z0-9_-]{30,}`, `dapi[a-f0-9]{32}`, `essu_[A-Za-z0-9+/=_-]{40,}`,
	`AGE-SECRET-KEY-(?:PQ-)?1[A-Z0-9]{40,}`, `1//0[A-Za-z0-9_-]{40,}`, `AAAA[A-Za-z0-9_-]{7}:APA91b[A-Za-z0-9_-]{100,}`,
	// Models.
	`xai-[A-Za-z0-9]{30,}`, `gsk_[A-Za-z0-9]{30,}`, `r8_[A-Za-z0-9]{30,}`, `pplx-[A-Za-z0-9]{30,}`, `tgp_v1_[A-Za-z0-9_-]{30,}`,
	`fw_[A-Za-z0-9]{20,}`, `csk-[a-z0-9]{40,}`, `lsv2_(?:pt|sk)_[a-f0-9_]{30,}`, `[sp]k-lf-[a-f0-9-]{36}`, `pcsk_[A-Za-z0-9_]{40,}`,
	`tvly-[A-Za-z0-9-]{20,}`, `fc-[a-f0-9]{32}`, `jina_[A-Za-z0-9_-]{40,}`, `bb_live_[A-Za-z0-9_-]{20,}`, `e2b_[a-f0-9]{40}`,
	`rpa_[A-Z0-9]{30,}`, `apify_api_[A-Za-z0-9]{30,}`, `BSA[A-Za-z0-9_-]{27,}`, `pa-[A-Za-z0-9_-]{43}\b`, `sk_[a-f0-9]{48}\b`,
	`sk-[A-Za-z0-9]{2,10}-[A-Za-z0-9_-]{30,}`, `eleven_[A-Za-z0-9]{30,}`, `ak-[A-Za-z0-9]{22}\b`, `as-[A-Za-z0-9]{22}\b`,
	// Builds and packages.
	`lin_(?:api|oauth)_[A-Za-z0-9]{30,}`, `gl(?:ptt|dt|rt|cbt|ft|imt|soat|ffct|agent|oas)-[A-Za-z0-9_-]{16,}`, `dckr_[po]at_[A-Za-z0-9_-]{20,}`,
	`CCI[PR]AT_[A-Za-z0-9_]{30,}`, `bk[ua]a_[a-f0-9]{40}`, `sq[aup]_[a-f0-9]{40}`, `ATBB[A-Za-z0-9]{24,}`, `ATCTT3[A-Za-z0-9_=-]{60,}`,
	`cio[A-Za-z0-9]{32}\b`, `oy2[a-z0-9]{43}\b`, `pn[ub]_[A-Za-z0-9]{36}`, `dbt[cu]_[A-Za-z0-9_-]{30,}`, `snyk_[a-z]{3}\.[A-Za-z0-9._-]{30,}`,
	`trp_[A-Za-z0-9]{30,}`, `packagist_[a-z]{3}_[a-f0-9]{30,}`, `hcp_[A-Za-z0-9]{30,}`, `depot_[a-z]+_[a-f0-9]{40,}`,
	// Payments and shops.
	`shp(?:at|ca|pa|ss|ua|tka)_[A-Za-z0-9]{20,}`, `sq0[a-z]{3}-[A-Za-z0-9_-]{16,}`, `whsec_[A-Za-z0-9+/=]{20,}`,
	`access_token\$(?:production|sandbox)\$[a-z0-9]{16}\$[a-f0-9]{32}`, `rzp_(?:live|test)_[A-Za-z0-9]{14,}`,
	`FLWSECK(?:_TEST)?-[A-Za-z0-9-]{12,}`, `(?:live|test)_[A-Za-z0-9]{30,}\b`, `c[ks]_[a-f0-9]{40}`, `AQE[a-z0-9A-Z+/]{50,}={0,2}-[A-Za-z0-9+/]{20,}`,
	`[prs]k_(?:live|test|prod)_[A-Za-z0-9]{10,}`, `secret-(?:live|test)-[A-Za-z0-9_=-]{30,}`, `secret-token:[A-Za-z0-9_:.-]{20,}`, `bxt_[A-Za-z0-9]{30,}`,
	// Messages and documents.
	`SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{20,}`, `xkeysib-[a-f0-9]{60,}-[A-Za-z0-9]{12,}`, `xsmtpsib-[a-f0-9]{60,}-[A-Za-z0-9]{12,}`,
	`re_[A-Za-z0-9]{6,12}_[A-Za-z0-9]{20,}`, `key-[a-f0-9]{32}\b`, `AC[a-f0-9]{32}:[a-f0-9]{32}`, `pat-(?:na|eu)[0-9]-[0-9a-f-]{36}`,
	`00D[A-Za-z0-9]{12,15}![A-Za-z0-9._]{60,}`, `secret_[A-Za-z0-9]{43}\b`, `ntn_[A-Za-z0-9]{40,48}\b`, `fig[do]r?_[A-Za-z0-9_-]{36,}`,
	`sl\.[A-Za-z0-9_-]{60,}`, `CFPAT-[A-Za-z0-9_-]{40,}`, `EAA[A-Za-z0-9]{60,}`, `IGQ[A-Za-z0-9_-]{60,}`,
	`api/webhooks/([0-9]{8,}/[A-Za-z0-9_-]{20,})`, `api\.telegram\.org/bot([0-9]{6,}:[A-Za-z0-9_-]{20,})`,
	`tfp_[A-Za-z0-9_.=-]{40,}`,
	// Measurements and features.
	`NR(?:AK|JS|II|RA|AL)-[A-Za-z0-9-]{19,}`, `hc[abm]ik_[A-Za-z0-9]{50,}`, `hc[a-z]lk_[A-Za-z0-9]{50,}`, `ph[cxs]_[A-Za-z0-9]{32,}`, `sdk-[0-9a-f]{8}-[0-9a-f-]{27}`,
	`api-[0-9a-f]{8}-[0-9a-f-]{27}`, `mob-[0-9a-f]{8}-[0-9a-f-]{27}`, `secret-[A-Za-z0-9]{40,}`, `gl(?:sa|c)_[A-Za-z0-9+/=_]{32,}`,
	`sk\.eyJ[A-Za-z0-9_-]{40,}\.[A-Za-z0-9_-]{20,}`, `dt0[a-z][0-9]{2}\.[A-Z0-9]{20,}\.[A-Z0-9]{50,}`,
}

// tokenRules find the tokens of tokenPatterns, and the tokens of Discord's bots.
func tokenRules() []Rule {
	var rules []Rule
	add := func(anchors []string, pattern string) {
		start := wordStart
		if strings.HasPrefix(pattern, "(?:live|test)_") { // the end of other names
			start = nameStart
		}
		rules = append(rules, Rule{
			Name: "service-token", About: "tokens of other services: hvs...., SG...., dop_v1_..., gsk_..., shpat_..., AGE-SECRET-KEY-...",
			anchors: anchors, before: start, broken: true, alone: true, wanted: isServiceToken, pattern: pattern,
		})
	}
	for _, pattern := range tokenPatterns {
		add(beginnings(pattern), pattern)
	}
	add(digitsInBase64(), `[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}`)
	return rules
}

// isServiceToken reports whether a match is the token of a service. The keys of Anthropic have their
// own rule.
func isServiceToken(match string) bool {
	return hasDigit(match) && isKey(match) && !strings.HasPrefix(match, "sk-ant-")
}

// digitsInBase64 returns how numbers in base64 start, in lower case. Tokens of Discord's bots start
// with the number of the bot.
func digitsInBase64() []string {
	var starts []string
	for number := range 100 {
		text := base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "%02d0", number))
		starts = append(starts, strings.ToLower(text[:3]))
	}
	return starts
}

// beginnings returns the literal texts that a pattern can start with, in lower case: its literal
// part, after a set of characters or of alternatives if it starts with one.
func beginnings(pattern string) []string {
	starts := []string{""}
	switch {
	case strings.HasPrefix(pattern, "["):
		set, rest, _ := strings.Cut(pattern[1:], "]")
		starts, pattern = strings.Split(set, ""), rest
	case strings.HasPrefix(pattern, "(?:"):
		set, rest, _ := strings.Cut(pattern[3:], ")")
		starts, pattern = strings.Split(set, "|"), rest
	}
	literal := strings.ReplaceAll(pattern, `\`, "")
	if end := strings.IndexAny(pattern, `[(`); end >= 0 {
		literal = strings.ReplaceAll(pattern[:end], `\`, "")
	}
	for i := range starts {
		starts[i] = strings.ToLower(starts[i] + literal)
	}
	return starts
}
