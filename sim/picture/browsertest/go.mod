module driftlock/sim/picture/browsertest

go 1.26.0

require driftlock v0.0.0

require (
	github.com/chromedp/cdproto v0.159.0 // indirect
	github.com/chromedp/chromedp v0.23.0 // indirect
	github.com/go-json-experiment/json v1.27.2 // indirect
)

replace driftlock => ../../..
