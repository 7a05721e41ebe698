package redlock

import "sync/atomic"

// Fence numbers (rule 12). Every node keeps, for each key and without a TTL, the
// highest number it has accepted. The client proposes a number with its SET; a
// node sets the key only if the key is free and the number is above its own, and
// remembers it then. All grants of an attempt carry one number and any two
// quorums share a node, so no two grants have the same number and a later grant
// has a higher one, for as long as the numbers persist.

// A fenceHints is what the lock remembers of the numbers it has seen, so that a
// healthy acquire proposes high enough at once. It is a hint only: one that is
// too low costs an attempt, one that is too high (of another key with the same
// slot) leaves out some numbers. So its size is fixed, whatever the number of
// keys.
type fenceHints [512]atomic.Uint64

// next is the number to propose for key.
func (h *fenceHints) next(key string) uint64 {
	if seen := h.of(key).Load(); seen+1 > seen {
		return seen + 1
	}
	return 1<<64 - 1
}

// saw remembers a number that was proposed or told for key.
func (h *fenceHints) saw(key string, n uint64) {
	slot := h.of(key)
	for seen := slot.Load(); seen < n && !slot.CompareAndSwap(seen, n); seen = slot.Load() {
	}
}

// of is the slot of key, by FNV-1a: the same in every process, so that a
// simulated run can be repeated.
func (h *fenceHints) of(key string) *atomic.Uint64 {
	sum := uint64(14695981039346656037)
	for i := range len(key) {
		sum = (sum ^ uint64(key[i])) * 1099511628211
	}
	return &h[sum%uint64(len(h))]
}

// refusedByNumber says that a quorum would have granted a higher number.
func (v *tally) refusedByNumber() bool { return !v.won() && v.done()+v.are(Gone) >= v.lock.q }

// Fence is the number of this grant, with WithFencing: each grant of a key has a
// higher one than all before it. A resource that remembers the highest number it
// has seen, and refuses lower ones, is safe from holders that do not know yet
// that they lost the lock. It is false without WithFencing and for a token from
// ParseToken.
func (t Token) Fence() (uint64, bool) {
	if t.l == nil {
		return 0, false
	}
	return t.l.fence, t.l.fence > 0
}
