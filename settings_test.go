package clew

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSettingsArg(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		o    Options
		want string
	}{
		{"none", Options{}, ""},
		{"a file, which is not read", Options{SettingsFile: "/no/such/file"}, "/no/such/file"},
		{"an object as it is", Options{Settings: `{ "a": 1e2 }`}, `{ "a": 1e2 }`},
		{"a sandbox alone", Options{Sandbox: &SandboxSettings{ExcludedCommands: []string{"git"}}},
			`{"sandbox":{"excludedCommands":["git"]}}`},
		{"a sandbox that has to be there", Options{Sandbox: &SandboxSettings{Enabled: true}},
			`{"sandbox":{"enabled":true,"failIfUnavailable":true}}`},
		{"a sandbox if there is one", Options{Sandbox: &SandboxSettings{Enabled: true, FailIfUnavailable: new(false)}},
			`{"sandbox":{"enabled":true,"failIfUnavailable":false}}`},
		{"both", Options{Settings: `{"model": "x", "n": 12345678901234567890}`, Sandbox: &SandboxSettings{}},
			`{"model":"x","n":12345678901234567890,"sandbox":{}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, tt.o.settingsArg()); diff != "" {
				t.Errorf("settings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSettingsArgLeavesTheSandboxAlone(t *testing.T) {
	t.Parallel()
	o := &Options{Sandbox: &SandboxSettings{Enabled: true}}
	o.settingsArg()
	if o.Sandbox.FailIfUnavailable != nil {
		t.Error("the caller's sandbox was changed")
	}
}

func TestSandboxSettingsJSON(t *testing.T) {
	t.Parallel()
	want := compactJSON(t, `{
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
	}`)
	var s SandboxSettings
	if err := json.Unmarshal([]byte(want), &s); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(toJSON(s))); diff != "" {
		t.Errorf("sandbox (-want +got):\n%s", diff)
	}
}
