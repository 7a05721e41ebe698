package clock_test

import (
	"context"
	"fmt"
	"time"

	"driftlock/clock"

	"github.com/jonboulle/clockwork"
)

// A clock that runs 500 ppm fast has counted 1.0005 s when a second has passed.
func ExampleDrifting() {
	base := clockwork.NewFakeClock()
	fast := clock.Drifting(base, (500 * clock.PPM).Rate())
	start := fast.Now()
	base.Advance(time.Second)
	fmt.Println(fast.Since(start))
	// Output: 1.0005s
}

// A timeout on an injected clock passes when that clock says so.
func ExampleWithTimeout() {
	c := clockwork.NewFakeClock()
	ctx, cancel := clock.WithTimeout(context.Background(), c, 10*time.Second)
	defer cancel()
	c.Advance(10 * time.Second)
	<-ctx.Done()
	fmt.Println(context.Cause(ctx))
	// Output: context deadline exceeded
}

// The clocks at which a drift factor of 1 % just holds are no whole number of
// parts per billion, but fractions.
func ExampleParseRate() {
	for _, s := range []string{"200/199", "+200ppm", "+1/12"} {
		r, err := clock.ParseRate(s)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(r, time.Duration(r.Elapsed(int64(time.Minute))))
	}
	// Output:
	// 200/199 1m0.301507537s
	// +200ppm 1m0.012s
	// 13/12 1m5s
}
