package sim

import (
	"testing"
	"time"
)

// BenchmarkReference is one seed of the reference workload, checks and hash on.
func BenchmarkReference(b *testing.B) {
	r := NewRunner()
	defer r.Close()
	events, grants := 0, 0
	b.ReportAllocs()
	start := time.Now()
	for seed := uint64(1); b.Loop(); seed++ {
		h, err := r.Run(Reference(seed))
		if err != nil {
			b.Fatal(err)
		}
		v := r.Check()
		events += h.Len()
		grants += len(v.Leases)
	}
	took := time.Since(start)
	b.ReportMetric(float64(b.N)/took.Seconds(), "seeds/s")
	b.ReportMetric(float64(events)/float64(b.N), "events/seed")
	b.ReportMetric(float64(grants)/float64(b.N), "grants/seed")
}
