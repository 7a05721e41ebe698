package picture

import (
	"strconv"
	"strings"
	"unicode/utf16"

	"driftlock/redlock"
	"driftlock/sim"
	"driftlock/sim/node"
	"driftlock/sim/timeline"
)

// The data of a page: one JSON object, the events as a column a field, since names
// of fields would be most of its bytes. Instants are nanoseconds of true time; null
// is one that never comes. What a JavaScript number does not hold exactly is a string.

// appendRun appends the data of a run. Its strings have no '<', '>' or '&' left.
func appendRun(b []byte, h *sim.History, v sim.Verdict, o Options) []byte {
	c := castOf(h.Scenario())
	said := sentences(h, v)
	account := timeline.Tell(h, v, o.Tried)

	b = append(b, `{"title":`...)
	b = appendText(b, o.Title)
	b = appendField(b, "about", c.About)
	b = appendField(b, "source", c.Source)
	b = appendField(b, "command", o.Command)
	b = appendField(b, "failure", o.Failure)
	b = appendField(b, "hash", v.Hash.String())
	b = appendField(b, "scenario", string(c.AppendJSON(nil)))
	b = append(b, `,"ok":`...)
	b = strconv.AppendBool(b, v.OK())
	b = appendField(b, "headline", account.Headline)
	b = append(b, `,"sentences":`...)
	b = appendList(b, account.Sentences, func(b []byte, s timeline.Sentence) []byte {
		return appendTuple(b, s.Head, s.Text)
	})
	b = append(b, `,"window":[`...)
	b = append(appendInt(append(appendInt(b, account.From), ','), account.To), ']')
	b = append(b, `,"end":`...)
	b = appendInt(b, h.End())
	b = append(b, `,"quorum":`...)
	b = appendInt(b, int64(len(c.Nodes)/2+1))
	b = append(b, `,"needed":`...)
	b = appendInt(b, int64(c.needed))

	b = append(b, `,"machines":`...)
	b = appendList(b, c.machines, func(b []byte, m machine) []byte {
		return appendTuple(b, m.name, m.sort, m.clock, m.off)
	})
	b = appendWords(b, h)
	b = appendVerdict(b, h, &c, v)
	b = append(b, `,"troubles":`...)
	b = appendList(b, c.troubles(h, said), func(b []byte, t trouble) []byte {
		b = append(appendInt(append(b, '['), int64(t.lane)), ',')
		b = append(appendInstant(b, t.from), ',')
		b = append(appendInstant(b, t.to), ',')
		b = append(appendText(b, t.what), ',')
		return append(appendText(b, t.text), ']')
	})
	b = append(b, `,"story":`...)
	b = appendList(b, timeline.Lines(h, v, timeline.Story), func(b []byte, l timeline.Line) []byte {
		b = append(appendInt(append(b, '['), int64(l.Step)), ',')
		b = append(appendInstant(b, l.At), ',')
		b = append(appendText(b, l.Who), ',')
		b = append(appendText(b, l.Text), ',')
		bad := int64(0)
		if l.Bad {
			bad = 1
		}
		return append(appendInt(b, bad), ']')
	})
	b = appendEvents(b, h, &c, said[1:])
	return append(b, '}')
}

// sentences are the events in a line each, by step.
func sentences(h *sim.History, v sim.Verdict) []string {
	said := make([]string, h.Len()+1)
	for _, l := range timeline.Lines(h, v, timeline.Everything) {
		if l.Step > 0 { // what no machine notices is drawn
			said[l.Step] = strings.ReplaceAll(l.Text, "\u00a0", " ")
		}
	}
	return said
}

// appendWords appends the tables of words that the columns refer to.
func appendWords(b []byte, h *sim.History) []byte {
	b = append(b, `,"kinds":[""`...)
	for k := sim.Started; k <= sim.Over; k++ {
		b = appendText(append(b, ','), k.String())
	}
	b = append(b, `],"statuses":[`...)
	for status := redlock.Failed; status <= redlock.Ours; status++ {
		if status > redlock.Failed {
			b = append(b, ',')
		}
		b = appendText(b, status.String())
	}
	most := redlock.Op(0)
	text := sim.Text(0)
	for _, e := range h.Events() {
		most = max(most, e.Op)
		text = max(text, e.Key, e.Owner, e.Note)
	}
	b = append(b, `],"ops":[""`...)
	for op := redlock.Op(1); op <= most && op > 0; op++ {
		b = appendText(append(b, ','), node.Word(op))
	}
	b = append(b, `],"texts":[""`...)
	for t := sim.Text(1); t <= text; t++ {
		b = appendText(append(b, ','), h.Text(t))
	}
	return append(b, ']')
}

