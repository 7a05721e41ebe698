package sim

import "fmt"

// Invariant is one promise of the lock (docs/design.md, section 6).
type Invariant uint8

const (
	I1 Invariant = iota + 1 // mutex: never two acquisitions of one key valid at one true instant
	I2                      // sound: while a lease is trusted, N−q+1 nodes block for it
	I3                      // fence: numbers are unique and grow in grant order; the resource accepts none that is lower
	I4                      // live: once faults stop, some waiter acquires within the bound
	I5                      // own: a release or extend touches only keys of its own acquisition
	I6                      // honest: results tell the truth
	I7                      // tidy: no key outlives its release or its failed attempt
)

var invariantWords = [...]string{I1: "mutex", I2: "sound", I3: "fence", I4: "live", I5: "own", I6: "honest", I7: "tidy"}

// String is "I1" to "I7".
func (i Invariant) String() string { return fmt.Sprintf("I%d", uint8(i)) }

// Word is the invariant's name: "mutex", "sound", ….
func (i Invariant) Word() string { return invariantWords[i] }

// MarshalText writes "I1" to "I7".
func (i Invariant) MarshalText() ([]byte, error) { return []byte(i.String()), nil }

// UnmarshalText reads "I1" to "I7".
func (i *Invariant) UnmarshalText(b []byte) error {
	if len(b) != 2 || b[0] != 'I' || b[1] < '1' || b[1] > '7' {
		return fmt.Errorf("%q is no invariant: I1 to I7 are", b)
	}
	*i = Invariant(b[1] - '0')
	return nil
}
