package main

import (
	"errors"
	"fmt"

	"driftlock/sim/spell"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// flagError adds to an error about an unknown flag the one that was meant.
func flagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return err
	}
	var known []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
	return fmt.Errorf("%w%s", err, spell.Hint(unknown.GetSpecifiedName(), known))
}
