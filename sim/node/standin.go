// Package node: this file is a stand-in for the real store, so that the world runs. Whoever lands
// the store (New, Config.Check) deletes it.
package node

import "driftlock/redlock"

type ent struct {
	owner string
	when  int64
}
type tmp struct {
	c Config
	m map[string]ent
}

func New(c Config) Store { return &tmp{c, map[string]ent{}} }
func (s *tmp) Do(at, wall int64, r *redlock.Request) (redlock.Reply, int64) {
	ms := wall / 1e6
	o, w, ok := s.Holder(wall, r.Key)
	switch {
	case r.Op == redlock.OpAcquire && !ok:
		s.m[r.Key] = ent{r.Owner, ms + r.TTL.Milliseconds()}
		return redlock.Reply{Status: redlock.Done}, ms + r.TTL.Milliseconds()
	case r.Op == redlock.OpAcquire && o == r.Owner:
		return redlock.Reply{Status: redlock.Ours}, w
	case !ok:
		return redlock.Reply{Status: redlock.Gone}, 0
	case o != r.Owner:
		return redlock.Reply{Status: redlock.Others}, w
	case r.Op == redlock.OpRelease:
		delete(s.m, r.Key)
		return redlock.Reply{Status: redlock.Done}, 0
	}
	w = max(w, ms+r.TTL.Milliseconds())
	s.m[r.Key] = ent{r.Owner, w}
	return redlock.Reply{Status: redlock.Done}, w
}
func (s *tmp) Holder(wall int64, k string) (string, int64, bool) {
	e, ok := s.m[k]
	ms := wall / 1e6
	if !ok || ms > e.when || ms == e.when && s.c.Expiry == NonStrict {
		return "", 0, false
	}
	return e.owner, e.when, true
}
func (s *tmp) Rollback(int64) { clear(s.m) }
func (s *tmp) Evict(k string) { delete(s.m, k) }
func (s *tmp) Flush()         { clear(s.m) }
func (s *tmp) Reset(c Config) { s.c = c; clear(s.m) }
func (c Config) Check() error { return nil }
