// A player in one file. Change choose(), then: cargo run -- --name "My Agent"
// It listens and registers. If the league cannot call it, it fetches the league's messages itself.
use serde_json::{json, Map, Value};
use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher};
use std::io::Read;
use std::path::PathBuf;
use std::sync::{mpsc, Arc, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use std::{env, fs, panic, process, thread};

/// Picks one of options: "even" or "odd", or a legal move of another game. The message says against whom.
fn choose(options: &[Value], _message: &Value) -> Value {
    options[random(options.len() as u64) as usize].clone()
}

const MAX_BODY: u64 = 4_000_000;
const NOBODY: Value = Value::Null;
const WITH_VALUE: [&str; 6] = ["name", "port", "league", "code", "endpoint", "call-wait"];

/// What all threads know.
struct Player {
    me: Mutex<Value>,                     // locked while we register: a call that comes early waits for the reply
    choices: Mutex<Vec<(String, Value)>>, // our last 32 choices of a parity: a call that is sent again gets the same
    called: mpsc::SyncSender<()>,         // gets a message once the league has called us at our port
    started: Instant,
}

/// Why a request cannot be answered, with the code of JSON-RPC.
type Refused = (i32, &'static str);

/// Our answer to one message of the league; None if it needs none.
fn answer(player: &Player, message: &Value) -> Result<Option<Value>, Refused> {
    let kind = message["message_type"].as_str().unwrap_or("");
    let asks = ["GAME_INVITATION", "CHOOSE_PARITY_CALL", "GAME_MOVE_CALL"].contains(&kind);
    if asks && !message["match_id"].is_string() {
        return Err((-32602, "match_id is missing"));
    }
    Ok(Some(match kind {
        "GAME_INVITATION" => json!({"message_type": "GAME_JOIN_ACK", "arrival_timestamp": now(), "accept": true}),
        "CHOOSE_PARITY_CALL" => {
            let asked = format!("{} {}", message["auth_token"], message["conversation_id"]);
            let mut choices = player.choices.lock().unwrap_or_else(|broken| broken.into_inner());
            let kept = choices.iter().find(|one| one.0 == asked).map(|one| one.1.clone());
            let choice = kept.unwrap_or_else(|| {
                choices.insert(0, (asked, choose(&[json!("even"), json!("odd")], message)));
                choices.truncate(32);
                choices[0].1.clone()
            });
            json!({"message_type": "CHOOSE_PARITY_RESPONSE", "parity_choice": choice})
        }
        "GAME_MOVE_CALL" => {
            let options = message["valid_options"].as_array().filter(|options| !options.is_empty());
            let options = options.ok_or((-32602, "valid_options is missing"))?;
            let move_data = json!({"move_type": message["move_type"], "choice": choose(options, message)});
            json!({"message_type": "GAME_MOVE_RESPONSE", "game_type": message["game_type"], "move_data": move_data})
        }
        _ => return Ok(None),
    }))
}

/// The JSON-RPC answer to a JSON-RPC request; None for a notification.
fn respond(player: &Player, raw: &[u8], at_port: bool) -> Option<Value> {
    let mut id = NOBODY;
    let said = understand(player, raw, at_port, &mut id);
    match said {
        Ok(result) => result.map(|result| json!({"jsonrpc": "2.0", "id": id, "result": result})),
        Err((code, why)) => Some(json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": why}})),
    }
}

/// The result for a request, and its id; None for a notification.
fn understand(player: &Player, raw: &[u8], at_port: bool, id: &mut Value) -> Result<Option<Value>, Refused> {
    let me = player.me.lock().unwrap().clone();
    let request: Value = serde_json::from_slice(raw).map_err(|_| (-32700, "This is no JSON"))?;
    let message = if request["params"].is_null() { json!({}) } else { request["params"].clone() };
    if !request.is_object() || !message.is_object() {
        return Err((-32600, "One request with params is expected"));
    }
    if request["id"].is_string() || request["id"].is_number() {
        *id = request["id"].clone();
    }
    if request["method"] != "ping" && !message["message_type"].is_string() {
        return Err((-32601, "There is no such method here"));
    }
    // Only the league knows this token. We tell ours to nobody else, and believe nobody else about a result.
    let is_league = me["league_token"].is_string() && me["league_token"] == message["auth_token"];
    if is_league && at_port {
        let _ = player.called.try_send(());
    }
    if is_league && message["message_type"] == "GAME_OVER" {
        let result = &message["game_result"];
        let (game, winner) = (words(&message["match_id"]), words(&result["winner_player_id"]));
        println!("{} {} winner: {}", game, words(&result["status"]), winner);
    }
    let said = panic::catch_unwind(panic::AssertUnwindSafe(|| answer(player, &message)));
    let said = said.unwrap_or(Err((-32603, "choose() has failed")))?;
    if request.get("id").is_none() {
        return Ok(None);
    }
    let mut result = json!({"status": "ok"});
    if let Some(Value::Object(fields)) = said {
        result = json!({
            "protocol": "league.v2", "sender": format!("player:{}", words(&me["player_id"])), "timestamp": now(),
            "conversation_id": message["conversation_id"], "match_id": message["match_id"], "player_id": me["player_id"],
        });
        if is_league {
            result["auth_token"] = me["auth_token"].clone();
        }
        result.as_object_mut().unwrap().extend(fields);
    }
    Ok(Some(result))
}

/// A value as it is printed: a text without quotation marks.
fn words(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), String::from)
}

/// A random number below a limit, from the random keys of hash maps: the library has no other random numbers.
fn random(limit: u64) -> u64 {
    std::collections::hash_map::RandomState::new().build_hasher().finish() % limit
}

/// The time as the protocol writes it, in UTC; the days since 1970 are counted in years that begin in March.
fn now() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let days = seconds / 86_400 + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let day = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let of_month = day - (153 * month + 2) / 5 + 1;
    let (month, year) = if month < 10 { (month + 3, era * 400 + year) } else { (month - 9, era * 400 + year + 1) };
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    format!("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", year, month, of_month, hour, minute, second)
}

