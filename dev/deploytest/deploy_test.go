// Package deploytest checks the manifests in deploy against the engine that they are for.
package deploytest

import (
	"bytes"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/fleet/agents"
	"github.com/clewdev/clew/internal/golden"
	"github.com/clewdev/clew/internal/polltest"
	"github.com/clewdev/clew/nats/natsfleet"
)

// manifests is the directory with the manifests for Kubernetes.
var manifests = filepath.Join("..", "..", "deploy", "kubernetes")

// An object is a document of YAML, or a part of one.
type object map[string]any

// at returns what is at a path, or nil.
func at(v any, path ...string) any {
	for _, name := range path {
		switch o := v.(type) {
		case map[string]any:
			v = o[name]
		case object:
			v = o[name]
		default:
			return nil
		}
	}
	return v
}

func text(v any, path ...string) string {
	s, _ := at(v, path...).(string)
	return s
}

func list(v any, path ...string) []any {
	l, _ := at(v, path...).([]any)
	return l
}

// walk calls f with each field of a JSON value, at any depth.
func walk(v any, f func(name string, value any)) {
	switch v := v.(type) {
	case object:
		walk(map[string]any(v), f)
	case map[string]any:
		for name, value := range v {
			f(name, value)
			walk(value, f)
		}
	case []any:
		for _, value := range v {
			walk(value, f)
		}
	}
}

