// A player in one file, without dependencies. Change choose(), then: java Player.java --name "My Agent"
// It listens and registers. If the league cannot call it, it fetches the league's messages itself.
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.math.BigDecimal;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.*;
import java.nio.charset.StandardCharsets;
import java.nio.file.*;
import java.security.MessageDigest;
import java.time.*;
import java.time.temporal.ChronoUnit;
import java.util.*;
import java.util.concurrent.*;
import java.util.regex.*;

public class Player {
    /** Picks one of options: "even" or "odd", or a legal move of another game. The message says against whom. */
    static Object choose(List<?> options, Map<?, ?> message) {
        return options.get(ThreadLocalRandom.current().nextInt(options.size()));
    }

    static final Map<String, String> OPTIONS = new LinkedHashMap<>(Map.of("port", "8101", "call-wait", "10"));
    static final Set<String> WITH_VALUE = Set.of("name", "port", "league", "code", "endpoint", "call-wait");
    static final Map<Integer, String> STOPS = Map.of(
        401, "The league does not know our auth_token any more: start again to register anew.",
        409, "Another program fetches this player's messages now, so this one stops: run only one of them.");
    static final int MAX_BODY = 4_000_000;
    static final Instant STARTED = Instant.now();
    static final CountDownLatch CALLED = new CountDownLatch(1); // set once the league has called us at our port
    static final Object ASKING = new Object(); // locked while we register: a call that comes early waits for the reply
    static final HttpClient CLIENT = HttpClient.newBuilder() // it follows no redirect: our token goes to the league only
        .version(HttpClient.Version.HTTP_1_1).connectTimeout(Duration.ofSeconds(10)).build();
    static volatile Map<?, ?> me = Map.of();
    /** Our last 32 choices of a parity: a call that is sent again gets the same. */
    static final Map<String, Object> CHOICES = new LinkedHashMap<>() {
        @Override
        protected boolean removeEldestEntry(Map.Entry<String, Object> eldest) {
            return size() > 32;
        }
    };

    /** A request that cannot be answered: the code of JSON-RPC, and why. */
    static class Refused extends RuntimeException {
        final int code;

        Refused(int code, String why) {
            super(why);
            this.code = code;
        }
    }

    /** Our answer to one message of the league; null if it needs none. */
    static synchronized Map<String, Object> answer(Map<?, ?> message) {
        String kind = String.valueOf(message.get("message_type"));
        boolean asks = Set.of("GAME_INVITATION", "CHOOSE_PARITY_CALL", "GAME_MOVE_CALL").contains(kind);
        if (asks && !(message.get("match_id") instanceof String)) throw new Refused(-32602, "match_id is missing");
        switch (kind) {
            case "GAME_INVITATION":
                return object("message_type", "GAME_JOIN_ACK", "arrival_timestamp", now(), "accept", true);
            case "CHOOSE_PARITY_CALL":
                String asked = message.get("auth_token") + " " + message.get("conversation_id");
                Object choice = CHOICES.computeIfAbsent(asked, key -> choose(List.of("even", "odd"), message));
                return object("message_type", "CHOOSE_PARITY_RESPONSE", "parity_choice", choice);
            case "GAME_MOVE_CALL":
                if (!(message.get("valid_options") instanceof List<?> options) || options.isEmpty()) {
                    throw new Refused(-32602, "valid_options is missing");
                }
                Object move = object("move_type", message.get("move_type"), "choice", choose(options, message));
                Object game = message.get("game_type");
                return object("message_type", "GAME_MOVE_RESPONSE", "game_type", game, "move_data", move);
            default:
                return null;
        }
    }

