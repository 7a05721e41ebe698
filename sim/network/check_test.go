package network

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{ // "": nothing is wrong
		`{}`: "",
		`{"request":{"delay":{"min":"1ms"}},"reply":{"delay":{"law":"exponential","min":"1ms","mean":"2ms"},"loss_ppm":1000000,"loss_for":"1s"}}`: "",
		`{"paths":{"c1>A":{"delay":{"law":"uniform","max":"1ms"}},"B>c2":{"delay":{"law":"pareto","min":"1ns"}}}}`:                                "",
		`{"cuts":[{"from":["c1","A"],"to":["c2","B"],"refuse":true}],"rules":[{"late":"1s"},{"from":"A","drop":true},{"to":"A","twice":true}]}`:   "",

		`{"request":{"slow_ppm":5,"slow_by":"1s","slow_for":"1s"},"quiet_from":"1s"}`: "",

		`{"request":{"delay":{"min":"-1ns"}}}`:                                 "network.request.delay.min: -1ns is negative",
		`{"reply":{"delay":{"law":"exponential","mean":"-2s"}}}`:               "network.reply.delay.mean: -2s is negative",
		`{"reply":{"delay":{"law":"uniform","max":"-2s"}}}`:                    "network.reply.delay.max: -2s is negative",
		`{"reply":{"delay":{"law":"uniform","min":"2s","max":"1s"}}}`:          "network.reply.delay.max: 1s is less than min, which is 2s",
		`{"reply":{"delay":{"law":"uniform","min":"2s"}}}`:                     "network.reply.delay.max: 0s is less than min",
		`{"reply":{"delay":{"law":"exponential","min":"2ms","max":"1ms"}}}`:    "network.reply.delay.max: 1ms is less",
		`{"reply":{"delay":{"max":"1ms"}}}`:                                    "network.reply.delay.max: a constant delay is min",
		`{"reply":{"delay":{"law":"uniform","mean":"1ms","max":"1ms"}}}`:       "network.reply.delay.mean: only the law exponential",
		`{"reply":{"delay":{"law":"pareto"}}}`:                                 "network.reply.delay.min: 0",
		`{"reply":{"delay":{"law":"normal"}}}`:                                 `network.reply.delay.law: no law "normal"; there are constant, uniform, exponential and pareto`,
		`{"request":{"loss_ppm":-1}}`:                                          "network.request.loss_ppm: -1 of a million messages: 0 to 1000000 are allowed",
		`{"request":{"loss_ppm":1000001}}`:                                     "network.request.loss_ppm: 1000001",
		`{"request":{"loss_for":"-1s"}}`:                                       "network.request.loss_for: -1s is negative",
		`{"request":{"slow_ppm":1000001,"slow_by":"1s"}}`:                      "network.request.slow_ppm: 1000001",
		`{"request":{"slow_ppm":5}}`:                                           "network.request.slow_by: missing",
		`{"request":{"slow_by":"1s"}}`:                                         "network.request.slow_ppm: missing",
		`{"reply":{"slow_ppm":5,"slow_by":"-1s"}}`:                             "network.reply.slow_by: -1s is negative",
		`{"reply":{"slow_ppm":5,"slow_by":"1s","slow_for":"-1s"}}`:             "network.reply.slow_for: -1s is negative",
		`{"quiet_from":"-1s"}`:                                                 "network.quiet_from: -1s is negative",
		`{"paths":{"c1>Z":{}}}`:                                                `network.paths["c1>Z"]: no node "Z"; have A, B`,
		`{"paths":{"A>Z":{}}}`:                                                 `network.paths["A>Z"]: no client "Z"; have c1, c2`,
		`{"paths":{"c1>c2":{}}}`:                                               `network.paths["c1>c2"]: no node "c2"; have A, B`,
		`{"paths":{"Z>A":{}}}`:                                                 `network.paths["Z>A"]: no machine "Z"; have c1, c2, A, B`,
		`{"paths":{"c1-A":{}}}`:                                                `network.paths["c1-A"]: a path is written "client>node" or "node>client"`,
		`{"paths":{"c1>A":{"delay":{"min":"-1s"}}}}`:                           `network.paths["c1>A"].delay.min: -1s is negative`,
		`{"cuts":[{"to":["A"]}]}`:                                              "network.cuts[0].from: no machine; have c1, c2, A, B",
		`{"cuts":[{"from":["A"]}]}`:                                            "network.cuts[0].to: no machine; have",
		`{"cuts":[{"from":["c1"],"to":["A"]},{"from":["c1"],"to":["A","Z"]}]}`: `network.cuts[1].to[1]: no machine "Z"; have c1, c2, A, B`,
		`{"cuts":[{"from":["c1","A"],"to":["A"]}]}`:                            "network.cuts[0].to[0]: A is on both sides",
		`{"cuts":[{"from":["c1"],"to":["c2"]}]}`:                               "network.cuts[0]: parts no client from a node",
		`{"cuts":[{"from":["A"],"to":["B"]}]}`:                                 "network.cuts[0]: parts no client from a node",
		`{"cuts":[{"from":["A"],"to":["c1"],"at":"-1s"}]}`:                     "network.cuts[0].at: -1s is negative",
		`{"cuts":[{"from":["A"],"to":["c1"],"for":"-1s"}]}`:                    "network.cuts[0].for: -1s is negative",
		`{"rules":[{"from":"Z","drop":true}]}`:                                 `network.rules[0].from: no machine "Z"; have c1, c2, A, B`,
		`{"rules":[{"to":"Z","drop":true}]}`:                                   `network.rules[0].to: no machine "Z"`,
		`{"rules":[{"from":"c1","to":"c2","drop":true}]}`:                      "network.rules[0]: from c1 to c2 nothing is sent",
		`{"rules":[{"from":"A","to":"B","drop":true}]}`:                        "network.rules[0]: from A to B nothing is sent",
		`{"rules":[{"nth":-1,"drop":true}]}`:                                   "network.rules[0].nth: -1: messages are counted from 1",
		`{"rules":[{"nth":4294967296,"drop":true}]}`:                           "network.rules[0].nth: 4294967296: messages are counted from 1 to 4294967295",
		`{"rules":[{"late":"-1s"}]}`:                                           "network.rules[0].late: -1s is negative",
		`{"rules":[{"from":"c1","to":"A","nth":3}]}`:                           "network.rules[0]: does nothing: say late, drop or twice",
	} {
		var c Config
		if err := json.Unmarshal([]byte(in), &c); err != nil {
			t.Errorf("%s: %v", in, err)
			continue
		}
		err := c.Check([]string{"c1", "c2"}, []string{"A", "B"})
		if want == "" && err != nil || want != "" && (err == nil || !strings.HasPrefix(err.Error(), want)) {
			t.Errorf("%s:\n got %v\nwant %s", in, err, want)
		}
	}
}
