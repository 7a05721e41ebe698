package sim

import (
	"testing"

	"driftlock/redlock"
	"driftlock/sim/flawed"
	"driftlock/sim/node"
)

// carried is a store that keeps what it was asked.
type carried struct {
	node.Store
	did *[]redlock.Request
}

func (s carried) Do(at, wall int64, req *redlock.Request, reply *redlock.Reply) (when int64) {
	*s.did = append(*s.did, *req)
	return s.Store.Do(at, wall, req, reply)
}

// TestNodesDoWhatWasSent: a request that its connection has given up, and that a node
// which stood still carries out long after, is still the one that was sent. A lock that
// asks twice with one owner value makes lanes tell its caller before that.
func TestNodesDoWhatWasSent(t *testing.T) {
	t.Parallel()
	var did []redlock.Request
	r := NewRunner(StoredIn(func(c node.Config) node.Store { return carried{node.New(c), &did} }))
	defer r.Close()
	for seed := range uint64(30) {
		sc := Generate(FaultsOf("pause"), seed)
		sc.Lock.Kind, sc.Lock.Flaws = kindFlawed, []string{string(flawed.TokenPerAcquire)}
		did = did[:0]
		h, err := r.Run(sc)
		if err != nil {
			t.Fatal(err)
		}
		i := 0
		for step, e := range h.Events() {
			if e.Kind != Executed {
				continue
			}
			if x := did[i]; x.Op != e.Op || x.Key != h.Text(e.Key) || x.Owner != h.Text(e.Owner) {
				t.Fatalf("seed %d, step %d: %s of %s was sent, and %s of %s carried out", seed, step, e.Op, h.Text(e.Owner), x.Op, x.Owner)
			}
			i++
		}
		if i != len(did) {
			t.Errorf("seed %d: %d requests are told of, %d were carried out", seed, i, len(did))
		}
	}
}