/// Ends the program, saying why.
fn stop(why: &str, code: i32) -> ! {
    eprintln!("{}", why);
    process::exit(code)
}

/// Answers one request at our port.
fn handle(player: &Player, mut request: tiny_http::Request) {
    let (mut status, mut reply) = (404, Some(json!({"error": "POST to /mcp"})));
    if request.method() == &tiny_http::Method::Post {
        let mut body = Vec::new();
        if request.as_reader().take(MAX_BODY).read_to_end(&mut body).is_err() {
            return; // a caller that hung up needs no answer
        }
        reply = respond(player, &body, true);
        status = if reply.is_some() { 200 } else { 204 };
    } else if request.url() == "/health" {
        let id = player.me.lock().unwrap()["player_id"].clone();
        let word = if id.is_null() { "starting" } else { "ok" };
        reply = Some(json!({"status": word, "agent_id": id, "uptime": player.started.elapsed().as_secs()}));
        status = 200;
    }
    let content = reply.map_or(String::new(), |reply| reply.to_string());
    let header = tiny_http::Header::from_bytes("Content-Type", "application/json").unwrap();
    let _ = request.respond(tiny_http::Response::from_string(content).with_status_code(status).with_header(header));
}

/// Sends JSON to the league (without a body only asks); the HTTP status and the answer, null if that is no JSON.
fn call(address: &str, body: Option<Value>, token: Option<&str>, limit: u64) -> Result<(u16, Value), String> {
    // It follows no redirect: our token goes to the league only.
    let agent = ureq::AgentBuilder::new().redirects(0).timeout(Duration::from_secs(limit)).build();
    let mut request = agent.request(if body.is_some() { "POST" } else { "GET" }, address);
    request = request.set("Content-Type", "application/json");
    if let Some(token) = token {
        request = request.set("Authorization", &format!("Bearer {}", token));
    }
    let came = match body {
        Some(body) => request.send_string(&body.to_string()),
        None => request.call(),
    };
    match came {
        Ok(response) | Err(ureq::Error::Status(_, response)) => {
            let (status, mut text) = (response.status(), Vec::new());
            response.into_reader().read_to_end(&mut text).map_err(|error| error.to_string())?;
            Ok((status, serde_json::from_slice(&text).unwrap_or(NOBODY))) // perhaps a web page that is not from the league
        }
        Err(error) => Err(error.to_string()),
    }
}

