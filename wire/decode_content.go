package wire

// Content decodes the content of a message or of a tool's result, as
// [DecodeContent] does, without changing data. With [ReaderOptions.DiscardRaw]
// each block has memory of its own, so that one which is kept does not hold on
// to the others.
func (d *Decoder) Content(data []byte) (Content, error) {
	if len(data) == 0 {
		return nil, nil
	}
	defer d.d.unload()
	d.d.load(data)
	content := d.d.content()
	d.d.End()
	if err := d.d.Err(); err != nil {
		return content, frameError(d.d.text, d.d.graver(err))
	}
	return content, nil
}
