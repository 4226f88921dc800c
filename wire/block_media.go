package wire

// An ImageBlock is a picture.
//
//wire:block image
type ImageBlock struct {
	raw string

	Source          *Source       `json:"source"`
	CacheControl    *CacheControl `json:"cache_control"`
	Transformations JSON          `json:"transformations"`
}

// A DocumentBlock is a document: a PDF or plain text.
//
//wire:block document
type DocumentBlock struct {
	raw string

	Source       *Source          `json:"source"`
	Title        string           `json:"title"`
	Context      string           `json:"context"`
	Citations    *CitationsConfig `json:"citations"`
	CacheControl *CacheControl    `json:"cache_control"`
}

// CitationsConfig turns citations of a document on.
type CitationsConfig struct {
	raw string

	Enabled bool `json:"enabled"`
}

// A Source is where a picture or a document comes from.
type Source struct {
	raw string

	// Type is base64, text, content, url or file.
	Type      string `json:"type" wire:"intern"`
	MediaType string `json:"media_type" wire:"intern"`
	// Data is base64 or plain text, by the type.
	Data   string `json:"data"`
	URL    string `json:"url"`
	FileID string `json:"file_id"`
	// Content is a string or a list of blocks, still JSON; see DecodeContent.
	Content JSON `json:"content"`
}

// A SearchResultBlock is a passage that the user's own search found.
//
//wire:block search_result
type SearchResultBlock struct {
	raw string

	Source string `json:"source"`
	Title  string `json:"title"`
	// Content is a list of text blocks, still JSON; see Blocks.
	Content      JSON             `json:"content"`
	Citations    *CitationsConfig `json:"citations"`
	CacheControl *CacheControl    `json:"cache_control"`
}

// Blocks returns the passage as blocks.
func (b *SearchResultBlock) Blocks() (Content, error) { return DecodeContent(b.Content) }

// A ContainerUploadBlock is a file put into a container.
//
//wire:block container_upload
type ContainerUploadBlock struct {
	raw string

	FileID string `json:"file_id"`
}