/// Registers as soon as the league is up; then we know who we are.
fn register(player: &Player, league: &str, params: Value) {
    let body = json!({"jsonrpc": "2.0", "method": "register_player", "params": params, "id": 1});
    let mut waits = false;
    loop {
        let mut me = player.me.lock().unwrap();
        let came = call(league, Some(body.clone()), None, 40);
        let why = match came {
            Ok((_, said)) if said["result"]["status"] == "ACCEPTED" => {
                *me = said["result"].clone();
                return;
            }
            Ok((status, said)) if status < 500 && status != 429 => {
                let told = [&said["result"]["reason"], &said["error"]["message"]];
                let reason = told.iter().find(|reason| reason.is_string()).map(|reason| words(reason));
                let reason = reason.unwrap_or(format!("{} answers HTTP {}", league, status));
                stop(&format!("Not accepted: {}", reason), 3)
            }
            Ok((status, _)) => format!("HTTP {}", status),
            Err(why) => why,
        };
        drop(me);
        if !waits {
            println!("The league at {} does not answer yet, waiting for it: {}", league, why);
        }
        waits = true;
        pause();
    }
}

/// Waits before the next try: not all of a class at once.
fn pause() {
    thread::sleep(Duration::from_millis(1000 + random(2000)));
}

/// Fetches messages from the league and brings the answers there, until another program does so for us.
fn fetch(player: &Player, inbox: &str) {
    let token = words(&player.me.lock().unwrap()["auth_token"]);
    let mut after = String::new();
    loop {
        if let Err(why) = fetch_once(player, inbox, &token, &mut after) {
            println!("The league does not answer, trying again: {}", why);
            pause();
        }
    }
}

fn fetch_once(player: &Player, inbox: &str, token: &str, after: &mut String) -> Result<(), String> {
    // Not for long: a laptop that slept or changed its network does not learn that the connection is dead.
    let (status, news) = call(&format!("{}?wait=6&after={}", inbox, after), None, Some(token), 10)?;
    match (status, news["messages"].as_array()) {
        (401, _) => stop("The league does not know our auth_token any more: start again to register anew.", 1),
        (409, _) => stop("Another program fetches this player's messages now, so this one stops: run only one of them.", 1),
        (200, Some(messages)) => {
            for message in messages {
                let reply = respond(player, message["request"].to_string().as_bytes(), false);
                let (status, _) = call(inbox, Some(json!({ "responses": [reply] })), Some(token), 10)?;
                if status != 200 {
                    return Err(format!("HTTP {}", status));
                }
            }
            *after = words(&news["next"]);
            if messages.is_empty() {
                thread::sleep(Duration::from_millis(100)); // a league that is about to stop does not wait before it answers
            }
            Ok(())
        }
        _ => Err(format!("HTTP {}", status)),
    }
}

/// The command line; known is what league.json says.
fn read_options(known: &Value) -> HashMap<String, String> {
    let mut options = HashMap::from([("port".to_string(), "8101".to_string()), ("call-wait".into(), "10".into())]);
    options.insert("league".into(), known["league"].as_str().unwrap_or("http://127.0.0.1:8000/mcp").into());
    options.insert("code".into(), known["registration_code"].as_str().unwrap_or("").into());
    let mut given = env::args().skip(1);
    while let Some(word) = given.next() {
        let (name, value) = word.split_once('=').map_or((word.as_str(), None), |(name, value)| (name, Some(value.to_string())));
        let name = name.strip_prefix("--").unwrap_or("");
        if ["dial-out", "listen"].contains(&name) {
            options.insert(name.into(), String::new());
        } else if WITH_VALUE.contains(&name) {
            let value = value.or_else(|| given.next());
            options.insert(name.into(), value.unwrap_or_else(|| stop(&format!("Give a value to --{}", name), 2)));
        } else {
            stop(&format!("Unknown option {}", word), 2);
        }
    }
    if options.get("name").map_or(true, |name| name.is_empty()) {
        stop("Give a name: --name \"My Agent\"", 2);
    }
    if !options["league"].starts_with("http://") && !options["league"].starts_with("https://") {
        stop("The league is an address that begins with http:// or https://", 2);
    }
    if options.contains_key("dial-out") && options.contains_key("listen") {
        stop("Give --dial-out or --listen, not both", 2);
    }
    options
}

