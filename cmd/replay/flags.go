package main

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"driftlock/sim"
	"driftlock/sim/spell"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// flagError adds to an error about an unknown flag the one that was meant, and
// says of a value that cannot be read what is allowed.
func flagError(cmd *cobra.Command, err error) error {
	if bad, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		var allowed string
		switch bad.GetFlag().Value.Type() {
		case "bool":
			allowed = "true or false"
		case "duration":
			allowed = `a duration such as "30s", "500ms" or "2m30s"`
		case "int", "uint64":
			allowed = "a whole number that is not negative"
		case "count":
			allowed = "a whole number that is not negative, such as 500, 10k or 2M,"
		default:
			return fmt.Errorf("--%s %q: %w", bad.GetFlag().Name, bad.GetValue(), bad.Unwrap())
		}
		if errors.Is(bad, strconv.ErrRange) {
			return fmt.Errorf("--%s %s: that is too large a number", bad.GetFlag().Name, bad.GetValue())
		}
		return fmt.Errorf("--%s %q: %s is expected", bad.GetFlag().Name, bad.GetValue(), allowed)
	}
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return err
	}
	if cmd.Name() == "search" && unknown.GetSpecifiedName() == "seed" {
		return fmt.Errorf("%w: search begins at --first; one seed alone is run SPACE:SEED, such as run drift-wide:24", err)
	}
	var known []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
	return fmt.Errorf("%w%s", err, spell.Hint(unknown.GetSpecifiedName(), known))
}

// count is a number that may be large: 10k is 10,000, 2M two million.
type count uint64

func (c *count) String() string { return strconv.FormatUint(uint64(*c), 10) }

// Type is pflag.Value's.
func (c *count) Type() string { return "count" }

// Set is pflag.Value's.
func (c *count) Set(s string) error {
	unit := uint64(1)
	for i, suffix := range []string{"k", "M", "G"} {
		if digits, ok := strings.CutSuffix(s, suffix); ok {
			s, unit = digits, uint64(math.Pow10(3*i+3))
		}
	}
	n, err := strconv.ParseUint(strings.ReplaceAll(s, "_", ""), 10, 64)
	switch {
	case err != nil:
		return err
	case n > math.MaxUint64/unit:
		return strconv.ErrRange
	}
	*c = count(n * unit)
	return nil
}

// takes allows at most so many arguments, of which it says what they are.
func takes(most int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) <= most:
			return nil
		case most == 0:
			return fmt.Errorf("%s takes no argument, and here is %q", cmd.Name(), args[0])
		}
		return fmt.Errorf("%s takes %s at most, and here are %d: %s", cmd.Name(), what, len(args), command(args))
	}
}

// spaceNames lists the spaces that there are.
func spaceNames() string { return strings.Join(spaces(), ", ") }

func spaces() (names []string) {
	for _, sp := range sim.Spaces() {
		names = append(names, sp.Name())
	}
	return names
}
