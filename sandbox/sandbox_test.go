package sandbox

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSandboxSettingsJSON(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	if err := json.Compact(&b, []byte(`{
		"enabled": true, "failIfUnavailable": false, "autoAllowBashIfSandboxed": false, "allowUnsandboxedCommands": false,
		"excludedCommands": ["git"],
		"network": {
			"allowedDomains": ["a"], "deniedDomains": ["b"], "strictAllowlist": true, "allowManagedDomainsOnly": true,
			"allowUnixSockets": ["s"], "allowAllUnixSockets": true, "allowLocalBinding": true, "allowMachLookup": ["m"],
			"httpProxyPort": 1, "socksProxyPort": 2, "tlsTerminate": {"caCertPath": "c", "caKeyPath": "k"}
		},
		"filesystem": {
			"allowWrite": ["a"], "denyWrite": ["b"], "denyRead": ["c"], "allowRead": ["d"],
			"allowManagedReadPathsOnly": true, "disabled": true
		},
		"credentials": {
			"files": [{
				"path": "p", "mode": "mask", "extract": "e", "onExtractNoMatch": "warn", "decode": "jwt",
				"maskClaims": ["m"], "maskDuplicates": true, "injectHosts": ["h"]
			}],
			"envVars": [{"name": "n", "mode": "deny"}], "allowPlaintextInject": true,
			"awsPairs": [{"accessKeyIdVar": "a", "secretAccessKeyVar": "s", "sessionTokenVar": "t"}],
			"sigv4": {"streaming": "deny", "presigned": "deny", "sigv4a": "passthrough"}
		},
		"ignoreViolations": {"*": ["/x"]}, "enableWeakerNestedSandbox": true, "allowNestedUserNamespaces": true,
		"enableWeakerNetworkIsolation": true, "allowAppleEvents": true, "ripgrep": {"command": "rg", "args": ["-x"]},
		"bwrapPath": "/b", "socatPath": "/s"
	}`)); err != nil {
		t.Fatal(err)
	}
	want := b.String()
	var s Settings
	if err := json.Unmarshal(b.Bytes(), &s); err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("sandbox (-want +got):\n%s", diff)
	}
}
