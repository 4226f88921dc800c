package main

import (
	"context"
	"embed"
	"fmt"
	"os"
)

// The SDKs that we compare with, at these versions.
const (
	typeScriptSDK = "@anthropic-ai/claude-agent-sdk@0.3.325"
	pythonSDK     = "claude-agent-sdk==0.2.143"
)

// scripts are the hosts that use them.
//
//go:embed scripts
var scripts embed.FS

// install puts the SDKs of others into the folder of the bench, unless they are there already. One that cannot be
// installed is left out, with a note in the report.
func (b *bench) install(ctx context.Context) error {
	if _, err := os.Stat(b.path("scripts")); err == nil {
		return nil
	}
	if err := os.CopyFS(b.dir, scripts); err != nil {
		return err
	}
	b.add(typeScript, func() ([]string, error) { return b.installTypeScript(ctx) })
	b.add(python, func() ([]string, error) { return b.installPython(ctx) })
	return ctx.Err()
}

func (b *bench) add(name string, install func() ([]string, error)) {
	fmt.Fprintln(os.Stderr, "installing the SDK for", name)
	command, err := install()
	if err != nil {
		b.report.note("%s is left out: %v", name, err)
		return
	}
	b.sdks = append(b.sdks, host{name, command})
}

// installTypeScript leaves out the optional packages, which are agent binaries of 350 MB.
func (b *bench) installTypeScript(ctx context.Context) ([]string, error) {
	version, err := output(ctx, "node", "--version")
	if err != nil {
		return nil, err
	}
	_, err = output(ctx, "npm", "install", "--prefix", b.path("scripts"), "--ignore-scripts", "--omit=optional",
		"--no-audit", "--no-fund", "--no-package-lock", typeScriptSDK)
	if err != nil {
		return nil, err
	}
	b.report.version("%s on Node %s", typeScriptSDK, version)
	return []string{"node", b.path("scripts", "host.mjs")}, nil
}

func (b *bench) installPython(ctx context.Context) ([]string, error) {
	version, err := output(ctx, "python3", "--version")
	if err != nil {
		return nil, err
	}
	if _, err := output(ctx, "python3", "-m", "venv", b.path("venv")); err != nil {
		return nil, err
	}
	interpreter := b.path("venv", "bin", "python")
	if _, err := output(ctx, interpreter, "-m", "pip", "install", "--quiet", pythonSDK); err != nil {
		return nil, err
	}
	b.report.version("%s on %s", pythonSDK, version)
	return []string{interpreter, b.path("scripts", "host.py")}, nil
}
