// Package wording writes numbers and times as users read them. It is the one place for their spelling on
// terminals, in pages and in errors. Programs get plain numbers, as JSON or CSV.
//
// [Number] writes all digits, and [Rounded] a few with a unit of thousands. [Count] and [Tokens] add
// the noun. [Size] is for bytes.
//
// [Duration] is for text, [ShortDuration] for columns and status lines, and [Seconds] for a clock that
// runs. [Age] is the time since something, [Clock] and [DateTime] are for a point in time, and [Span]
// for the time from one to another.
//
// A [Cost] is exact, an estimate, at least an amount because some calls have no known price, or unknown
// because none has one. It has two spellings:
//
//	long   text, and values beside a label   $1.23   about $1.23   at least $1.23   unknown
//	short  columns, notes, status lines      $1.23   ~$1.23        ≥ $1.23          ?
//
// Amounts are in cents from a cent on, and in hundredths of a cent below. Lists of sessions and status
// lines have whole cents only ([Cost.Cents]), and tables of small amounts always four digits
// ([Cost.Fixed]), so that they are aligned.
package wording
