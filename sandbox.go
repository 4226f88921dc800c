package clew

import (
	"encoding/json"

	"github.com/clewdev/clew/wire"
)

// SandboxSettings confine the commands that the agent runs. The zero value of a field leaves it to the agent. A field
// that is not here yet can be given in [Options.Settings], as the member "sandbox", in place of all of this.
type SandboxSettings struct {
	// Enabled turns the sandbox on.
	Enabled bool `json:"enabled,omitempty"`
	// FailIfUnavailable has the agent end where there can be no sandbox, instead of going on without. Nil means yes if
	// Enabled.
	FailIfUnavailable *bool `json:"failIfUnavailable,omitempty"`
	// AutoAllowBashIfSandboxed lets commands run without a question if they run in the sandbox. Nil means yes.
	AutoAllowBashIfSandboxed *bool `json:"autoAllowBashIfSandboxed,omitempty"`
	// AllowUnsandboxedCommands lets the model ask for a command outside of the sandbox. Nil means yes.
	AllowUnsandboxedCommands *bool `json:"allowUnsandboxedCommands,omitempty"`
	// ExcludedCommands run outside of the sandbox.
	ExcludedCommands []string `json:"excludedCommands,omitempty"`

	Network     *SandboxNetwork     `json:"network,omitempty"`
	Filesystem  *SandboxFilesystem  `json:"filesystem,omitempty"`
	Credentials *SandboxCredentials `json:"credentials,omitempty"`

	// IgnoreViolations are paths, by command pattern, whose violations are not reported.
	IgnoreViolations map[string][]string `json:"ignoreViolations,omitempty"`
	// EnableWeakerNestedSandbox makes do with less isolation where this process is in a container.
	EnableWeakerNestedSandbox bool `json:"enableWeakerNestedSandbox,omitempty"`
	// AllowNestedUserNamespaces lets commands make user namespaces.
	AllowNestedUserNamespaces bool `json:"allowNestedUserNamespaces,omitempty"`
	// EnableWeakerNetworkIsolation lets commands reach the system's own service for certificates, on macOS.
	EnableWeakerNetworkIsolation bool `json:"enableWeakerNetworkIsolation,omitempty"`
	// AllowAppleEvents lets commands send Apple events, on macOS.
	AllowAppleEvents bool `json:"allowAppleEvents,omitempty"`
	// Ripgrep is the program that looks for files to protect. Nil means the agent's own.
	Ripgrep *SandboxRipgrep `json:"ripgrep,omitempty"`
	// BwrapPath and SocatPath are the programs that the sandbox is made of on Linux. Only managed settings may set them.
	BwrapPath string `json:"bwrapPath,omitempty"`
	SocatPath string `json:"socatPath,omitempty"`
}

// A SandboxNetwork says what commands in the sandbox reach.
type SandboxNetwork struct {
	// AllowedDomains can be reached, and DeniedDomains cannot, also if they are in the former. About others the agent
	// asks, unless StrictAllowlist refuses them.
	AllowedDomains  []string `json:"allowedDomains,omitempty"`
	DeniedDomains   []string `json:"deniedDomains,omitempty"`
	StrictAllowlist bool     `json:"strictAllowlist,omitempty"`
	// AllowManagedDomainsOnly ignores the domains of all settings but managed ones.
	AllowManagedDomainsOnly bool `json:"allowManagedDomainsOnly,omitempty"`
	// AllowUnixSockets are paths of sockets that can be used, and AllowAllUnixSockets permits all.
	AllowUnixSockets    []string `json:"allowUnixSockets,omitempty"`
	AllowAllUnixSockets bool     `json:"allowAllUnixSockets,omitempty"`
	// AllowLocalBinding lets commands listen on ports of this machine.
	AllowLocalBinding bool `json:"allowLocalBinding,omitempty"`
	// AllowMachLookup are services that commands can use, on macOS.
	AllowMachLookup []string `json:"allowMachLookup,omitempty"`
	// HTTPProxyPort and SOCKSProxyPort are ports of proxies of the caller's. 0 means the agent's own.
	HTTPProxyPort  int `json:"httpProxyPort,omitempty"`
	SOCKSProxyPort int `json:"socksProxyPort,omitempty"`
	// TLSTerminate has the proxy look into TLS. It is an experiment of the agent's makers.
	TLSTerminate *SandboxTLS `json:"tlsTerminate,omitempty"`
}

// A SandboxTLS is the certificate authority of the sandbox's proxy.
type SandboxTLS struct {
	CACertPath string `json:"caCertPath,omitempty"`
	CAKeyPath  string `json:"caKeyPath,omitempty"`
}

