package wire

// A TextBlock is text, written by the model or by the user.
//
//wire:block text
type TextBlock struct {
	raw   string
	plain bool // the whole content was a string

	Text string `json:"text" wire:"required"`
	// Citations are the places that the text relies on.
	Citations    []Citation    `json:"citations" wire:"lenient"`
	CacheControl *CacheControl `json:"cache_control"`
}

// A Citation is a place that a text relies on. Which fields are set depends on
// its type.
type Citation struct {
	raw string

	// Type is char_location, page_location, content_block_location,
	// web_search_result_location or search_result_location.
	Type              string `json:"type" wire:"intern"`
	CitedText         string `json:"cited_text"`
	DocumentIndex     int    `json:"document_index"`
	DocumentTitle     string `json:"document_title"`
	FileID            string `json:"file_id"`
	StartCharIndex    int    `json:"start_char_index"`
	EndCharIndex      int    `json:"end_char_index"`
	StartPageNumber   int    `json:"start_page_number"`
	EndPageNumber     int    `json:"end_page_number"`
	StartBlockIndex   int    `json:"start_block_index"`
	EndBlockIndex     int    `json:"end_block_index"`
	URL               string `json:"url"`
	Title             string `json:"title"`
	EncryptedIndex    string `json:"encrypted_index"`
	Source            string `json:"source"`
	SearchResultIndex int    `json:"search_result_index"`
}

// CacheControl asks the API to cache the prompt up to its block.
type CacheControl struct {
	raw string

	Type string `json:"type" wire:"intern"`
	// TTL is 5m or 1h.
	TTL string `json:"ttl" wire:"intern"`
}

// A ThinkingBlock is the model's reasoning. The signature lets the API check
// that it comes back unchanged.
//
//wire:block thinking
type ThinkingBlock struct {
	raw string

	Thinking  string `json:"thinking" wire:"required"`
	Signature string `json:"signature"`
}

// A RedactedThinkingBlock is reasoning that only the API can read.
//
//wire:block redacted_thinking
type RedactedThinkingBlock struct {
	raw string

	Data string `json:"data"`
}

// A CompactionBlock is a summary that stands for what came before it.
//
//wire:block compaction
type CompactionBlock struct {
	raw string

	Content          string `json:"content"`
	EncryptedContent string `json:"encrypted_content"`
}

// A FallbackBlock says that another model took over.
//
//wire:block fallback
type FallbackBlock struct {
	raw string

	From    *FallbackModel   `json:"from"`
	To      *FallbackModel   `json:"to"`
	Trigger *FallbackTrigger `json:"trigger"`
}

// A FallbackModel is one side of a fallback.
type FallbackModel struct {
	raw string

	Model string `json:"model" wire:"intern"`
}

// A FallbackTrigger says what caused a fallback.
type FallbackTrigger struct {
	raw string

	Type     string `json:"type" wire:"intern"`
	Category string `json:"category" wire:"intern"`
}