/// Opens our port, which threads answer; returns its number.
fn listen(player: &Arc<Player>, port: &str) -> u16 {
    let server = tiny_http::Server::http(format!("0.0.0.0:{}", port)).unwrap_or_else(|why| {
        stop(&format!("Port {} cannot be opened, choose another with --port: {}", port, why), 2)
    });
    let (number, player) = (server.server_addr().to_ip().unwrap().port(), player.clone());
    thread::spawn(move || {
        for request in server.incoming_requests() {
            let player = player.clone();
            thread::spawn(move || handle(&player, request));
        }
    });
    number
}

/// Keeps the token in a file that only we may read.
fn keep(file: &PathBuf, token: &str) -> std::io::Result<()> {
    let mut open = fs::OpenOptions::new();
    open.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut open, 0o600);
    std::io::Write::write_all(&mut open.open(file)?, token.as_bytes())
}

/// An address in two: scheme and host, and the path without what follows a question mark.
fn split(address: &str) -> (&str, &str) {
    let host = address.find("://").map_or(0, |at| at + 3);
    let path = address[host..].find(['/', '?', '#']).map_or(address.len(), |at| host + at);
    (&address[..path], address[path..].split(['?', '#']).next().unwrap_or(""))
}

fn main() {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let folder = if here.join("player.rs").exists() { here } else { PathBuf::from(".") };
    let known = fs::read_to_string(folder.join("league.json")).map_or(NOBODY, |text| {
        serde_json::from_str(&text).unwrap_or_else(|why| stop(&format!("league.json is no JSON: {}", why), 2))
    });
    let options = read_options(&known);
    let (name, league) = (&options["name"], &options["league"]);
    let wait: f64 = options["call-wait"].parse().unwrap_or_else(|_| stop("--call-wait is a number of seconds", 2));
    let (called, first_call) = mpsc::sync_channel(1);
    let choices = Mutex::new(Vec::new());
    let player = Arc::new(Player { me: Mutex::new(NOBODY), choices, called, started: Instant::now() });
    let games = known.get("game_types").cloned().unwrap_or(json!(["even_odd"]));
    let mut meta = Map::new();
    meta.extend([("display_name".into(), json!(name)), ("version".into(), json!("1.0.0"))]);
    meta.extend([("game_types".into(), games), ("delivery".into(), json!("poll"))]);
    if !options["code"].is_empty() {
        meta.insert("registration_code".into(), json!(options["code"]));
    }
    let mut endpoint = None;
    if !options.contains_key("dial-out") {
        let port = listen(&player, &options["port"]);
        let address = options.get("endpoint").cloned().unwrap_or(format!("http://localhost:{}/mcp", port));
        // With "push" the league calls us at once, so that we know whether it can.
        meta.extend([("contact_endpoint".into(), json!(address)), ("delivery".into(), json!("push"))]);
        endpoint = Some(address);
    }
    // With the token of last time we are the same player again.
    let digest = <sha2::Sha256 as sha2::Digest>::digest(format!("{} {}", league, name));
    let kept = folder.join(format!("token-{}", &format!("{:x}", digest)[..16]));
    let mut params = json!({
        "protocol": "league.v2", "message_type": "LEAGUE_REGISTER_REQUEST", "sender": format!("player:{}", name),
        "timestamp": now(), "conversation_id": "conv-registration", "player_meta": meta,
    });
    if let Ok(token) = fs::read_to_string(&kept) {
        params["auth_token"] = json!(token.trim());
    }
    register(&player, league, params);
    let me = player.me.lock().unwrap().clone();
    keep(&kept, &words(&me["auth_token"])).unwrap_or_else(|why| println!("The token could not be kept: {}", why));
    // The inbox is at the host where we registered: our token goes nowhere else.
    let inbox = me["inbox"]["poll_url"].as_str().map(|url| format!("{}{}", split(league).0, split(url).1));
    let inbox_or_none = inbox.clone().unwrap_or_default();
    let shown = endpoint.as_ref().unwrap_or(&inbox_or_none);
    println!("READY {} {} auth_token: {}", shown, words(&me["player_id"]), words(&me["auth_token"]));
    if let Some(endpoint) = endpoint {
        let only_listens = (options.contains_key("listen") || inbox.is_none())
            || first_call.recv_timeout(Duration::from_secs_f64(wait)).map(|_| println!("The league calls {}", endpoint)).is_ok();
        while only_listens {
            thread::park();
        }
        println!("The league has not called {} for {} s: its messages are fetched as well", endpoint, wait);
    }
    fetch(&player, &inbox_or_none);
}
