// Package costs compares our costs with the agent's own accounts. It checks the price table, and
// the account of a session that is continued.
package costs
