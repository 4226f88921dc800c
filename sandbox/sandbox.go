// Package sandbox defines the settings that confine an agent's commands.
package sandbox

// Settings confine the commands that the agent runs. A zero field leaves it to the agent. For
// settings that have no field here, use the member "sandbox" of the option Settings.JSON instead.
type Settings struct {
	// Enabled turns the sandbox on.
	Enabled bool `json:"enabled,omitempty"`
	// FailIfUnavailable makes the agent exit if the sandbox can't be used, instead of continuing
	// without it. Nil means true if Enabled.
	FailIfUnavailable *bool `json:"failIfUnavailable,omitempty"`
	// AutoAllowBashIfSandboxed lets commands run without a question if they run in the sandbox. Nil
	// means true.
	AutoAllowBashIfSandboxed *bool `json:"autoAllowBashIfSandboxed,omitempty"`
	// AllowUnsandboxedCommands lets the model ask for a command outside the sandbox. Nil means
	// true.
	AllowUnsandboxedCommands *bool `json:"allowUnsandboxedCommands,omitempty"`
	// ExcludedCommands run outside the sandbox.
	ExcludedCommands []string `json:"excludedCommands,omitempty"`

	// Network limits the hosts and sockets that commands can reach.
	Network *Network `json:"network,omitempty"`
	// Filesystem limits the files that commands can read and write.
	Filesystem *Filesystem `json:"filesystem,omitempty"`
	// Credentials hide secrets from commands.
	Credentials *Credentials `json:"credentials,omitempty"`

	// IgnoreViolations are paths, by command pattern, whose violations are not reported.
	IgnoreViolations map[string][]string `json:"ignoreViolations,omitempty"`
	// EnableWeakerNestedSandbox accepts less isolation if this process is in a container.
	EnableWeakerNestedSandbox bool `json:"enableWeakerNestedSandbox,omitempty"`
	// AllowNestedUserNamespaces lets commands create user namespaces.
	AllowNestedUserNamespaces bool `json:"allowNestedUserNamespaces,omitempty"`
	// EnableWeakerNetworkIsolation lets commands reach the system's service for certificates, on
	// macOS.
	EnableWeakerNetworkIsolation bool `json:"enableWeakerNetworkIsolation,omitempty"`
	// AllowAppleEvents lets commands send Apple events, on macOS.
	AllowAppleEvents bool `json:"allowAppleEvents,omitempty"`
	// Ripgrep is the program that finds files to protect. Nil means the agent's own.
	Ripgrep *Ripgrep `json:"ripgrep,omitempty"`
	// BwrapPath is the bubblewrap program that the sandbox needs on Linux. Only managed settings
	// may set it.
	BwrapPath string `json:"bwrapPath,omitempty"`
	// SocatPath is the socat program that the sandbox needs on Linux. Only managed settings may set
	// it.
	SocatPath string `json:"socatPath,omitempty"`
}

// A Network lists the network access of commands in the sandbox.
type Network struct {
	// AllowedDomains can be reached. The agent asks about domains that are in neither list.
	AllowedDomains []string `json:"allowedDomains,omitempty"`
	// DeniedDomains can't be reached, even if they are in AllowedDomains.
	DeniedDomains []string `json:"deniedDomains,omitempty"`
	// StrictAllowlist denies domains that are in neither list, instead of asking.
	StrictAllowlist bool `json:"strictAllowlist,omitempty"`
	// AllowManagedDomainsOnly ignores the domains of all settings except managed ones.
	AllowManagedDomainsOnly bool `json:"allowManagedDomainsOnly,omitempty"`
	// AllowUnixSockets are the paths of sockets that commands can use.
	AllowUnixSockets []string `json:"allowUnixSockets,omitempty"`
	// AllowAllUnixSockets lets commands use all sockets.
	AllowAllUnixSockets bool `json:"allowAllUnixSockets,omitempty"`
	// AllowLocalBinding lets commands listen on ports of this machine.
	AllowLocalBinding bool `json:"allowLocalBinding,omitempty"`
	// AllowMachLookup are services that commands can use, on macOS.
	AllowMachLookup []string `json:"allowMachLookup,omitempty"`
	// HTTPProxyPort is the port of an HTTP proxy of the caller. 0 means the agent's own proxy.
	HTTPProxyPort int `json:"httpProxyPort,omitempty"`
	// SOCKSProxyPort is the port of a SOCKS proxy of the caller. 0 means the agent's own proxy.
	SOCKSProxyPort int `json:"socksProxyPort,omitempty"`
	// TLSTerminate makes the proxy decrypt TLS. The makers of the agent call it experimental.
	TLSTerminate *TLS `json:"tlsTerminate,omitempty"`
}

