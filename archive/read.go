package archive

import (
	"context"
	"fmt"
	"io"
)

// A DamageError reports that a part of a file can't be read from the archive.
type DamageError struct {
	Key     Key
	Path    string // of the file
	Segment int    // its number, from 0 on
	Offset  int64  // of the segment, in the file
	Blob    string
	Err     error
}

// Error names the session, the file and the segment.
func (e *DamageError) Error() string {
	return fmt.Sprintf("archive: %s of %s is damaged: segment %d, at byte %d, in blob %s: %v",
		e.Path, e.Key, e.Segment, e.Offset, e.Blob, e.Err)
}

// Unwrap returns Err.
func (e *DamageError) Unwrap() error { return e.Err }

// Write writes the content of a file of a session to w. Each segment is compared with its checksum
// before it is written; a different or missing segment is a [*DamageError].
func (a *Archive) Write(ctx context.Context, w io.Writer, s *Session, f *File) error {
	r := reader{archive: a, session: s}
	return r.write(ctx, w, f.Path, f.Segments)
}

// A reader reads files of a session. It keeps the last blob, since its files share blobs.
type reader struct {
	archive *Archive
	session *Session
	name    string
	blob    []byte
	plain   []byte
}

func (r *reader) write(ctx context.Context, w io.Writer, path string, segments []Segment) error {
	var at int64
	for i, seg := range segments {
		data, err := r.segment(ctx, seg)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return &DamageError{r.session.Key, path, i, at, seg.Blob, err}
		}
		if _, err := w.Write(data); err != nil {
			return err
		}
		at += seg.Size
	}
	return nil
}

// segment returns the plain bytes of a segment. They are valid until the next call.
func (r *reader) segment(ctx context.Context, seg Segment) ([]byte, error) {
	if seg.Blob != r.name {
		blob, err := r.archive.target.Get(ctx, seg.Blob)
		if err != nil {
			return nil, err
		}
		r.name, r.blob = seg.Blob, blob
	}
	if seg.At+seg.Stored > int64(len(r.blob)) {
		return nil, fmt.Errorf("the blob has only %d bytes", len(r.blob))
	}
	data, err := decompressor().DecodeAll(r.blob[seg.At:seg.At+seg.Stored], r.plain[:0])
	if err != nil {
		return nil, err
	}
	r.plain = data
	if int64(len(data)) != seg.Size || hashOf(data) != seg.SHA256 {
		return nil, fmt.Errorf("its checksum is not %s", seg.SHA256)
	}
	return data, nil
}

// A VerifyReport counts the data that [Archive.Verify] read.
type VerifyReport struct {
	Sessions, Files int
	Bytes           int64
	Problems        []Problem
}

// Verify reads everything in the archive, with earlier contents, and compares it with its checksums.
// It calls progress after each session, unless that is nil.
func (a *Archive) Verify(ctx context.Context, progress func(done, all int)) (*VerifyReport, error) {
	all, problems, err := a.Sessions(ctx)
	if err != nil {
		return nil, err
	}
	report := &VerifyReport{Problems: problems}
	for i, s := range all {
		r := reader{archive: a, session: s}
		for k := range s.Files {
			f := &s.Files[k]
			contents := [][]Segment{f.Segments}
			for _, old := range f.Old {
				contents = append(contents, old.Segments)
			}
			for _, segments := range contents {
				err := r.write(ctx, (*byteCount)(&report.Bytes), f.Path, segments)
				if ctx.Err() != nil {
					return report, ctx.Err()
				}
				if err != nil {
					report.Problems = append(report.Problems, Problem{s.Key.String(), err})
				}
			}
			report.Files++
		}
		report.Sessions++
		if progress != nil {
			progress(i+1, len(all))
		}
	}
	return report, nil
}

// A byteCount counts what is written to it.
type byteCount int64

// Write counts.
func (c *byteCount) Write(p []byte) (int, error) {
	*c += byteCount(len(p))
	return len(p), nil
}
