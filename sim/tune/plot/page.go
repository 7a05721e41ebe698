package plot

import (
	"bytes"
	"html/template"
	"strings"

	"driftlock/sim/tune"
)

// Page is the whole answer as one HTML file that needs no other: the sentence, the
// evidence, the lines to paste, and the figures. Command is how to make it again.
func Page(r *tune.Report, command string, figures []Figure) ([]byte, error) {
	p := page{Sentence: r.Sentence(), Evidence: r.Evidence(), Warnings: r.Warnings, Command: command}
	if r.Enough && r.Runs > 0 {
		p.Options = strings.Join(r.Options(), "\n")
	}
	return p.render(figures)
}

// SweepPage is a page with the map of a sweep.
func SweepPage(s *tune.Sweep, command string, figure Figure) ([]byte, error) {
	p := page{Sentence: s.Sentence(), Command: command}
	return p.render([]Figure{figure})
}

type page struct {
	Sentence, Options, Command string
	Evidence                   []tune.Line
	Warnings                   []string
	Figures                    []inline
}

// inline is a figure in the page.
type inline struct {
	About string
	SVG   template.HTML
}

func (p *page) render(figures []Figure) ([]byte, error) {
	for _, f := range figures {
		svg, err := f.SVG()
		if err != nil {
			return nil, err
		}
		p.Figures = append(p.Figures, inline{f.About, template.HTML(svg)}) // made here, of numbers and of texts that are escaped
	}
	var b bytes.Buffer
	err := layout.Execute(&b, p)
	return b.Bytes(), err
}

var layout = template.Must(template.New("page").Parse(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{{.Sentence}}</title>
<style>
body{font:16px/1.5 system-ui,sans-serif;max-width:64rem;margin:2rem auto;padding:0 1rem;color:#24292f;background:#fff}
h1{font-size:1.3rem;font-weight:600}
table{border-collapse:collapse}
th{text-align:left;vertical-align:top;padding-right:1rem;font-weight:600}
td{white-space:pre-wrap}
pre{background:#f3f5f7;padding:.75rem 1rem;overflow-x:auto;border-radius:6px}
figure{margin:2rem 0}
svg{width:100%;height:auto;border:1px solid #d8dee4;border-radius:6px}
figcaption{font-size:.9rem}
@media(prefers-color-scheme:dark){body{color:#e6edf3;background:#0d1117}pre{background:#161b22}svg{border-color:#30363d}}
</style>
</head>
<body>
<h1>{{.Sentence}}</h1>
<table>
{{range .Evidence}}<tr><th>{{.About}}</th><td>{{.Text}}</td></tr>
{{end}}{{range .Warnings}}<tr><th>Beware</th><td>{{.}}</td></tr>
{{end}}</table>
{{with .Options}}<pre>{{.}}</pre>
{{end}}{{range .Figures}}<figure>{{.SVG}}<figcaption>{{.About}}</figcaption></figure>
{{end}}<p>Made by <code>{{.Command}}</code></p>
</body>
</html>
`))