// A TLS is the certificate authority of the sandbox's proxy.
type TLS struct {
	// CACertPath is the file with the certificate.
	CACertPath string `json:"caCertPath,omitempty"`
	// CAKeyPath is the file with the key.
	CAKeyPath string `json:"caKeyPath,omitempty"`
}

// A Filesystem is which files commands in the sandbox can use.
type Filesystem struct {
	// AllowWrite are paths that commands can write.
	AllowWrite []string `json:"allowWrite,omitempty"`
	// DenyWrite are paths that commands can't write, even within AllowWrite.
	DenyWrite []string `json:"denyWrite,omitempty"`
	// DenyRead are paths that commands can't read.
	DenyRead []string `json:"denyRead,omitempty"`
	// AllowRead are paths that commands can read within DenyRead.
	AllowRead []string `json:"allowRead,omitempty"`
	// AllowManagedReadPathsOnly ignores the AllowRead of all settings except managed ones.
	AllowManagedReadPathsOnly bool `json:"allowManagedReadPathsOnly,omitempty"`
	// Disabled does not confine files.
	Disabled bool `json:"disabled,omitempty"`
}

// Credentials hide secrets from commands in the sandbox.
type Credentials struct {
	// Files are files with secrets.
	Files []Credential `json:"files,omitempty"`
	// EnvVars are variables with secrets.
	EnvVars []Credential `json:"envVars,omitempty"`
	// AllowPlaintextInject also restores masked secrets in requests without TLS.
	AllowPlaintextInject bool `json:"allowPlaintextInject,omitempty"`
	// AWSPairs are variables that together are a key of AWS.
	AWSPairs []AWSPair `json:"awsPairs,omitempty"`
	// SigV4 configures the handling of requests whose AWS signature can't be renewed.
	SigV4 *SigV4 `json:"sigv4,omitempty"`
}

// A Credential is a secret in a file or in a variable.
type Credential struct {
	// Path is the file. Either Path or Name is set.
	Path string `json:"path,omitempty"`
	// Name is the variable.
	Name string `json:"name,omitempty"`
	// Mode is "deny", or "mask" for a placeholder that the proxy replaces.
	Mode string `json:"mode"`
	// Extract is a pattern for the part that is secret.
	Extract string `json:"extract,omitempty"`
	// OnExtractNoMatch is the reaction if the pattern does not match: "warn", "deny" or "error".
	OnExtractNoMatch string `json:"onExtractNoMatch,omitempty"`
	// Decode is "jwt" to mask only claims of a token.
	Decode string `json:"decode,omitempty"`
	// MaskClaims are these claims.
	MaskClaims []string `json:"maskClaims,omitempty"`
	// MaskDuplicates masks the same secret in other places of the file.
	MaskDuplicates bool `json:"maskDuplicates,omitempty"`
	// InjectHosts are the hosts that get the real secret.
	InjectHosts []string `json:"injectHosts,omitempty"`
}

// An AWSPair names the variables of one key of AWS.
type AWSPair struct {
	// AccessKeyIDVar is the variable with the ID of the key.
	AccessKeyIDVar string `json:"accessKeyIdVar"`
	// SecretAccessKeyVar is the variable with the secret.
	SecretAccessKeyVar string `json:"secretAccessKeyVar"`
	// SessionTokenVar is the variable with the session token, or empty.
	SessionTokenVar string `json:"sessionTokenVar,omitempty"`
}

// A SigV4 configures the handling of requests whose signature can't be renewed, each "deny" or
// "passthrough".
type SigV4 struct {
	// Streaming is for requests whose body is signed in pieces.
	Streaming string `json:"streaming,omitempty"`
	// Presigned is for URLs that contain a signature.
	Presigned string `json:"presigned,omitempty"`
	// SigV4A is for signatures of several regions.
	SigV4A string `json:"sigv4a,omitempty"`
}

// A Ripgrep is a ripgrep program.
type Ripgrep struct {
	// Command is the program.
	Command string `json:"command"`
	// Args come before all other arguments.
	Args []string `json:"args,omitempty"`
}
