// Package worktree makes the working directories of jobs, with git.
//
// A [Root] is a directory of one machine. It has a bare mirror of each repository, and a [Tree] for
// each attempt at a job: a working directory at an exact commit, on its own branch. The agent's
// work there becomes a commit with [Tree.Snapshot], which [Tree.Bundle] writes for another machine,
// [Tree.Patch] as a patch, and [Tree.Push] pushes. [Apply] applies such a patch.
//
// # Trees share nothing that they write
//
// A tree is a repository that borrows the objects of the mirror, and not a linked one as "git
// worktree" makes: linked trees share branches, stashes, settings and hooks, so that one agent
// could change another's. Nothing ever writes to the mirror but a fetch, and nothing is pruned from
// it.
//
//	mirrors/<hash>.git      a bare mirror
//	mirrors/<hash>.git.lock locked while a process fetches or clones
//	trees/<name>/work       the working directory of the agent, a repository
//	trees/<name>/repo.git   the repository of the worker: snapshots and their index
//	trees/<name>/tree.json  what the tree was made from; it is written last
//	trees/<name>.lock       locked while a process has the tree
//
// # What is not trusted
//
// A repository, and the settings that an agent leaves in its own, can name programs: hooks,
// filters, monitors, helpers of transports. None of them runs here. After a tree was made, git is
// not run in the agent's repository again: snapshots are made with the repository of the worker,
// which has its own settings and index and only reads the agent's files and objects. The settings
// of the user are read where the network is used, since credentials, proxies and certificates are
// there, and by [Apply], which changes a directory of the user. Other commands read no settings but
// this package's.
//
// Which repositories a job may name, paths on this machine among them, is for the caller to decide.
//
// # Limits
//
// Submodules are not fetched; a setup command can do that. Filters don't run, so that files of LFS
// are pointers: with the filter, a snapshot would have pointers to contents that no other machine
// has. Repositories with SHA-256 are refused by git, since mirrors have SHA-1.
//
// The HEAD of the agent is read as a file, and its commits are copied as objects. URLs with
// credentials are refused, since git passes a URL to its helpers on a command line; users have
// credential helpers. A patch is applied as a whole, to files and not to the index, without a
// merge: a conflict is an error that names the file.
package worktree
