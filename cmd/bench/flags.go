package main

import (
	"errors"
	"flag"
	"fmt"
)

// A misuse is a command line that asks for what there is not.
type misuse struct{ error }

// errTold is one that package flag has told.
var errTold = misuse{errors.New("bad flags")}

// parse reads the flags, after which nothing may stand. Both commands have rounds.
func parse(flags *flag.FlagSet, args []string, rounds *int) error {
	err := flags.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return err
	case err != nil:
		return errTold
	case flags.NArg() > 0:
		return misuse{fmt.Errorf("%s: %q is no flag, and nothing else is expected", flags.Name(), flags.Arg(0))}
	case *rounds < 1:
		return misuse{fmt.Errorf("-rounds %d: at least 1", *rounds)}
	}
	return nil
}

// status is the exit status for what came of a command.
func status(err error) int {
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp): // the flags have been told
		return 0
	case errors.As(err, new(misuse)):
		return 2
	}
	return 1
}
