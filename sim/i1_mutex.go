package sim

import (
	"fmt"
	"time"

	"driftlock/clock"
)

// mutex is I1: never are two acquisitions of one key valid, by their holders'
// own clocks, at one true instant. Its margin is the gap between the two trusts.
func (c *checker) mutex() {
	c.trusting = c.trusting[:0] // leases so far, in the order of their grants, that may not be over
	for j := range c.leases {
		late, trusted := &c.leases[j], c.trusting[:0]
		for _, i := range c.trusting {
			early := &c.leases[i]
			if early.TrustEnds <= late.Granted {
				continue
			}
			trusted = append(trusted, i)
			if early.key != late.key || early.grant == late.grant || late.TrustEnds <= late.Granted {
				continue
			}
			gap := time.Duration(late.Granted - early.TrustEnds)
			c.broke(Violation{
				Invariant: I1, At: late.Granted, Client: late.Client, Key: late.Key, Lease: j, Other: i, Margin: gap, HasMargin: true,
				Text: fmt.Sprintf("%s was granted %q while %s believed, by its own clock, that it held it until %v: both did for %v",
					late.Client, late.Key, early.Client, clock.Duration(early.TrustEnds), time.Duration(min(early.TrustEnds, late.TrustEnds)-late.Granted)),
			})
		}
		c.trusting = append(trusted, j)
	}
}
