// Package traced has the tests of clewotel with the real agent, over a scripted model: where the
// spans that the agent exports hang, and whether the tokens of ours are those of its accounts.
package traced
