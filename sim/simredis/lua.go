package simredis

import (
	"crypto/sha1"
	"fmt"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/parse"
)

// interpreter runs a node's scripts.
type interpreter struct {
	state   *lua.LState
	scripts map[string]*lua.FunctionProto
	args    []string // of the script that runs
}

func (s *server) interpreter() *interpreter {
	if s.lua != nil {
		return s.lua
	}
	l := lua.NewState(lua.Options{SkipOpenLibs: true})
	for _, lib := range []struct {
		name string
		open lua.LGFunction
	}{{lua.BaseLibName, lua.OpenBase}, {lua.TabLibName, lua.OpenTable}, {lua.StringLibName, lua.OpenString}, {lua.MathLibName, lua.OpenMath}} {
		l.Push(l.NewFunction(lib.open))
		l.Push(lua.LString(lib.name))
		l.Call(1, 0)
	}
	for _, name := range []string{"print", "dofile", "loadfile", "load", "loadstring", "require", "module", "newproxy", "collectgarbage"} {
		l.SetGlobal(name, lua.LNil)
	}
	math := l.GetGlobal(lua.MathLibName).(*lua.LTable)
	math.RawSetString("random", lua.LNil) // nothing may be decided by chance here
	math.RawSetString("randomseed", lua.LNil)
	l.SetGlobal("tostring", l.NewFunction(func(l *lua.LState) int {
		l.Push(lua.LString(written(l, l.CheckAny(1))))
		return 1
	}))
	text := l.GetGlobal(lua.StringLibName).(*lua.LTable)
	text.RawSetString("format", l.NewFunction(formatter(text.RawGetString("format"))))
	redis := l.NewTable()
	redis.RawSetString("call", l.NewFunction(func(l *lua.LState) int { return s.call(l, true) }))
	redis.RawSetString("pcall", l.NewFunction(func(l *lua.LState) int { return s.call(l, false) }))
	redis.RawSetString("status_reply", l.NewFunction(tagged("ok")))
	redis.RawSetString("error_reply", l.NewFunction(tagged("err")))
	redis.RawSetString("sha1hex", l.NewFunction(func(l *lua.LState) int {
		l.Push(lua.LString(hash(l.CheckString(1))))
		return 1
	}))
	l.SetGlobal("redis", redis)
	s.lua = &interpreter{state: l, scripts: map[string]*lua.FunctionProto{}}
	return s.lua
}

func hash(text string) string { return fmt.Sprintf("%x", sha1.Sum([]byte(text))) }

// written is a value as a text. What Lua writes with its address has none here: it
// would be another in every run.
func written(l *lua.LState, v lua.LValue) string {
	switch v.Type() {
	case lua.LTNil, lua.LTBool, lua.LTNumber, lua.LTString:
		return v.String()
	}
	if l.GetMetaField(v, "__tostring") != lua.LNil {
		if s, ok := l.ToStringMeta(v).(lua.LString); ok {
			return string(s)
		}
	}
	return v.Type().String() + ": 0x0"
}

// formatter is string.format, which refuses what has no text, as Redis' does.
func formatter(format lua.LValue) lua.LGFunction {
	return func(l *lua.LState) int {
		n := l.GetTop()
		for i := 2; i <= n; i++ {
			switch v := l.Get(i); v.Type() {
			case lua.LTBool, lua.LTNil, lua.LTNumber, lua.LTString:
			default:
				l.Error(lua.LString(fmt.Sprintf("bad argument #%d to 'format' (string expected, got %s)", i, v.Type())), 1)
			}
		}
		l.Insert(format, 1)
		l.Call(n, 1)
		return 1
	}
}

func tagged(name string) lua.LGFunction {
	return func(l *lua.LState) int {
		t := l.NewTable()
		t.RawSetString(name, lua.LString(l.CheckString(1)))
		l.Push(t)
		return 1
	}
}

