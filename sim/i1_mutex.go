package sim

import (
	"fmt"
	"time"

	"driftlock/clock"
)

// mutex is I1: never are two acquisitions of one key valid, by their holders'
// own clocks, at one true instant. Its margin is the gap between the two trusts.
func (c *checker) mutex() {
	for j := range c.leases {
		late := &c.leases[j]
		for i := range c.leases {
			early := &c.leases[i]
			if early.key != late.key || early.grant == late.grant || !before(early, i, late, j) ||
				late.Granted >= early.TrustEnds || late.TrustEnds <= late.Granted {
				continue
			}
			gap := time.Duration(late.Granted - early.TrustEnds)
			c.verdict.Violations = append(c.verdict.Violations, Violation{
				Invariant: I1, At: late.Granted, Client: late.Client, Key: late.Key, Lease: j, Other: i, Margin: gap, HasMargin: true,
				Text: fmt.Sprintf("%s was granted %q while %s believed, by its own clock, that it held it until %v: both did for %v",
					late.Client, late.Key, early.Client, clock.Duration(early.TrustEnds), time.Duration(min(early.TrustEnds, late.TrustEnds)-late.Granted)),
			})
		}
	}
}

// before orders two leases by their grants.
func before(a *lease, i int, b *lease, j int) bool {
	return a.Granted < b.Granted || a.Granted == b.Granted && i < j
}
