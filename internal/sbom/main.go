// Command sbom writes a bill of materials for a Go program, in the format of CycloneDX. It lists
// the modules in the program, with their versions and hashes, as the program itself records them.
//
//	go run ./internal/sbom PROGRAM FILE
package main

import (
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"runtime/debug"
	"strings"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 2 {
		return errors.New("usage: sbom PROGRAM FILE")
	}
	info, err := buildinfo.ReadFile(args[0])
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(newBill(info), "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(args[1], append(text, '\n'), 0o644) //nolint:gosec // everyone may read it
}

// A bill is a bill of materials, as CycloneDX 1.6 writes it.
type bill struct {
	Format     string      `json:"bomFormat"`
	Spec       string      `json:"specVersion"`
	Version    int         `json:"version"`
	Metadata   metadata    `json:"metadata"`
	Components []component `json:"components"`
}

// metadata say what the bill is about.
type metadata struct {
	Component component `json:"component"`
}

// A component is a part of a program, or the program itself.
type component struct {
	Type    string `json:"type"`
	Ref     string `json:"bom-ref"`
	Name    string `json:"name"`
	Version string `json:"version"`
	PURL    string `json:"purl"`
	Hashes  []hash `json:"hashes,omitempty"`
}

// A hash is that of a module, as go.sum has it.
type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

func newBill(info *debug.BuildInfo) *bill {
	b := &bill{
		Format: "CycloneDX", Spec: "1.6", Version: 1,
		Metadata: metadata{Component: newComponent("application", &info.Main)},
	}
	std := component{Type: "library", Name: "std", Version: strings.TrimPrefix(info.GoVersion, "go")}
	std.PURL = "pkg:golang/std@" + std.Version
	std.Ref = std.PURL
	b.Components = append(b.Components, std)
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		b.Components = append(b.Components, newComponent("library", m))
	}
	return b
}

func newComponent(kind string, m *debug.Module) component {
	purl := "pkg:golang/" + m.Path + "@" + url.QueryEscape(m.Version)
	return component{Type: kind, Ref: purl, Name: m.Path, Version: m.Version, PURL: purl, Hashes: hashes(m.Sum)}
}

// hashes returns the hash of a sum such as "h1:…=", which is a SHA-256 over the module's files.
func hashes(sum string) []hash {
	encoded, ok := strings.CutPrefix(sum, "h1:")
	if !ok {
		return nil
	}
	raw, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return nil
	}
	return []hash{{"SHA-256", hex.EncodeToString(raw)}}
}