// load compiles a script, unless it is known.
func (s *server) load(text string) (sum string, bad any) {
	in := s.interpreter()
	sum = hash(text)
	if in.scripts[sum] != nil {
		return sum, nil
	}
	chunk, err := parse.Parse(strings.NewReader(text), "user_script")
	if err == nil {
		var proto *lua.FunctionProto
		if proto, err = lua.Compile(chunk, "user_script"); err == nil {
			in.scripts[sum] = proto
			return sum, nil
		}
	}
	return "", failure("ERR Error compiling script (new function): " + oneLine(err.Error()))
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

func (s *server) script(args []string) any {
	switch word := strings.ToLower(args[1]); {
	case word == "load" && len(args) == 3:
		sum, bad := s.load(args[2])
		if bad != nil {
			return bad
		}
		return sum
	case word == "exists":
		known := []any{}
		for _, sum := range args[2:] {
			n := int64(0)
			if s.interpreter().scripts[strings.ToLower(sum)] != nil {
				n = 1
			}
			known = append(known, n)
		}
		return known
	case word == "flush":
		clear(s.interpreter().scripts)
		return status("OK")
	}
	return failure(fmt.Sprintf("ERR unknown subcommand or wrong number of arguments for '%.128s'. Try SCRIPT HELP.", args[1]))
}

// eval is EVAL and EVALSHA.
func (s *server) eval(args []string) any {
	n, err := strconv.Atoi(args[2])
	switch {
	case err != nil:
		return errNumber
	case n < 0:
		return failure("ERR Number of keys can't be negative")
	case n > len(args)-3:
		return failure("ERR Number of keys can't be greater than number of args")
	}
	sum := strings.ToLower(args[1])
	if strings.EqualFold(args[0], "eval") {
		var bad any
		if sum, bad = s.load(args[1]); bad != nil {
			return bad
		}
	}
	in := s.interpreter()
	proto := in.scripts[sum]
	if proto == nil {
		return failure("NOSCRIPT No matching script. Please use EVAL.")
	}
	in.args = args[3+n:]
	defer func() { in.args = nil }()
	l := in.state
	l.SetGlobal("KEYS", list(l, args[3:3+n]))
	l.SetGlobal("ARGV", list(l, in.args))
	l.Push(l.NewFunctionFromProto(proto))
	if err := l.PCall(0, 1, nil); err != nil {
		if e, ok := err.(*lua.ApiError); ok {
			if t, ok := e.Object.(*lua.LTable); ok {
				if bad, ok := fromLua(t).(failure); ok {
					return bad + failure(" script: "+sum+", on @user_script.")
				}
				return fromLua(t)
			}
			return failure("ERR " + oneLine(written(l, e.Object)) + " script: " + sum + ", on @user_script.")
		}
		return failure("ERR " + oneLine(err.Error()))
	}
	v := l.Get(-1)
	l.Pop(1)
	return fromLua(v)
}

// list is a table of strings.
func list(l *lua.LState, texts []string) *lua.LTable {
	t := l.CreateTable(len(texts), 0)
	for _, x := range texts {
		t.Append(lua.LString(x))
	}
	return t
}

// call is redis.call, which raises an error, and redis.pcall, which returns it.
func (s *server) call(l *lua.LState, raise bool) int {
	var args []string
	for i := 1; i <= l.GetTop(); i++ {
		switch v := l.Get(i).(type) {
		case lua.LString:
			args = append(args, string(v))
		case lua.LNumber:
			args = append(args, v.String())
		default:
			args = nil
			l.SetTop(0)
		}
	}
	var reply any = failure("ERR Lua redis lib command arguments must be strings or integers")
	if len(args) > 0 {
		c, refused := s.find(args)
		switch name := strings.ToLower(args[0]); {
		case refused != "" && c == nil && !strings.Contains(refused, "wrong number"):
			reply = failure("ERR Unknown Redis command called from script")
		case refused != "":
			reply = failure("ERR Wrong number of args calling Redis command from script")
		case c.setup, c.do == nil, strings.HasPrefix(name, "eval"), name == "script":
			reply = failure("ERR This Redis command is not allowed from script")
		default:
			reply = c.do(s, args)
		}
	}
	v := toLua(l, reply)
	if _, bad := reply.(failure); bad && raise {
		l.Error(v, 1)
	}
	l.Push(v)
	return 1
}

// toLua turns a reply into what a script sees.
func toLua(l *lua.LState, reply any) lua.LValue {
	switch r := reply.(type) {
	case int64:
		return lua.LNumber(r)
	case string:
		return lua.LString(r)
	case status:
		t := l.NewTable()
		t.RawSetString("ok", lua.LString(r))
		return t
	case failure:
		t := l.NewTable()
		t.RawSetString("err", lua.LString(r))
		return t
	case []any:
		t := l.NewTable()
		for _, x := range r {
			t.Append(toLua(l, x))
		}
		return t
	}
	return lua.LFalse
}

// fromLua turns what a script returns into a reply.
func fromLua(v lua.LValue) any {
	switch v := v.(type) {
	case lua.LString:
		return string(v)
	case lua.LNumber:
		return int64(v)
	case lua.LBool:
		if v {
			return int64(1)
		}
		return nil
	case *lua.LTable:
		if e, ok := v.RawGetString("err").(lua.LString); ok {
			return failure(e)
		}
		if o, ok := v.RawGetString("ok").(lua.LString); ok {
			return status(o)
		}
		items := []any{}
		for i := 1; ; i++ {
			x := v.RawGetInt(i)
			if x == lua.LNil {
				return items
			}
			items = append(items, fromLua(x))
		}
	}
	return nil
}
