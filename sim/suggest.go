package sim

import (
	"fmt"

	"driftlock/sim/spell"
)

// didYouMean names the known word that was meant, if one is near.
var didYouMean = spell.Hint

// shown quotes what a file or a caller wrote, and keeps it short.
func shown(s string) string {
	if len(s) > 40 {
		return fmt.Sprintf("%.40q…", s)
	}
	return fmt.Sprintf("%q", s)
}
