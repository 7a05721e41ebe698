package rivals

import "driftlock/sim/network"

type (
	ruleOf = network.Rule
	cutOf  = network.Cut
	pathOf = network.Path
)

const head = "# Other lock clients in the simulator\n" + `
This report is made by ` + "`go test . -update`" + ` in ` + "`cmd/rivals`" + ` and checked by the same test: everything in it can be run again. redsync v4.18 (as it is, and with ` + "`WithFailFast`" + `) and redislock v0.9 run in the bubble engine, over real go-redis v9.23 clients, against simulated nodes that speak Redis.

**Settings.** As each one's documentation recommends: redsync's defaults (32 tries, 50–250 ms apart, drift factor 1 %, a timeout of 5 % of the expiry), go-redis's default timeouts and retries, redislock on one server. Three things are set for the sake of repeatable runs: values and delays come from the run's own source of chance (the same laws), go-redis does not pause between retries, and its pools are larger than by default. The scenario's TTL and steps are used, its other options are redlock's. Liveness (I4) is not judged, for its bound hangs on a retry policy.

**What a lock is judged by.** redsync's user goes by ` + "`Until()`" + `. redislock tells no deadline: its user counts the TTL from before the call, the most careful that he can do. I1 to I7 are explained in docs/design.md, section 6.

**What is not the rivals' fault.** A broken promise in brackets has an assumption behind it that the scenario does not keep: then redlock may break too. The assumption about clocks (A1) is taken with the allowance that the lock itself makes: 1 % in redsync, which has no constant term for the whole milliseconds of Redis, and none in redislock. redislock says in its documentation that it is for one server: it is compared with redlock over one node, and both lose what that node forgets. redsync says that ` + "`Valid`" + ` is deprecated in favour of ` + "`Until`" + `; we use that. A lock on package time has a true clock in a bubble: scenarios in which a client's own clock drifts, steps or stops (†) are run without that, so there it does better than it would in production. redsync extends a lock also after ` + "`Until()`" + `, if the keys are still there: to us that is I6, a lease that had ended and goes on. One value stands for all tries of one call of redsync: a late clean-up of the first can delete the keys of the second (I5). redislock may return a lock whose TTL has passed while it asked (I6). None of the rivals has fence numbers for N nodes; scenarios with fencing ask for them in vain.

## What was seen on real servers

Each of these was seen with real servers first, and is reproduced from a scenario file (` + "`cmd/rivals/testdata`" + `, TestBehaviours). redlock holds in the same files.

| behaviour | who | file | what breaks |
|---|---|---|---|
| orphan keys after an early return | redsync with fail-fast | orphan-after-early-return | I7: a late SET overtaken by its release lives for the whole TTL, on healthy nodes |
| keys left after a cancelled context | redsync | cancelled-context-keeps-keys | I7: the clean-up runs on the caller's context, which has ended |
| an extension in part is kept | redsync | partial-extension-kept | none of the seven: the extension failed, and a node keeps the key beyond the lease |
| an extension under a millisecond deletes the keys | redsync, redislock | sub-millisecond-extend | I1, I2: told as a success. redlock refuses such a TTL |
| one's own SET, sent again, is refused | redsync over go-redis, with one try | own-set-resent | I6: told "taken" by nobody but itself. With the default tries the next one succeeds |

## The catalogue

Scenarios in which some lock breaks a promise (those that all hold are left out). In brackets: an assumption is not kept. "does not apply": what is left with one node is no scenario.

`

const searchHead = `
## Searches

%d random scenarios of each space, the same for all. "Without an unmet assumption" counts runs by what broke.

`

const foundHead = `
What they found, the first of each sort, shrunk. Each file runs with ` + "`simtest.Replay`" + ` and the guest of that name.

`
