package spell

import "testing"

func TestHint(t *testing.T) {
	t.Parallel()
	known := []string{"drift", "drift-wide", "canary", "b", "exit-status", "exact-one", "exact-two"}
	for word, want := range map[string]string{
		"drfit":      ` (did you mean "drift"?)`,
		"Drift-wid":  ` (did you mean "drift-wide"?)`,
		"exit":       ` (did you mean "exit-status"?)`,
		"exact":      "", // two begin so
		"canaries":   ` (did you mean "canary"?)`,
		"zookeeper":  "",
		"x":          "",
		"":           "",
		"a":          "", // of a letter nothing is left to go by
		"drift-wide": ` (did you mean "drift-wide"?)`,
	} {
		if got := Hint(word, known); got != want {
			t.Errorf("Hint(%q) = %q, want %q", word, got, want)
		}
	}
}
