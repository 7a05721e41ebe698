package sim

// Who blocks outside of the simulator, and who is left at the end.

import (
	"fmt"
	"regexp"
	"strings"
)

var bubbleFrame = regexp.MustCompile(`sim\.\(\*bubble\)\.loop\((0x[0-9a-f]+)`)
var bubbleHead = regexp.MustCompile(`^goroutine (\d+) \[([^\]]*), (synctest bubble \d+)[,\]]`)

// mayBlock says what code in a bubble may block on.
const mayBlock = "code in a bubble may wait for channels made in it, package time and the simulator: no real connection, file or process, and no mutex that is held by who waits"

// stacks are those of the bubble's goroutines that are not parked, by goroutine.
func (b *bubble) stacks() map[string]astray {
	found := map[string]astray{}
	all := strings.Split(string(allStacks()), "\n\n")
	mine := ""
	for _, g := range all {
		head := bubbleHead.FindStringSubmatch(g)
		if frame := bubbleFrame.FindStringSubmatch(g); head != nil && frame != nil && frame[1] == fmt.Sprintf("%p", b) {
			mine = head[3]
		}
	}
	for _, g := range all {
		head := bubbleHead.FindStringSubmatch(g)
		if head == nil || head[3] != mine || strings.Contains(head[2], "durable") || bubbleFrame.MatchString(g) {
			continue
		}
		found[head[1]] = astray{g, blocks(head[2], []byte(g))}
	}
	return found
}

// remains are the stacks of goroutines in bubbles, of which this one's are some.
func (b *bubble) remains() string {
	var list []string
	for _, g := range strings.Split(string(allStacks()), "\n\n") {
		if bubbleHead.MatchString(g) && !bubbleFrame.MatchString(g) && len(list) < 5 {
			list = append(list, g)
		}
	}
	return strings.Join(list, "\n\n")
}
