package export

import "github.com/clewdev/clew/transcript"

// Part returns a document of a part of d. t is d.Transcript, or the transcript of
// one of its subagents. Of opts, Images and Output are those of d. Totals are
// those of d, too, if t is the whole.
func (d *Document) Part(t *transcript.Transcript, opts *Options) *Document {
	kept := map[string]*Item{}
	d.eachItem(func(i *Item) {
		if len(i.Images) > 0 || i.Output != "" {
			kept[i.ToolID] = i
		}
	})
	chosen := *opts
	chosen.Images = func(_ string, item *transcript.DisplayItem) []Image {
		if i := kept[item.ToolID]; i != nil {
			return i.Images
		}
		return nil
	}
	chosen.Output = func(item *transcript.DisplayItem) string {
		if i := kept[item.ToolID]; i != nil {
			return i.Output
		}
		return ""
	}
	part := New(t, &chosen)
	part.Redacted = d.Redacted
	if t.AgentID == d.AgentID {
		part.Totals, part.PricesDate = d.Totals, d.PricesDate
	}
	return part
}

// eachItem calls f for all items of a document, in branches and subagents, too.
func (d *Document) eachItem(f func(*Item)) {
	eachOf(d.Chunks, d.Branches, f)
	for i := range d.Unlinked {
		eachOf(d.Unlinked[i].Chunks, d.Unlinked[i].Branches, f)
	}
}

func eachOf(chunks []Chunk, branches []Branch, f func(*Item)) {
	for i := range chunks {
		for j := range chunks[i].Items {
			item := &chunks[i].Items[j]
			f(item)
			for k := range item.Agents {
				eachOf(item.Agents[k].Chunks, item.Agents[k].Branches, f)
			}
		}
	}
	for i := range branches {
		eachOf(branches[i].Chunks, nil, f)
	}
}
