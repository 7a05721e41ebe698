// Command bench measures driftlock beside what people would use instead. It is a
// module of its own, so that the peers are no dependency of the product.
//
//	go run . lock [-json] [-rounds n] [-table name]
//	go run . sim [-json] [-rounds n]
//
// What it prints are figures of one machine in one run: compare them with each
// other, not with those of another run.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	programs := map[string]func(args []string) error{"lock": lockMain, "sim": simMain}
	if len(os.Args) < 2 || programs[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: bench lock|sim [-json] [-rounds n]")
		os.Exit(2)
	}
	exit(programs[os.Args[1]](os.Args[2:]))
}

func exit(err error) {
	switch {
	case err == flag.ErrHelp:
		os.Exit(2)
	case err != nil:
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	os.Exit(0)
}
