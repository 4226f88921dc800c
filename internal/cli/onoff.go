package cli

import (
	"errors"
	"strconv"

	"github.com/spf13/cobra"
)

// An onOff is a flag that is on when it is given without a value. It differs from
// pflag's own in what it says about a value that is neither.
type onOff bool

// addOnOff adds a flag to cmd that sets target.
func addOnOff(cmd *cobra.Command, target *bool, name, usage string) {
	cmd.Flags().VarPF((*onOff)(target), name, "", usage).NoOptDefVal = "true"
}

// Type is bool, which the help leaves out.
func (o *onOff) Type() string { return "bool" }

func (o *onOff) String() string { return strconv.FormatBool(bool(*o)) }

// Set reads true and false, and what Go takes for them.
func (o *onOff) Set(text string) error {
	on, err := strconv.ParseBool(text)
	if err != nil {
		return errors.New("it is true or false")
	}
	*o = onOff(on)
	return nil
}