// A SandboxFilesystem says which files commands in the sandbox can use, by path.
type SandboxFilesystem struct {
	AllowWrite []string `json:"allowWrite,omitempty"`
	DenyWrite  []string `json:"denyWrite,omitempty"`
	DenyRead   []string `json:"denyRead,omitempty"`
	AllowRead  []string `json:"allowRead,omitempty"`
	// AllowManagedReadPathsOnly ignores the AllowRead of all settings but managed ones.
	AllowManagedReadPathsOnly bool `json:"allowManagedReadPathsOnly,omitempty"`
	// Disabled leaves files as they are without the sandbox.
	Disabled bool `json:"disabled,omitempty"`
}

// SandboxCredentials keep secrets from commands in the sandbox.
type SandboxCredentials struct {
	Files   []SandboxCredential `json:"files,omitempty"`
	EnvVars []SandboxCredential `json:"envVars,omitempty"`
	// AllowPlaintextInject puts masked secrets back into requests without TLS, too.
	AllowPlaintextInject bool `json:"allowPlaintextInject,omitempty"`
	// AWSPairs are variables that together are a key of AWS, and SigV4 says what of its signatures can be signed anew.
	AWSPairs []SandboxAWSPair `json:"awsPairs,omitempty"`
	SigV4    *SandboxSigV4    `json:"sigv4,omitempty"`
}

// A SandboxCredential is a secret in a file or in a variable.
type SandboxCredential struct {
	// Path is the file, and Name the variable: one of them is set.
	Path string `json:"path,omitempty"`
	Name string `json:"name,omitempty"`
	// Mode is "deny", or "mask" for a stand-in that the proxy replaces.
	Mode string `json:"mode"`
	// Extract is a pattern for the part that is secret, and OnExtractNoMatch is "warn", "deny" or "error".
	Extract          string `json:"extract,omitempty"`
	OnExtractNoMatch string `json:"onExtractNoMatch,omitempty"`
	// Decode "jwt" masks the claims MaskClaims inside of a token.
	Decode     string   `json:"decode,omitempty"`
	MaskClaims []string `json:"maskClaims,omitempty"`
	// MaskDuplicates masks the same secret in other places of the file.
	MaskDuplicates bool `json:"maskDuplicates,omitempty"`
	// InjectHosts are the hosts that get the real secret.
	InjectHosts []string `json:"injectHosts,omitempty"`
}

// A SandboxAWSPair names the variables of one key of AWS.
type SandboxAWSPair struct {
	AccessKeyIDVar     string `json:"accessKeyIdVar"`
	SecretAccessKeyVar string `json:"secretAccessKeyVar"`
	SessionTokenVar    string `json:"sessionTokenVar,omitempty"`
}

// A SandboxSigV4 says what happens to requests that cannot be signed anew: "deny" or "passthrough".
type SandboxSigV4 struct {
	Streaming string `json:"streaming,omitempty"`
	Presigned string `json:"presigned,omitempty"`
	SigV4A    string `json:"sigv4a,omitempty"`
}

// A SandboxRipgrep is a ripgrep program.
type SandboxRipgrep struct {
	Command string   `json:"command"`
	Args    []string `json:"args,omitempty"`
}

// settingsArg returns the value of --settings: a path, a JSON object, or "" for none.
func settingsArg(o *Options) string {
	if o.Sandbox == nil {
		return o.SettingsFile + string(o.Settings)
	}
	members, err := checkObject("Settings", o.Settings)
	if err != nil {
		return string(o.Settings)
	}
	sandbox := *o.Sandbox
	if sandbox.Enabled && sandbox.FailIfUnavailable == nil {
		sandbox.FailIfUnavailable = new(true)
	}
	members["sandbox"] = toJSON(sandbox)
	return string(toJSON(members))
}

// checkSettings returns what is wrong with the settings.
func checkSettings(o *Options) error {
	switch {
	case o.SettingsFile != "" && o.Settings != "":
		return badOption("SettingsFile", "not together with Settings")
	case o.SettingsFile != "" && o.Sandbox != nil:
		return badOption("Sandbox", "not together with SettingsFile: put it into the file")
	}
	members, err := checkObject("Settings", o.Settings)
	if err != nil {
		return err
	}
	if _, ok := members["sandbox"]; ok && o.Sandbox != nil {
		return badOption("Sandbox", "Settings has a sandbox already")
	}
	_, err = checkObject("ManagedSettings", o.ManagedSettings)
	return err
}

// checkObject returns the members of text, which is a JSON object or empty.
func checkObject(option string, text wire.JSON) (map[string]json.RawMessage, error) {
	members := map[string]json.RawMessage{}
	if text == "" {
		return members, nil
	}
	if err := text.Decode(&members); err != nil {
		return nil, badOption(option, "not a JSON object: %v", err)
	}
	if members == nil {
		return nil, badOption(option, "not a JSON object")
	}
	return members, nil
}

// toJSON returns v, whose strings, numbers and raw members all have a JSON form.
func toJSON(v any) []byte {
	data, _ := json.Marshal(v)
	return data
}
