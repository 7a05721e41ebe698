package timeline

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"driftlock/sim"
)

// An Account is what a verdict says in words: every picture has the same.
type Account struct {
	Headline  string     // what broke, or what came closest to it, in a sentence
	Sentences []Sentence // why, and what would have held
	From, To  int64      // the stretch of true time to look at; equal: all of it

	lease, rival *sim.Lease // that it is about; nil: none
	explained    bool       // the sentences begin with causes
}

// Sentence is a head, "Cause: ", and what it is about.
type Sentence struct{ Head, Text string }

func (a *Account) say(head, text string) { a.Sentences = append(a.Sentences, Sentence{head, text}) }

// Tell says what a verdict says, of the first violation or, if the run held, of the
// lease that came closest. Tried is a drift factor with which the scenario was run
// and held; 0: none was.
func Tell(h *sim.History, v sim.Verdict, tried sim.Factor) Account {
	c := castOf(h.Scenario())
	var a Account
	switch {
	case !v.OK():
		a.broken(h, c, v, v.Violations[0], tried)
	case len(v.Leases) > 0:
		a.held(v)
	default:
		a.Headline = "but nobody got a lock, so nothing was at stake."
	}
	if v.OK() { // of what broke there is more to say
		for _, warning := range v.Warnings {
			a.say("Note: ", clean(warning)+".")
		}
	}
	a.window(h, c, v)
	return a
}

// held is about the lease that came closest: of those whose trust ran out, if there
// are any, since with a release in time the margin is a message's way.
func (a *Account) held(v sim.Verdict) {
	closest := v.Leases[0]
	for _, l := range v.Leases[1:] {
		if l.RanOut() == closest.RanOut() && l.Margin() < closest.Margin() || l.RanOut() && !closest.RanOut() {
			closest = l
		}
	}
	leases := "leases"
	if len(v.Leases) == 1 {
		leases = "lease"
	}
	how := "released"
	if closest.RanOut() {
		how = "run out"
	}
	a.lease = &closest
	a.Headline = fmt.Sprintf("%d %s, none trusted longer than the nodes kept others out. The closest: %s on %q, %s with %s.",
		len(v.Leases), leases, clean(closest.Client), closest.Key, how, spare(closest))
}

// spare is a margin that is not negative, in words.
func spare(l sim.Lease) string {
	if l.ExclusionEnds == never {
		return "all the time there is"
	}
	return length(l.Margin()) + " to spare"
}

func (a *Account) broken(h *sim.History, c cast, v sim.Verdict, x sim.Violation, tried sim.Factor) {
	a.Headline = Headline(v, x)
	if x.Lease >= 0 {
		l := v.Leases[x.Lease]
		if x.Invariant == sim.I1 && x.Other >= 0 {
			l, a.rival = v.Leases[x.Other], &v.Leases[x.Lease]
		}
		a.lease = &l
		a.Sentences, a.explained = explain(h, c, v, x, l, tried).sentences(), true
	}
	a.assumptions(c, v, x)
	a.rest(c, v, x)
}

// beyond is what the lock promises nothing about, by the assumption that it
// makes instead (docs/design.md, section 6).
var beyond = map[sim.Assumption]string{
	sim.A1: "clocks that drift further than factor and buffer cover",
	sim.A2: "nodes that forget what they have answered",
	sim.A3: "clocks that step further than factor and buffer cover",
	sim.A4: "a holder whose clock stops or goes back",
	sim.A5: "clients that name different nodes",
	sim.A6: "fence numbers that get lost",
}