    /** The JSON-RPC answer to a JSON-RPC request; null for a notification. */
    static Object respond(String raw, boolean atPort) {
        Object id = null;
        try {
            Map<?, ?> who;
            synchronized (ASKING) { who = me; }
            if (!(Json.read(raw) instanceof Map<?, ?> request)) throw new Refused(-32600, "One request is expected");
            if (request.get("id") instanceof String || request.get("id") instanceof Number) id = request.get("id");
            Object params = request.get("params") == null ? Map.of() : request.get("params");
            if (!(params instanceof Map<?, ?> message)) throw new Refused(-32600, "params is no object");
            if (!"ping".equals(request.get("method")) && !(message.get("message_type") instanceof String)) {
                throw new Refused(-32601, "There is no such method here");
            }
            // Only the league knows this token. We tell ours to nobody else, and believe nobody else about a result.
            boolean isLeague = who.get("league_token") != null && who.get("league_token").equals(message.get("auth_token"));
            if (isLeague && atPort) CALLED.countDown();
            if (isLeague && "GAME_OVER".equals(message.get("message_type"))) {
                Map<?, ?> result = in(message, "game_result");
                System.out.println(message.get("match_id") + " " + result.get("status") + " winner: " + result.get("winner_player_id"));
            }
            Map<String, Object> said = answer(message);
            if (!request.containsKey("id")) return null;
            if (said == null) return object("jsonrpc", "2.0", "id", id, "result", object("status", "ok"));
            Map<String, Object> result = object(
                "protocol", "league.v2", "sender", "player:" + who.get("player_id"), "timestamp", now(),
                "conversation_id", message.get("conversation_id"), "match_id", message.get("match_id"),
                "player_id", who.get("player_id"));
            if (isLeague) result.put("auth_token", who.get("auth_token"));
            result.putAll(said);
            return object("jsonrpc", "2.0", "id", id, "result", result);
        } catch (RuntimeException error) {
            int code = error instanceof Refused refused ? refused.code : -32603;
            Object why = object("code", code, "message", String.valueOf(error.getMessage()));
            return object("jsonrpc", "2.0", "id", id, "error", why);
        }
    }

    static String now() {
        return Instant.now().truncatedTo(ChronoUnit.SECONDS).toString();
    }

    /** Ends the program, saying why. */
    static RuntimeException stop(String text, int code) {
        System.err.println(text);
        System.exit(code);
        return new RuntimeException(text);
    }

    /** An object of JSON from names and values in turn. */
    static Map<String, Object> object(Object... pairs) {
        Map<String, Object> made = new LinkedHashMap<>();
        for (int i = 0; i < pairs.length; i += 2) made.put((String) pairs[i], pairs[i + 1]);
        return made;
    }

    /** The object in a field; empty if there is none. */
    static Map<?, ?> in(Object one, String field) {
        return one instanceof Map<?, ?> map && map.get(field) instanceof Map<?, ?> found ? found : Map.of();
    }

    /** One request at our port. */
    static void handle(HttpExchange exchange) throws IOException {
        Object reply = object("error", "POST to /mcp");
        int status = 404;
        if (exchange.getRequestMethod().equals("POST")) {
            byte[] body = exchange.getRequestBody().readNBytes(MAX_BODY);
            reply = respond(new String(body, StandardCharsets.UTF_8), true);
            status = reply == null ? 204 : 200;
        } else if (exchange.getRequestURI().getPath().equals("/health")) {
            Object id = me.get("player_id");
            long uptime = Duration.between(STARTED, Instant.now()).toSeconds();
            reply = object("status", id == null ? "starting" : "ok", "agent_id", id, "uptime", uptime);
            status = 200;
        }
        byte[] content = reply == null ? new byte[0] : Json.write(reply).getBytes(StandardCharsets.UTF_8);
        exchange.getResponseHeaders().set("Content-Type", "application/json");
        exchange.sendResponseHeaders(status, content.length == 0 ? -1 : content.length);
        exchange.getResponseBody().write(content);
        exchange.close();
    }

