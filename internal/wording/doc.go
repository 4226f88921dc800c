// Package wording writes numbers as users read them: the one place for their spelling on terminals,
// pages and in errors. Programs get plain numbers, as JSON or CSV.
//
// [Number] writes all digits, and [Rounded] a few with a unit of thousands. [Count] and [Tokens] add
// the noun. [Size] is for bytes.
//
// [Duration] is for text, [ShortDuration] for columns and status lines, and [Seconds] for a clock that
// runs. [Age] is the time since something.
package wording
