// Package fleet runs prompts as jobs on any number of machines, and says what becomes of each.
//
// A [Fleet] submits jobs, watches them and decides about them; a [Worker] runs them. Both share an
// [Engine], which keeps the records: package natsfleet has one in NATS JetStream, in this process or in a
// cluster, and package memfleet one in memory.
//
// # The record
//
// The record of a job is the truth, and there is no other queue. Each change of it is an [Event], and
// [Job.Apply], a pure function, says what becomes of the job. What it keeps, whatever happens in whatever
// order:
//
//   - A job runs one attempt at a time. Attempts have numbers, and an event of an attempt names its own:
//     a worker that was taken for dead changes nothing any more.
//   - No prompt is sent before the record says so. A job whose prompt may have been sent is never queued
//     again but by the policy in its record, or by a person whom the record names.
//   - An attempt ends once, and so does a job. Only a person can open a job again that has failed.
//   - Each job that has not ended is queued, in the hands of a worker, waits for something that the
//     record names, or is [Lost], which asks for attention.
//
// A record is written only if it has not changed since it was read. So of two that write at a time one
// succeeds, and the other one reads again and decides again.
//
// # Leases
//
// A worker renews its lease every third of it. One that can't lets no further tool start after two thirds,
// and ends its agents after nine tenths. Other workers that have not seen a renewal for the whole lease and
// two seconds, by their own clocks, take its jobs away: those whose prompt was not sent are queued again,
// and the others are lost.
//
// # What is not promised
//
// Effects outside, such as what a command of the agent has done, can happen twice if the policy of the job
// repeats it. The agent has the environment variables CLEW_JOB and CLEW_ATTEMPT as a key for services that
// take one.
package fleet
