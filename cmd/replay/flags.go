package main

import (
	"errors"
	"fmt"

	"driftlock/sim/spell"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// flagError adds to an error about an unknown flag the one that was meant, and
// says of a value that cannot be read what is allowed.
func flagError(cmd *cobra.Command, err error) error {
	if bad, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		allowed := "true or false"
		switch bad.GetFlag().Value.Type() {
		case "int", "uint64":
			allowed = "a whole number that is not negative"
		}
		return fmt.Errorf("--%s %q: %s is expected", bad.GetFlag().Name, bad.GetValue(), allowed)
	}
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return err
	}
	var known []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
	return fmt.Errorf("%w%s", err, spell.Hint(unknown.GetSpecifiedName(), known))
}