    /** Sends JSON to the league (without a body only asks), with at most so many seconds for the answer. */
    static HttpResponse<String> call(String address, Object body, Object token, int limit)
            throws IOException, InterruptedException {
        HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(address)).timeout(Duration.ofSeconds(limit));
        request.header("Content-Type", "application/json");
        if (token != null) request.header("Authorization", "Bearer " + token);
        if (body != null) request.POST(HttpRequest.BodyPublishers.ofString(Json.write(body)));
        return CLIENT.send(request.build(), HttpResponse.BodyHandlers.ofString());
    }

    /** Registers as soon as the league is up; then we know who we are. */
    static void register(Object params) throws InterruptedException {
        String league = OPTIONS.get("league");
        for (boolean waits = false; ; waits = true) {
            String why;
            try {
                HttpResponse<String> came;
                Object said;
                synchronized (ASKING) {
                    Object body = object("jsonrpc", "2.0", "method", "register_player", "params", params, "id", 1);
                    came = call(league, body, null, 40);
                    said = Json.readOrNull(came.body());
                    if ("ACCEPTED".equals(in(said, "result").get("status"))) me = in(said, "result");
                }
                if (!me.isEmpty()) return;
                why = "HTTP " + came.statusCode();
                if (came.statusCode() < 500 && came.statusCode() != 429) {
                    Object reason = in(said, "result").get("reason");
                    if (reason == null) reason = in(said, "error").get("message");
                    throw stop("Not accepted: " + (reason == null ? league + " answers " + why : reason), 3);
                }
            } catch (IllegalArgumentException error) {
                throw stop("Not accepted: " + league + " is no address: " + error.getMessage(), 3);
            } catch (IOException error) {
                why = error.getMessage() == null ? error.getClass().getSimpleName() : error.getMessage();
            }
            if (!waits) System.out.println("The league at " + league + " does not answer yet, waiting for it: " + why);
            pause();
        }
    }

    /** Waits a while before the next try: not all of a class at once. */
    static void pause() throws InterruptedException {
        Thread.sleep(ThreadLocalRandom.current().nextInt(1000, 3000));
    }

    /** Fetches messages from the league and brings the answers there, until another program does so for us. */
    static void fetch(String inbox) throws InterruptedException {
        Object after = "";
        while (true) {
            try {
                // Not for long: a laptop that slept or changed its network does not learn that the connection is dead.
                HttpResponse<String> came = call(inbox + "?wait=6&after=" + after, null, me.get("auth_token"), 10);
                if (STOPS.containsKey(came.statusCode())) throw stop(STOPS.get(came.statusCode()), 1);
                Map<?, ?> news = in(object("body", Json.readOrNull(came.body())), "body");
                if (!(news.get("messages") instanceof List<?> messages)) throw new IOException("HTTP " + came.statusCode());
                for (Object one : messages) {
                    Object reply = respond(Json.write(in(one, "request")), false);
                    came = call(inbox, object("responses", List.of(reply)), me.get("auth_token"), 10);
                    if (came.statusCode() != 200) throw new IOException("HTTP " + came.statusCode());
                }
                after = news.get("next");
                if (messages.isEmpty()) Thread.sleep(100); // a league that is about to stop does not wait before it answers
            } catch (IOException | RuntimeException error) {
                System.out.println("The league does not answer, trying again: " + error.getMessage());
                pause();
            }
        }
    }

    /** Reads the command line into OPTIONS. */
    static void readOptions(String[] words) {
        for (int i = 0; i < words.length; i++) {
            String[] parts = words[i].split("=", 2);
            String name = parts[0].startsWith("--") ? parts[0].substring(2) : "";
            if (name.equals("dial-out") || name.equals("listen")) OPTIONS.put(name, "");
            else if (!WITH_VALUE.contains(name)) throw stop("Unknown option " + words[i], 2);
            else if (parts.length == 2) OPTIONS.put(name, parts[1]);
            else if (++i < words.length) OPTIONS.put(name, words[i]);
            else throw stop("Give a value to " + parts[0], 2);
        }
        if (OPTIONS.getOrDefault("name", "").isEmpty()) throw stop("Give a name: --name \"My Agent\"", 2);
        if (!OPTIONS.get("league").matches("https?://.+")) {
            throw stop("The league is an address that begins with http:// or https://", 2);
        }
        if (OPTIONS.containsKey("dial-out") && OPTIONS.containsKey("listen")) {
            throw stop("Give --dial-out or --listen, not both", 2);
        }
    }

    /** Opens our port; returns its address. */
    static String listen() {
        try {
            System.setProperty("sun.net.httpserver.nodelay", "true"); // else a kept connection waits 40 ms for each answer
            HttpServer server = HttpServer.create(new InetSocketAddress(Integer.parseInt(OPTIONS.get("port"))), 0);
            server.setExecutor(Executors.newCachedThreadPool());
            server.createContext("/", Player::handle);
            server.start();
            return OPTIONS.getOrDefault("endpoint", "http://localhost:" + server.getAddress().getPort() + "/mcp");
        } catch (IOException | IllegalArgumentException error) {
            String text = "Port " + OPTIONS.get("port") + " cannot be opened, choose another with --port: ";
            throw stop(text + error.getMessage(), 2);
        }
    }

    public static void main(String[] words) throws Exception {
        Path here = Path.of(Player.class.getProtectionDomain().getCodeSource().getLocation().toURI());
        Path folder = Files.isDirectory(here) ? here : here.getParent();
        Path file = folder.resolve("league.json");
        Map<?, ?> known = Files.exists(file) ? in(object("file", Json.read(Files.readString(file))), "file") : Map.of();
        OPTIONS.put("league", known.get("league") instanceof String league ? league : "http://127.0.0.1:8000/mcp");
        OPTIONS.put("code", known.get("registration_code") instanceof String code ? code : "");
        readOptions(words);
        String name = OPTIONS.get("name"), league = OPTIONS.get("league"), endpoint = null;
        double wait = Double.parseDouble(OPTIONS.get("call-wait"));
        Object games = known.get("game_types") == null ? List.of("even_odd") : known.get("game_types");
        Map<String, Object> meta = object("display_name", name, "version", "1.0.0", "game_types", games, "delivery", "poll");
        if (!OPTIONS.get("code").isEmpty()) meta.put("registration_code", OPTIONS.get("code"));
        if (!OPTIONS.containsKey("dial-out")) {
            endpoint = listen();
            // With "push" the league calls us at once, so that we know whether it can.
            meta.putAll(object("contact_endpoint", endpoint, "delivery", "push"));
        }
        // With the token of last time we are the same player again.
        byte[] digest = MessageDigest.getInstance("SHA-256").digest((league + " " + name).getBytes(StandardCharsets.UTF_8));
        Path kept = folder.resolve("token-" + HexFormat.of().formatHex(digest).substring(0, 16));
        Map<String, Object> params = object(
            "protocol", "league.v2", "message_type", "LEAGUE_REGISTER_REQUEST", "sender", "player:" + name,
            "timestamp", now(), "conversation_id", "conv-registration", "player_meta", meta);
        if (Files.exists(kept)) params.put("auth_token", Files.readString(kept).strip());
        register(params);
        kept.toFile().createNewFile();
        kept.toFile().setReadable(false, false); // readable by nobody, then by us
        kept.toFile().setReadable(true, true);
        Files.writeString(kept, String.valueOf(me.get("auth_token")));
        // The inbox is at the host where we registered: our token goes nowhere else.
        URI site = URI.create(league);
        Object pollUrl = in(me, "inbox").get("poll_url");
        String inbox = pollUrl == null ? null
            : site.getScheme() + "://" + site.getRawAuthority() + URI.create((String) pollUrl).getRawPath();
        String where = endpoint == null ? inbox : endpoint;
        System.out.println("READY " + where + " " + me.get("player_id") + " auth_token: " + me.get("auth_token"));
        if (endpoint != null) {
            if (OPTIONS.containsKey("listen") || inbox == null) return; // the server goes on
            if (CALLED.await((long) (1000 * wait), TimeUnit.MILLISECONDS)) {
                System.out.println("The league calls " + endpoint);
                return;
            }
            String shown = new BigDecimal(OPTIONS.get("call-wait")).toPlainString();
            System.out.println("The league has not called " + endpoint + " for " + shown + " s: its messages are fetched as well");
        }
        fetch(inbox);
    }

    /** JSON as Map, List, String, BigDecimal, Boolean and null: Java has no reader of its own. */
    static class Json {
        private static final int MAX_DEPTH = 200;
        private static final Pattern HEX = Pattern.compile("[0-9a-fA-F]{4}");
        private static final Pattern WORD = Pattern.compile( // bounded: long numbers would take long to read
            "true|false|null|-?(0|[1-9][0-9]{0,30})(\\.[0-9]{1,30})?([eE][+-]?[0-9]{1,3})?");
        private final String text;
        private int at = 0;

        private Json(String text) {
            this.text = text;
        }

        static Object read(String text) {
            Json json = new Json(text);
            Object value = json.value(0);
            if (json.next() != 0) throw json.wrong();
            return value;
        }

        static Object readOrNull(String text) {
            try { return read(text); } catch (Refused error) { return null; }
        }

        private Refused wrong() {
            return new Refused(-32700, "This is no JSON, at character " + at);
        }

        private char next() { // the next character that is no space; 0 at the end
            while (at < text.length() && " \t\r\n".indexOf(text.charAt(at)) >= 0) at++;
            return at < text.length() ? text.charAt(at) : 0;
        }

        private boolean takes(char wanted) {
            boolean there = next() == wanted;
            if (there) at++;
            return there;
        }

        private Object value(int depth) {
            if (depth > MAX_DEPTH) throw wrong();
            if (takes('{')) {
                Map<String, Object> map = new LinkedHashMap<>();
                if (takes('}')) return map;
                do {
                    if (!takes('"')) throw wrong();
                    String name = string();
                    if (!takes(':')) throw wrong();
                    map.put(name, value(depth + 1));
                } while (takes(','));
                if (!takes('}')) throw wrong();
                return map;
            }
            if (takes('[')) {
                List<Object> list = new ArrayList<>();
                if (takes(']')) return list;
                do list.add(value(depth + 1)); while (takes(','));
                if (!takes(']')) throw wrong();
                return list;
            }
            if (takes('"')) return string();
            Matcher word = WORD.matcher(text).region(at, text.length());
            if (!word.lookingAt()) throw wrong();
            at = word.end();
            switch (word.group()) {
                case "null": return null;
                case "true": return true;
                case "false": return false;
                default: return new BigDecimal(word.group());
            }
        }

        private String string() { // after its first quotation mark
            StringBuilder out = new StringBuilder();
            while (at < text.length()) {
                char c = text.charAt(at++);
                if (c == '"') return out.toString();
                if (c < ' ') throw wrong();
                if (c == '\\') {
                    char escaped = at < text.length() ? text.charAt(at++) : 0;
                    int plain = "\"\\/bfnrt".indexOf(escaped);
                    if (plain >= 0) c = "\"\\/\b\f\n\r\t".charAt(plain);
                    else if (escaped == 'u' && HEX.matcher(text).region(at, text.length()).lookingAt()) {
                        c = (char) Integer.parseInt(text, at, at += 4, 16);
                    } else throw wrong();
                }
                out.append(c);
            }
            throw wrong();
        }

        static String write(Object value) {
            StringJoiner parts = new StringJoiner(",");
            if (value instanceof Map<?, ?> map) {
                map.forEach((name, one) -> parts.add(write(name) + ":" + write(one)));
                return "{" + parts + "}";
            }
            if (value instanceof List<?> list) {
                list.forEach((one) -> parts.add(write(one)));
                return "[" + parts + "]";
            }
            if (!(value instanceof String text)) return String.valueOf(value);
            StringBuilder out = new StringBuilder();
            for (char c : text.toCharArray()) {
                if (c == '"' || c == '\\') out.append('\\').append(c);
                else if (c < ' ') out.append(String.format("\\u%04x", (int) c));
                else out.append(c);
            }
            return "\"" + out + "\"";
        }
    }
}
