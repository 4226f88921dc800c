// Package prompts turns typed text into prompts. It finds the images that a text names, runs the
// user's commands, and keeps the history.
package prompts

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/internal/files"
	"github.com/clewdev/clew/wire"
)

// An Image is an image that a prompt names.
type Image struct {
	Path  string // as it was written
	Block *wire.ImageBlock
}

// Images returns the images that a text names, relative to a directory. Paths of other files, and of
// none, are not images.
func Images(text, dir string) []Image {
	var images []Image
	for _, path := range imagePaths(text) {
		if block, err := readImage(path, dir); err == nil {
			images = append(images, Image{path, block})
		}
	}
	return images
}

// imagePath matches what may be the path of an image: a word, or one in quotes. Spaces may have a
// backslash.
var imagePath = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)"[^"\n]+\.(?:png|jpe?g|gif|webp)"|'[^'\n]+\.(?:png|jpe?g|gif|webp)'|(?:\\ |[^\s"'])+\.(?:png|jpe?g|gif|webp)\b`)
})

// maxImages is the maximum number of images in a prompt.
const maxImages = 20

// imagePaths returns the paths of images in a text, each once.
func imagePaths(text string) []string {
	const searched = 64 << 10 // a long paste has no images
	var paths []string
	seen := map[string]bool{}
	for _, match := range imagePath().FindAllString(text[:min(len(text), searched)], maxImages) {
		path := strings.Trim(strings.TrimPrefix(match, "@"), `"'`)
		path = strings.ReplaceAll(strings.TrimPrefix(path, "file://"), `\ `, " ")
		if !seen[path] {
			seen[path] = true
			paths = append(paths, path)
		}
	}
	return paths
}

// maxImage is the size of the largest image that the API takes.
const maxImage = 5 << 20

var (
	errNoImage   = errors.New("it is not an image")
	errLongImage = errors.New("it is larger than 5 MiB")
)

// readImage returns an image of a directory as a block. Its content counts, and not its name.
func readImage(path, dir string) (*wire.ImageBlock, error) {
	home, _ := os.UserHomeDir() // "" with an error
	if path = files.ExpandHome(path, home); !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errNoImage
	case info.Size() > maxImage:
		return nil, errLongImage
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return ImageBlock(data)
}

// ImageBlock returns an image as a block of a prompt, or an error if the API would not take it.
func ImageBlock(data []byte) (*wire.ImageBlock, error) {
	kind := imageType(data)
	switch {
	case kind == "":
		return nil, errNoImage
	case len(data) > maxImage:
		return nil, errLongImage
	}
	return clew.Image(kind, data), nil
}

// imageType returns the media type of an image that the API takes, or "".
func imageType(data []byte) string {
	switch {
	case bytes.HasPrefix(data, []byte("\x89PNG\r\n\x1a\n")):
		return "image/png"
	case bytes.HasPrefix(data, []byte("\xff\xd8\xff")):
		return "image/jpeg"
	case bytes.HasPrefix(data, []byte("GIF87a")), bytes.HasPrefix(data, []byte("GIF89a")):
		return "image/gif"
	case len(data) > 12 && string(data[:4]) == "RIFF" && string(data[8:12]) == "WEBP":
		return "image/webp"
	}
	return ""
}