// assumptions says what of the run lies beyond the lock's promise; a break that
// this does not explain is the lock's own.
func (a *Account) assumptions(c cast, v sim.Verdict, x sim.Violation) {
	switch {
	case x.Invariant == sim.I4: // no assumption is about progress
		return
	case x.Invariant == sim.I3 && !c.Lock.Fencing:
		a.say("Not promised: ", "that a resource takes no stale write, without fence numbers.")
		return
	case !sim.Explained(x.Invariant, v.Unmet) && len(c.Lock.Flaws) > 0:
		a.say("Flaw:  ", "the lock is wrong on purpose: "+strings.Join(c.Lock.Flaws, ", ")+".")
		return
	case !sim.Explained(x.Invariant, v.Unmet):
		a.say("BUG: ", "nothing in this run is beyond what the lock promises. It is a fault of the lock, of the code around it, or of the simulator.")
		return
	}
	unmet := v.Unmet
	mine := func(u sim.Unmet) bool { return u.Options && sim.Explained(x.Invariant, []sim.Unmet{u}) }
	if i := slices.IndexFunc(unmet, mine); i >= 0 { // the first will do: the others say it of other nodes
		a.say("Options: ", fmt.Sprintf("%s (%v). That is for the options of the code to mend.", clean(unmet[i].Text), unmet[i].Assumption))
		unmet = slices.DeleteFunc(slices.Clone(unmet), func(u sim.Unmet) bool { return u.Options || !sim.Explained(x.Invariant, []sim.Unmet{u}) })
	}
	var what []string
	for _, u := range unmet {
		text := fmt.Sprintf("%s (%v)", beyond[u.Assumption], u.Assumption)
		if !slices.Contains(what, text) {
			what = append(what, text)
		}
	}
	if len(what) > 0 {
		a.say("Not promised: ", "anything under "+join(what)+".")
	}
}

// Headline says what broke, in words that need no knowledge of the theory.
func Headline(v sim.Verdict, x sim.Violation) string {
	what := fmt.Sprintf("%v (%s): ", x.Invariant, x.Invariant.Word())
	switch {
	case x.Invariant == sim.I2 && x.HasMargin:
		return what + fmt.Sprintf("%s believed that it held %q for %s longer than the nodes kept others out.",
			clean(x.Client), x.Key, length(x.Margin))
	case x.Invariant == sim.I1 && x.Lease >= 0 && x.Other >= 0:
		early, late := v.Leases[x.Other], v.Leases[x.Lease]
		return what + fmt.Sprintf("%s and %s both believed that they held %q, for %s.",
			clean(early.Client), clean(late.Client), x.Key, length(time.Duration(min(early.TrustEnds, late.TrustEnds)-late.Granted)))
	}
	return what + clean(x.Text)
}

// rest names what else broke, or that nobody happened to use the gap.
func (a *Account) rest(c cast, v sim.Verdict, shown sim.Violation) {
	for i := sim.I1; i <= sim.I7; i++ {
		var more []sim.Violation
		var most time.Duration
		for _, x := range v.Violations {
			if x.Invariant == i && x != shown {
				more = append(more, x)
				most = min(most, x.Margin)
			}
		}
		switch {
		case len(more) == 1:
			a.say("Also broken: ", Headline(v, more[0])+" (At "+shortest(more[0].At)+".)")
		case len(more) > 1 && most < 0:
			a.say("Also broken: ", fmt.Sprintf("%v (%s) %s more, by up to %s.", i, i.Word(), times(len(more)), length(most)))
		case len(more) > 1:
			a.say("Also broken: ", fmt.Sprintf("%v (%s) %s more.", i, i.Word(), times(len(more))))
		}
	}
	if shown.Invariant == sim.I2 && !broke(v, sim.I1) {
		nobody := "nobody asked"
		if len(c.Clients) == 1 {
			nobody = "there was nobody else to ask"
		}
		a.say("Luck: ", nobody+" for the lock in that gap. Whoever does gets it, and there are two holders.")
	}
}

func broke(v sim.Verdict, i sim.Invariant) bool {
	for _, x := range v.Violations {
		if x.Invariant == i {
			return true
		}
	}
	return false
}

// window finds where to look: the leases that the account is about, or, where what
// counts would be too small to be seen, the end of them.
func (a *Account) window(h *sim.History, c cast, v sim.Verdict) {
	switch {
	case a.lease != nil && (v.OK() || v.Violations[0].Invariant <= sim.I2):
		x := stretchesOf(c, v, *a.lease, a.rival).axis
		a.From, a.To = x.from, x.to
	case !v.OK():
		a.From, a.To = around(h, v.Violations[0].At)
		if a.lease != nil { // from when it was granted on
			a.From = min(a.From, a.lease.Granted)
		}
	}
}

// around is the stretch of true time of some thirty events about an instant.
func around(h *sim.History, at int64) (from, to int64) {
	i := 0
	for i < h.Len() && h.Event(i+1).At < at {
		i++
	}
	from, to = at, at
	if h.Len() > 0 {
		from = min(at, h.Event(max(1, i-20)).At)
		to = max(at, h.Event(min(h.Len(), i+10)).At)
	}
	return from, max(to, from+1)
}
