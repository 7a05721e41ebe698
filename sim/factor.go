package sim

// ParseFactor reads a drift factor, a decimal such as "0.01" from 0 to below 1.
// What lies beyond the ninth decimal is rounded up.
func ParseFactor(s string) (Factor, error) {
	ppb, err := factorPPB(s)
	return Factor(ppb), err
}
