package contest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// CcusagePackage is the program that people use for totals, at the version that we compare with.
const CcusagePackage = "ccusage@20.0.24"

// InstallCcusage installs the package with its native program into dir, and returns the path of that.
// The package has one for the usual platforms only, and as a file that cannot be run yet.
func InstallCcusage(ctx context.Context, dir string) (string, error) {
	install := exec.CommandContext(ctx, "npm", "install", "--prefix", dir, "--ignore-scripts", "--no-audit", "--no-fund",
		"--no-package-lock", CcusagePackage)
	if out, err := install.CombinedOutput(); err != nil {
		return "", fmt.Errorf("npm install %s: %w: %s", CcusagePackage, err, out)
	}
	found, err := filepath.Glob(filepath.Join(dir, "node_modules", "@ccusage", "ccusage-*", "bin", "ccusage"))
	if err != nil {
		return "", err
	}
	if len(found) != 1 {
		return "", fmt.Errorf("%s has %d native programs for this platform", CcusagePackage, len(found))
	}
	return found[0], os.Chmod(found[0], 0o700)
}
