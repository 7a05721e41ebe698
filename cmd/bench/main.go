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
	"slices"
)

func main() {
	const usage = "usage: bench lock|sim [-json] [-rounds n]"
	programs := map[string]func(args []string) error{"lock": lockMain, "sim": simMain}
	if len(os.Args) == 2 && slices.Contains([]string{"-h", "-help", "--help", "help"}, os.Args[1]) {
		fmt.Println(usage)
		return
	}
	if len(os.Args) < 2 || programs[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, usage)
		os.Exit(2)
	}
	exit(programs[os.Args[1]](os.Args[2:]))
}

func exit(err error) {
	if err != nil && err != flag.ErrHelp && err != errTold {
		fmt.Fprintln(os.Stderr, "bench:", err)
	}
	os.Exit(status(err))
}
