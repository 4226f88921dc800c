// Package fleet runs prompts as jobs on any number of machines, and records the outcome of each.
//
// A [Fleet] submits jobs, watches them and decides about them; a [Worker] runs them. Both share an
// [Engine], which keeps the records: package natsfleet has one in NATS JetStream, in this process or in a
// cluster, and package memfleet one in memory.
//
// # The record
//
// The record of a job is the truth, and there is no other queue. Each change of it is an [Event],
// and [Job.Apply], a pure function, computes the next state of the job. It keeps these rules in
// every order of events:
//
//   - A job runs one attempt at a time. Attempts have numbers, and an event of an attempt names its own:
//     a worker that was taken for dead changes nothing any more.
//   - No prompt is sent before the record says so. A job whose prompt may have been sent is never queued
//     again but by the policy in its record, or by a person whom the record names.
//   - An attempt ends once, and so does a job. Only a person can reopen a failed job.
//   - Each open job is queued, in the hands of a worker, waits for something that the
//     record names, or is [Lost], which asks for attention.
//
// A record is written only if it is unchanged since it was read. Of two writers at the same time,
// one succeeds, and the other reads the record and decides again.
//
// # Leases
//
// A worker renews its lease every third of it. If it can't, it lets no tool start after two thirds,
// and ends its agents after nine tenths. Other workers that see no renewal for the whole lease and
// two seconds, by their own clocks, take over its jobs: a job whose prompt was not sent is queued
// again, and any other is lost.
//
// # What is not promised
//
// Outside effects, such as those made by the agent's commands, can happen twice if the policy of
// the job repeats it. The agent has the environment variables CLEW_JOB and CLEW_ATTEMPT as a key
// for services that take one.
//
// # States
//
// Events move a job from one state to another:
//
//	blocked          queued, failed       the jobs before it ended
//	queued           claimed              by a worker, whose attempt gets the next number
//	                 waiting              if no live worker takes it
//	                 failed               after ten such tries in a row
//	claimed          running              by the same worker
//	                 queued, waiting      if the worker is gone or can't start it: no prompt was sent
//	                 failed               after ten such attempts in a row
//	running          done, failed         by the same worker and attempt
//	                 waiting, asking      by the same worker and attempt
//	                 done                 if the worker is gone, but the turn is finished
//	                 lost                 if the worker is gone
//	                 queued               if the worker is gone, and the job's policy allows it
//	waiting, asking  queued               at a time, by an answer
//	lost, failed     queued               by a person, whom the record names
//
// Anyone may cancel an open job; if a worker has it, the worker ends it. A worker that was taken
// for dead is too late: its events name an attempt that ended, and its result becomes a note.
// Limits of an account and questions don't count as attempts. Waiting for limits ends after 20
// times or 24 hours in a row.
//
// # No queue
//
// Each worker watches the records and claims one by a write that only one of several workers can
// win. Workers that choose at the same time start at different records. A queue would be a second
// truth that has to be compared with the first, and costs another synced write for each job. With
// all records in view, priorities, accounts and dependencies are a matter of sorting. The price is
// that each worker gets all changes of all jobs: at 100 jobs a second, 400 small messages. A larger
// fleet is several fleets, each with its own name on the same servers.
//
// A hash of the job and the live workers chooses the worker that wakes a job or takes it from a
// dead worker. The others do it if it is not done some seconds later, so that none of them has to
// be elected.
//
// # Damage
//
// A record that can't be read costs only its job: lists show it as [Damaged], watches continue, and
// it can be dropped. A worker whose record can't be read counts as dead when its revision stays the
// same for a lease: a live worker would have replaced it.
package fleet