func readManifest(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(manifests, name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func readYAML(t *testing.T, name string) []object {
	t.Helper()
	var docs []object
	for d := yaml.NewDecoder(bytes.NewReader(readManifest(t, name))); ; {
		var doc object
		err := d.Decode(&doc)
		if errors.Is(err, io.EOF) {
			return docs
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if text(doc, "apiVersion") == "" || text(doc, "kind") == "" {
			t.Errorf("%s has a document without a kind: %v", name, doc)
		}
		docs = append(docs, doc)
	}
}

// A deployment is all manifests.
type deployment struct {
	objects []object
	names   map[string]bool // "Service clew-nats" and the like
	pods    []object        // the templates
}

func readDeployment(t *testing.T) *deployment {
	t.Helper()
	d := &deployment{names: make(map[string]bool)}
	kustomization := readYAML(t, "kustomization.yaml")[0]
	files := []string{"kustomization.yaml"}
	for _, file := range list(kustomization, "resources") {
		files = append(files, file.(string))
		d.objects = append(d.objects, readYAML(t, file.(string))...)
	}
	there, err := filepath.Glob(filepath.Join(manifests, "*.yaml"))
	if err != nil || len(there) != len(files) {
		t.Errorf("files %q, error %v, but the kustomization has %q", there, err, files)
	}
	for _, o := range d.objects {
		d.names[text(o, "kind")+" "+text(o, "metadata", "name")] = true
		if template, ok := at(o, "spec", "template").(map[string]any); ok {
			d.pods = append(d.pods, template)
		}
	}
	for _, generated := range list(kustomization, "configMapGenerator") {
		d.names["ConfigMap "+text(generated, "name")] = true
		for _, file := range list(generated, "files") {
			readManifest(t, file.(string))
		}
	}
	for line := range strings.Lines(string(readManifest(t, "README.md"))) { // secrets are not in files
		if _, after, ok := strings.Cut(line, "create secret generic "); ok {
			d.names["Secret "+strings.Fields(after)[0]] = true
		}
	}
	if len(d.objects) < 10 || len(d.pods) != 3 {
		t.Fatalf("%d objects with %d pods", len(d.objects), len(d.pods))
	}
	return d
}

// TestManifests checks that the manifests fit together.
func TestManifests(t *testing.T) {
	t.Parallel()
	d := readDeployment(t)
	for _, o := range d.objects {
		name := text(o, "kind") + " " + text(o, "metadata", "name")
		for _, want := range references(o) {
			if !d.names[want] {
				t.Errorf("%s refers to the %s, which is not there", name, want)
			}
		}
		walk(o, func(member string, value any) {
			selector, _ := value.(map[string]any)
			switch member {
			case "selector", "podSelector", "labelSelector":
				if labels, ok := selector["matchLabels"].(map[string]any); ok {
					selector = labels
				}
				if len(selector) > 0 { // an empty one selects all
					d.wantPod(t, name, selector)
				}
			}
			if port, ok := value.(string); ok && (member == "port" || member == "targetPort") && !d.hasPort(port) {
				t.Errorf("%s has the port %q, which no container has", name, port)
			}
		})
	}
}

// references returns the objects that an object names.
func references(o object) (names []string) {
	walk(o, func(member string, value any) {
		switch member {
		case "secret":
			names = append(names, "Secret "+text(value, "secretName"))
		case "secretRef", "secretKeyRef":
			names = append(names, "Secret "+text(value, "name"))
		case "configMap":
			names = append(names, "ConfigMap "+text(value, "name"))
		case "serviceName":
			names = append(names, "Service "+value.(string))
		}
		for _, part := range append(list(map[string]any{"": value}, ""), value) { // arguments and values
			s, _ := part.(string)
			if _, after, ok := strings.Cut(s, "tls://"); ok {
				host, _, _ := strings.Cut(after, ":")
				names = append(names, "Service "+host)
			}
		}
	})
	return names
}

// wantPod checks that a selector selects pods.
func (d *deployment) wantPod(t *testing.T, name string, selector map[string]any) {
	t.Helper()
	for _, pod := range d.pods {
		labels, _ := at(pod, "metadata", "labels").(map[string]any)
		if maps.Equal(selector, intersect(labels, selector)) {
			return
		}
	}
	t.Errorf("%s selects %v, which no pod has", name, selector)
}

func intersect(labels, selector map[string]any) map[string]any {
	common := make(map[string]any)
	for name := range selector {
		if value, ok := labels[name]; ok {
			common[name] = value
		}
	}
	return common
}

func (d *deployment) hasPort(name string) bool {
	return slices.ContainsFunc(d.pods, func(pod object) bool {
		found := false
		for _, container := range list(pod, "spec", "containers") {
			for _, port := range list(container, "ports") {
				found = found || text(port, "name") == name
			}
		}
		return found
	})
}

// TestPods checks what each pod may do, and that its volumes are there.
func TestPods(t *testing.T) {
	t.Parallel()
	for _, o := range readDeployment(t).objects {
		pod := at(o, "spec", "template", "spec")
		if pod == nil {
			continue
		}
		name := text(o, "kind") + " " + text(o, "metadata", "name")
		volumes := make(map[string]bool)
		for _, v := range slices.Concat(list(pod, "volumes"), list(o, "spec", "volumeClaimTemplates")) {
			volumes[text(v, "name")+text(v, "metadata", "name")] = true
			if dir, ok := at(v, "emptyDir").(map[string]any); ok && dir["sizeLimit"] == nil {
				t.Errorf("%s: the volume %s has no limit", name, text(v, "name"))
			}
		}
		for _, want := range []struct {
			path string
			want any
		}{
			{"automountServiceAccountToken", false}, {"securityContext.runAsNonRoot", true},
			{"securityContext.seccompProfile.type", "RuntimeDefault"},
		} {
			if got := at(pod, strings.Split(want.path, ".")...); got != want.want {
				t.Errorf("%s: %s is %v", name, want.path, got)
			}
		}
		for _, c := range list(pod, "containers") {
			got, want := at(c, "securityContext"), map[string]any{
				"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true,
				"capabilities": map[string]any{"drop": []any{"ALL"}},
			}
			if diff := cmp.Diff(any(want), got); diff != "" {
				t.Errorf("%s: securityContext (-want +got):\n%s", name, diff)
			}
			for _, mount := range list(c, "volumeMounts") {
				if !volumes[text(mount, "name")] {
					t.Errorf("%s mounts %s, which is not there", name, text(mount, "name"))
				}
			}
		}
	}
}

// TestWorkerPod checks that a worker has time to end its jobs, and a policy that it can read.
func TestWorkerPod(t *testing.T) {
	t.Parallel()
	for _, o := range readDeployment(t).objects {
		if text(o, "kind") != "Deployment" {
			continue
		}
		pod := at(o, "spec", "template", "spec")
		grace, _ := at(pod, "terminationGracePeriodSeconds").(uint64)
		var drain time.Duration
		for _, arg := range list(list(pod, "containers")[0], "args") {
			if value, ok := strings.CutPrefix(arg.(string), "--drain-timeout="); ok {
				drain, _ = time.ParseDuration(value)
			}
		}
		if drain <= 0 || time.Duration(grace)*time.Second <= drain {
			t.Errorf("the worker has %d s to end, and takes %v", grace, drain)
		}
	}
	d := json.NewDecoder(bytes.NewReader(readManifest(t, "policy.json")))
	d.DisallowUnknownFields()
	if err := d.Decode(new(agents.Policy)); err != nil {
		t.Errorf("policy.json: %v", err)
	}
}

// checkFile compares a file of the manifests with its expected content. The flag -update writes it.
func checkFile(t *testing.T, name, want string) {
	t.Helper()
	if golden.Updates() {
		if err := os.WriteFile(filepath.Join(manifests, name), []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got := strings.ReplaceAll(string(readManifest(t, name)), "\r\n", "\n")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s, which -update writes (-want +got):\n%s", name, diff)
	}
}

var roles = []natsfleet.Role{natsfleet.Watch, natsfleet.Submit, natsfleet.Work}

// TestRoleFile checks that the roles of the servers are ours.
func TestRoleFile(t *testing.T) {
	t.Parallel()
	text := "# What the roles may do. This is made from natsfleet.Permissions: go test ./dev/deploytest -run RoleFile -update\n"
	for _, role := range roles {
		publish, subscribe, err := natsfleet.Permissions("", role)
		if err != nil {
			t.Fatal(err)
		}
		text += fmt.Sprintf("%s_role: {\n  publish: {allow: [\n    %q\n  ]}\n  subscribe: {allow: [\n    %q\n  ]}\n}\n", role, publish, subscribe)
	}
	text = strings.NewReplacer(`["`, `"`, `"]`, `"`, `" "`, "\"\n    \"").Replace(text)
	checkFile(t, "roles.conf", text)
}

// TestServerConfiguration reads the configuration of the servers as they do.
func TestServerConfiguration(t *testing.T) {
	t.Setenv("POD_NAME", "clew-nats-0")
	for _, name := range []string{"ADMIN", "WATCH", "SUBMIT", "WORK"} {
		t.Setenv(name+"_PASSWORD", "p-"+strings.ToLower(name))
	}
	opts, err := server.ProcessConfigFile(writeConfiguration(t))
	if err != nil {
		t.Fatal(err)
	}
	if !opts.SyncAlways || !opts.JetStream || opts.TLSConfig == nil || opts.Cluster.TLSConfig == nil || len(opts.Routes) != 3 {
		t.Errorf("sync always %t, JetStream %t, %d routes; or there is no TLS", opts.SyncAlways, opts.JetStream, len(opts.Routes))
	}
	want := []*server.User{{Username: "admin", Password: "p-admin"}}
	for _, role := range roles {
		publish, subscribe, err := natsfleet.Permissions("", role)
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, &server.User{Username: string(role), Password: "p-" + string(role), Permissions: &server.Permissions{
			Publish: &server.SubjectPermission{Allow: publish}, Subscribe: &server.SubjectPermission{Allow: subscribe},
		}})
	}
	if diff := cmp.Diff(want, opts.Users, cmpopts.IgnoreUnexported(server.User{})); diff != "" {
		t.Errorf("users (-want +got):\n%s", diff)
	}
}

// certificate writes the certificate of a server and its key, and returns their paths.
func certificate(t *testing.T) (certFile, keyFile string) {
	t.Helper()
	srv := httptest.NewTLSServer(nil)
	defer srv.Close()
	pair := srv.TLS.Certificates[0]
	private, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	certFile, keyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for path, block := range map[string]*pem.Block{
		certFile: {Type: "CERTIFICATE", Bytes: pair.Certificate[0]}, keyFile: {Type: "PRIVATE KEY", Bytes: private},
	} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return certFile, keyFile
}

// writeConfiguration writes the configuration of a server with certificates that are there, and returns its path.
func writeConfiguration(t *testing.T) string {
	t.Helper()
	cert, key := certificate(t)
	dir := t.TempDir()
	for _, name := range []string{"nats.conf", "roles.conf"} {
		text := strings.NewReplacer(
			"/etc/nats-tls/tls.crt", filepath.ToSlash(cert), "/etc/nats-tls/ca.crt", filepath.ToSlash(cert),
			"/etc/nats-tls/tls.key", filepath.ToSlash(key),
		).Replace(string(readManifest(t, name)))
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "nats.conf")
}

// TestStreamFiles checks that the manifests create the same streams as Open, with three replicas.
func TestStreamFiles(t *testing.T) {
	t.Parallel()
	const password = "0123456789abcdef"
	dir := t.TempDir()
	engine, err := natsfleet.Open(t.Context(), &natsfleet.Options{
		Dir: dir, Users: []natsfleet.User{{Name: "work", Password: password, Role: natsfleet.Work}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
	}()
	if _, err := engine.Store(t.Context()); err != nil { // it creates the stream
		t.Fatal(err)
	}
	opts, err := natsfleet.Find(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := nats.Connect(opts.URL, nats.UserInfo("work", password), nats.CustomInboxPrefix("_INBOX.work"), nats.Timeout(polltest.Limit))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn, jetstream.WithDefaultTimeout(polltest.Limit))
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"FILES", "SESSIONS"}
	for _, table := range fleet.Tables {
		names = append(names, strings.ToUpper(string(table)))
	}
	var want, got []string
	for _, name := range names {
		want = append(want, "streams/CLEW_"+name+".json")
	}
	for _, generated := range list(readYAML(t, "kustomization.yaml")[0], "configMapGenerator") {
		if text(generated, "name") == "clew-streams" {
			for _, file := range list(generated, "files") {
				got = append(got, file.(string))
			}
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("kustomization.yaml names other streams than Open creates (-want +got):\n%s", diff)
	}
	for _, name := range names {
		stream, err := js.Stream(t.Context(), "CLEW_"+name)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		config := stream.CachedInfo().Config
		config.Replicas, config.Metadata = 3, nil
		text, err := json.MarshalIndent(config, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		checkFile(t, "streams/CLEW_"+name+".json", string(text)+"\n")
	}
}
