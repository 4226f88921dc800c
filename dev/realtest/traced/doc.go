// Package traced tests clewotel with the real agent, over a scripted model. It checks the parents
// of the spans that the agent exports, and compares our tokens with its accounts.
package traced
