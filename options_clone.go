package clew

import (
	"maps"
	"slices"
)

// clone returns a copy that shares no slice, map or struct with o. Nil becomes the zero value.
// Functions, the transport, the logger and the handlers of MCP servers are not copied.
func (o *Options) clone() *Options {
	if o == nil {
		return &Options{}
	}
	c := *o
	for _, list := range []*[]string{
		&c.Env, &c.InheritEnv, &c.ExtraArgs, &c.AddDirs, &c.FallbackModels, &c.Betas, &c.Tools, &c.AllowedTools,
		&c.DisallowedTools, &c.MCPConfigFiles, &c.Skills, &c.SupportedDialogKinds, &c.DebugCategories,
	} {
		*list = slices.Clone(*list)
	}
	c.ResumeDropsTurn = clonePointer(o.ResumeDropsTurn)
	c.Thinking = clonePointer(o.Thinking)
	c.SystemPrompt = o.SystemPrompt.clone()
	c.ToolAliases = maps.Clone(o.ToolAliases)
	c.Sandbox = o.Sandbox.clone()
	c.Agents = cloneMap(o.Agents, AgentDefinition.clone)
	c.MCPServers = cloneMap(o.MCPServers, cloneServer)
	c.Plugins = slices.Clone(o.Plugins)
	c.Hooks = cloneMap(o.Hooks, cloneMatchers)
	c.SettingSources = slices.Clone(o.SettingSources)
	c.Reconnect = clonePointer(o.Reconnect)
	c.Trace = clonePointer(o.Trace)
	return &c
}

func (p *SystemPrompt) clone() *SystemPrompt {
	c := clonePointer(p)
	if c != nil {
		c.Custom = slices.Clone(c.Custom)
	}
	return c
}

func (a AgentDefinition) clone() AgentDefinition {
	for _, list := range []*[]string{&a.Tools, &a.DisallowedTools, &a.Skills, &a.MCPServers, &a.Observers} {
		*list = slices.Clone(*list)
	}
	a.OwnMCPServers = cloneMap(a.OwnMCPServers, cloneServer)
	return a
}

// cloneServer turns a nil pointer into a nil interface, because the check looks for that.
func cloneServer(server MCPServer) MCPServer {
	switch s := server.(type) {
	case *MCPStdioServer:
		if s != nil {
			c := *s
			c.Args, c.Env = slices.Clone(s.Args), maps.Clone(s.Env)
			return &c
		}
	case *MCPSSEServer:
		if s != nil {
			c := *s
			c.Headers, c.Tools = maps.Clone(s.Headers), slices.Clone(s.Tools)
			return &c
		}
	case *MCPHTTPServer:
		if s != nil {
			c := *s
			c.Headers, c.Tools = maps.Clone(s.Headers), slices.Clone(s.Tools)
			return &c
		}
	case *MCPInProcessServer:
		if s != nil {
			c := *s
			c.Tools = slices.Clone(s.Tools)
			return &c
		}
	}
	return nil
}

func (s *SandboxSettings) clone() *SandboxSettings {
	c := clonePointer(s)
	if c == nil {
		return nil
	}
	c.FailIfUnavailable = clonePointer(s.FailIfUnavailable)
	c.AutoAllowBashIfSandboxed = clonePointer(s.AutoAllowBashIfSandboxed)
	c.AllowUnsandboxedCommands = clonePointer(s.AllowUnsandboxedCommands)
	c.ExcludedCommands = slices.Clone(s.ExcludedCommands)
	c.Network = s.Network.clone()
	c.Filesystem = s.Filesystem.clone()
	c.Credentials = s.Credentials.clone()
	c.IgnoreViolations = cloneMap(s.IgnoreViolations, slices.Clone[[]string])
	if c.Ripgrep = clonePointer(s.Ripgrep); c.Ripgrep != nil {
		c.Ripgrep.Args = slices.Clone(s.Ripgrep.Args)
	}
	return c
}

func (n *SandboxNetwork) clone() *SandboxNetwork {
	c := clonePointer(n)
	if c == nil {
		return nil
	}
	for _, list := range []*[]string{&c.AllowedDomains, &c.DeniedDomains, &c.AllowUnixSockets, &c.AllowMachLookup} {
		*list = slices.Clone(*list)
	}
	c.TLSTerminate = clonePointer(n.TLSTerminate)
	return c
}

func (f *SandboxFilesystem) clone() *SandboxFilesystem {
	c := clonePointer(f)
	if c == nil {
		return nil
	}
	for _, list := range []*[]string{&c.AllowWrite, &c.DenyWrite, &c.DenyRead, &c.AllowRead} {
		*list = slices.Clone(*list)
	}
	return c
}

func (s *SandboxCredentials) clone() *SandboxCredentials {
	c := clonePointer(s)
	if c == nil {
		return nil
	}
	c.Files, c.EnvVars, c.AWSPairs = slices.Clone(s.Files), slices.Clone(s.EnvVars), slices.Clone(s.AWSPairs)
	for _, list := range [][]SandboxCredential{c.Files, c.EnvVars} {
		for i := range list {
			list[i].MaskClaims, list[i].InjectHosts = slices.Clone(list[i].MaskClaims), slices.Clone(list[i].InjectHosts)
		}
	}
	c.SigV4 = clonePointer(s.SigV4)
	return c
}

func clonePointer[T any](p *T) *T {
	if p == nil {
		return nil
	}
	c := *p
	return &c
}

// cloneMap copies a map and, with clone, its values. A nil map stays nil.
func cloneMap[M ~map[K]V, K comparable, V any](m M, clone func(V) V) M {
	c := maps.Clone(m)
	for k, v := range c {
		c[k] = clone(v)
	}
	return c
}

func cloneMatchers(matchers []HookMatcher) []HookMatcher {
	c := slices.Clone(matchers)
	for i := range c {
		c[i].Hooks = slices.Clone(c[i].Hooks)
	}
	return c
}
