// A player in one file, without dependencies. Change choose(), then: go run . --name "My Agent"
// It listens and registers. If the league cannot call it, it fetches the league's messages itself.
package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"time"
)

type object = map[string]any

// choose picks one of options: "even" or "odd", or a legal move of another game. The message says against whom.
func choose(options []any, message object) any {
	return options[rand.Intn(len(options))]
}

const maxBody = 4_000_000

var (
	me       = object{}
	asking   sync.RWMutex // locked while we register: a call that comes early waits for the reply
	choosing sync.Mutex
	choices  = map[string]any{}   // our last 32 choices of a parity: a call that is sent again gets the same
	order    []string             // the calls that they answer, the oldest first
	called   = make(chan bool, 1) // set once the league has called us at our port
	started  = time.Now()
	stops    = map[int]string{
		401: "The league does not know our auth_token any more: start again to register anew.",
		409: "Another program fetches this player's messages now, so this one stops: run only one of them.",
	}
	// It follows no redirect: our token goes to the league only.
	client = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
)

// refused is why a request cannot be answered, with the code of JSON-RPC.
type refused struct {
	code int
	why  string
}

// answer is our answer to one message of the league; nil if it needs none.
func answer(message object) (object, *refused) {
	kind, _ := message["message_type"].(string)
	asks := kind == "GAME_INVITATION" || kind == "CHOOSE_PARITY_CALL" || kind == "GAME_MOVE_CALL"
	if _, ok := message["match_id"].(string); asks && !ok {
		return nil, &refused{-32602, "match_id is missing"}
	}
	choosing.Lock()
	defer choosing.Unlock()
	switch kind {
	case "GAME_INVITATION":
		return object{"message_type": "GAME_JOIN_ACK", "arrival_timestamp": now(), "accept": true}, nil
	case "CHOOSE_PARITY_CALL":
		key := fmt.Sprint(message["auth_token"], " ", message["conversation_id"])
		if _, ok := choices[key]; !ok {
			choices[key], order = choose([]any{"even", "odd"}, message), append(order, key)
		}
		if len(order) > 32 {
			delete(choices, order[0])
			order = order[1:]
		}
		return object{"message_type": "CHOOSE_PARITY_RESPONSE", "parity_choice": choices[key]}, nil
	case "GAME_MOVE_CALL":
		options, _ := message["valid_options"].([]any)
		if len(options) == 0 {
			return nil, &refused{-32602, "valid_options is missing"}
		}
		move := object{"move_type": message["move_type"], "choice": choose(options, message)}
		return object{"message_type": "GAME_MOVE_RESPONSE", "game_type": message["game_type"], "move_data": move}, nil
	}
	return nil, nil
}

// respond gives the JSON-RPC answer to a JSON-RPC request; nil for a notification.
func respond(raw []byte, atPort bool) (reply object) {
	asking.RLock()
	who := me
	asking.RUnlock()
	var id any
	refuse := func(code int, why any) object {
		return object{"jsonrpc": "2.0", "id": id, "error": object{"code": code, "message": fmt.Sprint(why)}}
	}
	defer func() { // an error in choose() costs this answer only
		if why := recover(); why != nil {
			reply = refuse(-32603, why)
		}
	}()
	var came any
	if json.Unmarshal(raw, &came) != nil {
		return refuse(-32700, "This is no JSON")
	}
	request, ok := came.(object)
	message, hasParams := request["params"].(object)
	if !ok || request["params"] != nil && !hasParams {
		return refuse(-32600, "One request with params is expected")
	}
	switch given := request["id"].(type) {
	case string, float64:
		id = given
	}
	kind, isMessage := message["message_type"].(string)
	if request["method"] != "ping" && !isMessage {
		return refuse(-32601, "There is no such method here")
	}
	// Only the league knows this token. We tell ours to nobody else, and believe nobody else about a result.
	token, _ := who["league_token"].(string)
	isLeague := token != "" && message["auth_token"] == any(token)
	if isLeague && atPort {
		select {
		case called <- true:
		default:
		}
	}
	if isLeague && kind == "GAME_OVER" {
		result := in(message, "game_result")
		fmt.Println(message["match_id"], result["status"], "winner:", result["winner_player_id"])
	}
	said, no := answer(message)
	if no != nil {
		return refuse(no.code, no.why)
	}
	if _, ok := request["id"]; !ok {
		return nil
	}
	result := object{"status": "ok"}
	if said != nil {
		result = object{
			"protocol": "league.v2", "sender": fmt.Sprint("player:", who["player_id"]), "timestamp": now(),
			"conversation_id": message["conversation_id"], "match_id": message["match_id"], "player_id": who["player_id"],
		}
		if isLeague {
			result["auth_token"] = who["auth_token"]
		}
		for name, value := range said {
			result[name] = value
		}
	}
	return object{"jsonrpc": "2.0", "id": id, "result": result}
}

