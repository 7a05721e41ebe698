package sim

import (
	"fmt"

	"driftlock/clock"
)

// soundness is I2: while a client trusts its lease, at least N−q+1 nodes block
// for it. The end of both is outside, so a tie is sound. Its margin is by how
// much exclusion outlived trust.
func (c *checker) soundness() {
	for i := range c.leases {
		l := &c.leases[i]
		if l.ExclusionEnds >= l.TrustEnds {
			continue
		}
		few := fmt.Sprintf("fewer than %d", c.mustBlock())
		if c.mustBlock() == 1 {
			few = "none"
		}
		c.broke(Violation{
			Invariant: I2, At: l.ExclusionEnds, Client: l.Client, Key: l.Key, Lease: i, Other: -1, Margin: l.Margin(), HasMargin: true,
			Text: fmt.Sprintf("%s believed that it held %q until %v, but from %v on %s of %d nodes blocked for it: %v too long",
				l.Client, l.Key, clock.Duration(l.TrustEnds), clock.Duration(l.ExclusionEnds), few, len(c.nodes), -l.Margin()),
		})
	}
}
