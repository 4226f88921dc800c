package export

import (
	"encoding/base64"
	"slices"
	"strings"

	"github.com/clewdev/clew/transcript"
	"github.com/clewdev/clew/wire"
)

// ImagesIn returns the pictures in the result of a call, which are in the entry
// of that result. Those of other types than PNG, JPEG, GIF and WebP, those that
// are not what they are said to be, and those of more than most bytes are left
// out.
func ImagesIn(e *transcript.Entry, callID string, most int) []Image {
	if e.Message == nil {
		return nil
	}
	content, err := wire.DecodeContent(wire.JSON(e.Message.Content))
	if err != nil {
		return nil
	}
	var images []Image
	for _, block := range content {
		result, ok := block.(*wire.ToolResultBlock)
		if !ok || result.ToolUseID != callID || strings.HasPrefix(string(result.Content), `"`) {
			continue
		}
		inside, err := wire.DecodeContent(result.Content)
		if err != nil {
			continue
		}
		for _, b := range inside {
			if image, ok := newImage(b, most); ok {
				images = append(images, image)
			}
		}
	}
	return images
}

func newImage(b wire.Block, most int) (Image, bool) {
	block, ok := b.(*wire.ImageBlock)
	if !ok || block.Source == nil || block.Source.Type != "base64" || len(block.Source.Data) > most/3*4+4 {
		return Image{}, false
	}
	data, err := base64.StdEncoding.DecodeString(block.Source.Data)
	image := Image{MediaType: block.Source.MediaType, Data: data}
	return image, err == nil && image.isWhatItSays()
}

// imageStarts are how files of the types begin.
var imageStarts = map[string]string{
	"image/png": "\x89PNG\r\n\x1a\n", "image/jpeg": "\xff\xd8\xff", "image/gif": "GIF8", "image/webp": "RIFF",
}

func (i *Image) isWhatItSays() bool {
	return slices.Contains(imageTypes, i.MediaType) && strings.HasPrefix(string(i.Data[:min(len(i.Data), 16)]), imageStarts[i.MediaType])
}