func now() string {
	return time.Now().UTC().Format("2006-01-02T15:04:05Z")
}

// in is the object in a field; nil, which reads like an empty object, if there is none.
func in(one object, field string) object {
	found, _ := one[field].(object)
	return found
}

// stop ends the program, saying why.
func stop(code int, why ...any) {
	fmt.Fprintln(os.Stderr, why...)
	os.Exit(code)
}

// handle answers one request at our port.
func handle(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	var reply any = object{"error": "POST to /mcp"}
	if r.Method == "POST" {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		said := respond(body, true)
		if said == nil {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		reply = said
	} else if r.URL.Path == "/health" {
		asking.RLock()
		id := me["player_id"]
		asking.RUnlock()
		status := "ok"
		if id == nil {
			status = "starting"
		}
		reply = object{"status": status, "agent_id": id, "uptime": int(time.Since(started).Seconds())}
	} else {
		w.WriteHeader(http.StatusNotFound)
	}
	content, _ := json.Marshal(reply)
	w.Write(content)
}

// call sends JSON to the league (with nil as body it only asks); its HTTP status and its answer, nil if that is no object.
func call(address string, body any, token any, limit time.Duration) (int, object, error) {
	method, content := "GET", []byte(nil)
	if body != nil {
		method = "POST"
		content, _ = json.Marshal(body)
	}
	request, err := http.NewRequest(method, address, bytes.NewReader(content))
	if err != nil {
		return 0, nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	if token != nil {
		request.Header.Set("Authorization", fmt.Sprint("Bearer ", token))
	}
	with := *client
	with.Timeout = limit
	response, err := with.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	came, err := io.ReadAll(response.Body)
	var said any
	json.Unmarshal(came, &said) // perhaps a web page that is not from the league
	found, _ := said.(object)
	return response.StatusCode, found, err
}

// register tells the league who we are and how it reaches us, as soon as it is up; then we know who we are.
func register(league string, params object) {
	ask := func() (int, object, error) {
		asking.Lock()
		defer asking.Unlock()
		body := object{"jsonrpc": "2.0", "method": "register_player", "params": params, "id": 1}
		status, said, err := call(league, body, nil, 40*time.Second)
		if result := in(said, "result"); err == nil && result["status"] == "ACCEPTED" {
			me = result
		}
		return status, said, err
	}
	for waits := false; ; waits = true {
		status, said, err := ask()
		if len(me) > 0 {
			return
		}
		if err == nil {
			err = fmt.Errorf("HTTP %d", status)
			if status < 500 && status != 429 {
				reason := in(said, "result")["reason"]
				if reason == nil {
					reason = in(said, "error")["message"]
				}
				if reason == nil {
					reason = fmt.Sprint(league, " answers ", err)
				}
				stop(3, "Not accepted:", reason)
			}
		}
		if !waits {
			fmt.Printf("The league at %s does not answer yet, waiting for it: %v\n", league, err)
		}
		pause()
	}
}

// pause waits before the next try: not all of a class at once.
func pause() {
	time.Sleep(time.Second + time.Duration(rand.Int63n(int64(2*time.Second))))
}

// fetch gets messages from the league and brings the answers there, until another program does so for us.
func fetch(inbox string) {
	after := ""
	round := func() error {
		// Not for long: a laptop that slept or changed its network does not learn that the connection is dead.
		status, said, err := call(inbox+"?wait=6&after="+after, nil, me["auth_token"], 10*time.Second)
		if err != nil {
			return err
		}
		if why, ok := stops[status]; ok {
			stop(1, why)
		}
		messages, ok := said["messages"].([]any)
		if status != 200 || !ok {
			return fmt.Errorf("HTTP %d", status)
		}
		for _, one := range messages {
			message, _ := one.(object)
			request, _ := json.Marshal(message["request"])
			reply := object{"responses": []any{respond(request, false)}}
			if status, _, err = call(inbox, reply, me["auth_token"], 10*time.Second); err != nil {
				return err
			} else if status != 200 {
				return fmt.Errorf("HTTP %d", status)
			}
		}
		after = fmt.Sprint(said["next"])
		if len(messages) == 0 {
			time.Sleep(100 * time.Millisecond) // a league that is about to stop does not wait before it answers
		}
		return nil
	}
	for {
		if err := round(); err != nil {
			fmt.Println("The league does not answer, trying again:", err)
			pause()
		}
	}
}

// folder is where this file is, or where we were started if it is elsewhere now.
func folder() string {
	_, source, _, _ := runtime.Caller(0)
	if _, err := os.Stat(source); err == nil {
		return filepath.Dir(source)
	}
	return "."
}

// orElse is a text from league.json, or the default if it has none.
func orElse(given any, otherwise string) string {
	if text, ok := given.(string); ok {
		return text
	}
	return otherwise
}

func main() {
	rand.Seed(time.Now().UnixNano())
	known := object{"game_types": []any{"even_odd"}}
	if content, err := os.ReadFile(filepath.Join(folder(), "league.json")); err == nil {
		if err := json.Unmarshal(content, &known); err != nil {
			stop(2, "league.json is no JSON:", err)
		}
	}
	name := flag.String("name", "", "the player's name")
	port := flag.String("port", "8101", "0 is a free one")
	league := flag.String("league", orElse(known["league"], "http://127.0.0.1:8000/mcp"), "the league's address")
	code := flag.String("code", orElse(known["registration_code"], ""), "the registration code")
	given := flag.String("endpoint", "", "our address, when the league cannot guess it")
	dialOut := flag.Bool("dial-out", false, "open no port: only fetch messages from the league")
	listen := flag.Bool("listen", false, "never fetch messages, even if the league does not call")
	wait := flag.Float64("call-wait", 10, "seconds to wait for its first call")
	flag.Parse()
	if *name == "" {
		stop(2, `Give a name: --name "My Agent"`)
	}
	site, err := url.Parse(*league)
	if err != nil || !regexp.MustCompile(`^https?://.`).MatchString(*league) {
		stop(2, "The league is an address that begins with http:// or https://")
	}
	if *dialOut && *listen {
		stop(2, "Give --dial-out or --listen, not both")
	}
	meta := object{"display_name": *name, "version": "1.0.0", "game_types": known["game_types"], "delivery": "poll"}
	if *code != "" {
		meta["registration_code"] = *code
	}
	endpoint := *given
	if !*dialOut {
		listener, err := net.Listen("tcp", "0.0.0.0:"+*port)
		if err != nil {
			stop(2, fmt.Sprintf("Port %s cannot be opened, choose another with --port: %v", *port, err))
		}
		go http.Serve(listener, http.HandlerFunc(handle))
		if endpoint == "" {
			endpoint = fmt.Sprintf("http://localhost:%d/mcp", listener.Addr().(*net.TCPAddr).Port)
		}
		// With "push" the league calls us at once, so that we know whether it can.
		meta["contact_endpoint"], meta["delivery"] = endpoint, "push"
	}
	// With the token of last time we are the same player again.
	digest := fmt.Sprintf("%x", sha256.Sum256([]byte(*league+" "+*name)))
	kept := filepath.Join(folder(), "token-"+digest[:16])
	params := object{
		"protocol": "league.v2", "message_type": "LEAGUE_REGISTER_REQUEST", "sender": "player:" + *name, "timestamp": now(),
		"conversation_id": "conv-registration", "player_meta": meta,
	}
	if token, err := os.ReadFile(kept); err == nil {
		params["auth_token"] = strings.TrimSpace(string(token))
	}
	register(*league, params)
	if err := os.WriteFile(kept, []byte(fmt.Sprint(me["auth_token"])), 0o600); err != nil {
		fmt.Println("The token could not be kept:", err)
	}
	// The inbox is at the host where we registered: our token goes nowhere else.
	inbox := ""
	if poll, err := url.Parse(orElse(in(me, "inbox")["poll_url"], "")); err == nil && poll.Path != "" {
		inbox = site.Scheme + "://" + site.Host + poll.EscapedPath()
	}
	where := endpoint
	if *dialOut {
		where = inbox
	}
	fmt.Println("READY", where, me["player_id"], "auth_token:", me["auth_token"])
	if !*dialOut {
		if *listen || inbox == "" {
			select {}
		}
		select {
		case <-called:
			fmt.Println("The league calls", endpoint)
			select {}
		case <-time.After(time.Duration(*wait * float64(time.Second))):
			fmt.Printf("The league has not called %s for %g s: its messages are fetched as well\n", endpoint, *wait)
		}
	}
	fetch(inbox)
}