// appendVerdict appends leases, blocks and violations.
func appendVerdict(b []byte, h *sim.History, c *cast, v sim.Verdict) []byte {
	since := c.stands(v)
	granted := map[acquisition]bool{}
	b = append(b, `,"leases":`...)
	b = appendList(b, v.Leases, func(b []byte, l sim.Lease) []byte {
		a := acquisition{l.Key, l.Owner}
		granted[a] = true
		stands, ok := since[a]
		if !ok {
			stands = l.ExclusionEnds
		}
		b = append(appendInt(append(b, '['), int64(c.named(l.Client))), ',')
		b = append(appendText(b, l.Key), ',')
		b = append(appendText(b, l.Owner), ',')
		for _, at := range []int64{l.Granted, l.TrustEnds, stands, l.ExclusionEnds} {
			b = append(appendInstant(b, at), ',')
		}
		return append(appendInt(b, int64(l.Nodes)), ']')
	})
	askers := map[string]int{}
	for _, e := range h.Events() {
		if e.Kind == sim.Asked && node.Usual(e.Op) == redlock.OpAcquire {
			askers[h.Text(e.Owner)] = int(e.Client)
		}
	}
	b = append(b, `,"blocks":`...)
	b = appendList(b, v.Blocks, func(b []byte, x sim.Block) []byte {
		client, ok := askers[x.Owner]
		if !ok {
			client = -1
		}
		holds := int64(0)
		if granted[acquisition{x.Key, x.Owner}] {
			holds = 1
		}
		b = append(appendInt(append(b, '['), int64(len(c.Clients)+x.Node)), ',')
		b = append(appendInt(b, int64(client)), ',')
		b = append(appendText(b, x.Key), ',')
		b = append(appendInstant(b, x.From), ',')
		b = append(appendInstant(b, x.To), ',')
		b = append(appendText(b, x.Ends.String()), ',')
		return append(appendInt(b, holds), ']')
	})
	b = append(b, `,"violations":`...)
	return appendList(b, v.Violations, func(b []byte, x sim.Violation) []byte {
		b = append(appendText(append(b, '['), x.Invariant.String()), ',')
		b = append(appendInstant(b, x.At), ',')
		b = append(appendInt(b, int64(x.Lease)), ',')
		b = append(appendInt(b, int64(x.Other)), ',')
		return append(appendText(b, timeline.Headline(v, x)), ']')
	})
}

// appendEvents appends the columns of the events, and the ways of the messages.
func appendEvents(b []byte, h *sim.History, c *cast, said []string) []byte {
	column := func(name string, value func(sim.Event) int64) {
		b = append(append(append(b, `,"`...), name...), `":[`...)
		for i, e := range h.Events() {
			if i > 1 {
				b = append(b, ',')
			}
			b = appendInt(b, value(e))
		}
		b = append(b, ']')
	}
	column("at", func(e sim.Event) int64 { return e.At })
	column("ahead", func(e sim.Event) int64 { return e.Local - e.At })
	column("value", func(e sim.Event) int64 { return e.Value })
	column("kind", func(e sim.Event) int64 { return int64(e.Kind) })
	column("op", func(e sim.Event) int64 { return int64(e.Op) })
	column("status", func(e sim.Event) int64 { return int64(e.Status) })
	column("client", func(e sim.Event) int64 { return int64(e.Client) })
	column("node", func(e sim.Event) int64 { return int64(e.Node) })
	column("proc", func(e sim.Event) int64 { return int64(e.Proc) })
	column("nth", func(e sim.Event) int64 { return int64(e.Nth) })
	column("key", func(e sim.Event) int64 { return int64(e.Key) })
	column("owner", func(e sim.Event) int64 { return int64(e.Owner) })
	column("note", func(e sim.Event) int64 { return int64(e.Note) })
	column("lane", func(e sim.Event) int64 { return int64(c.lane(e)) })
	b = append(b, `,"said":`...)
	b = appendList(b, said, appendText)
	b = append(b, `,"arrows":[`...)
	for i, a := range arrows(h, c) {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendInt(append(appendInt(b, int64(a.from)), ','), int64(a.to))
	}
	return append(b, ']')
}

// exactly is up to where a JavaScript number holds every whole number.
const exactly = 1 << 53

func appendInt(b []byte, n int64) []byte {
	if n < -exactly || n > exactly {
		return append(strconv.AppendInt(append(b, '"'), n, 10), '"')
	}
	return strconv.AppendInt(b, n, 10)
}

func appendInstant(b []byte, at int64) []byte {
	if at == never {
		return append(b, "null"...)
	}
	return appendInt(b, at)
}

// appendText appends a string in ASCII: a browser keeps a page that is all ASCII in half
// of the memory, and reads it faster. What could end the page's script, or begin markup,
// is escaped too.
func appendText(b []byte, s string) []byte {
	b = append(b, '"')
	for _, r := range s { // what is no UTF-8 comes as U+FFFD
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r < ' ' || r >= 0x7f && r <= 0xffff || r == '<' || r == '>' || r == '&':
			b = appendEscape(b, r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			b = appendEscape(appendEscape(b, high), low)
		default:
			b = append(b, byte(r))
		}
	}
	return append(b, '"')
}

func appendEscape(b []byte, r rune) []byte {
	const hex = "0123456789abcdef"
	return append(b, '\\', 'u', hex[r>>12&15], hex[r>>8&15], hex[r>>4&15], hex[r&15])
}

func appendField(b []byte, name, value string) []byte {
	b = append(append(append(b, `,"`...), name...), `":`...)
	return appendText(b, value)
}

func appendTuple(b []byte, values ...string) []byte { return appendList(b, values, appendText) }

func appendList[T any](b []byte, list []T, one func([]byte, T) []byte) []byte {
	b = append(b, '[')
	for i, x := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = one(b, x)
	}
	return append(b, ']')
}
