// A player on the JDK's HttpServer without a JSON library: java Player.java LEAGUE NAME
import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.Random;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

public class Player {
    static String playerId = "";
    static String token = "";

    static String text(String json, String name) {
        Matcher found = Pattern.compile("\"" + name + "\"\\s*:\\s*\"([^\"]*)\"").matcher(json);
        return found.find() ? found.group(1) : "";
    }

    static String number(String json, String name) {
        Matcher found = Pattern.compile("\"" + name + "\"\\s*:\\s*(\\d+)").matcher(json);
        return found.find() ? found.group(1) : "null";
    }

    static String answer(String body) {
        String match = "\"match_id\": \"" + text(body, "match_id") + "\", \"player_id\": \"" + playerId + "\"";
        switch (text(body, "message_type")) {
            case "GAME_INVITATION":
                return "{\"message_type\": \"GAME_JOIN_ACK\", " + match + ", \"accept\": true}";
            case "CHOOSE_PARITY_CALL":
                String choice = new Random().nextBoolean() ? "even" : "odd";
                return "{\"message_type\": \"CHOOSE_PARITY_RESPONSE\", " + match + ", \"parity_choice\": \"" + choice + "\"}";
            default:
                return "{\"status\": \"ok\"}";
        }
    }

    public static void main(String[] args) throws Exception {
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", 0), 0);
        server.createContext("/", exchange -> {
            String body = new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8);
            String reply = "{\"jsonrpc\": \"2.0\", \"id\": " + number(body, "id") + ", \"result\": " + answer(body) + "}\n";
            // Length 0 means chunks here; no content type is set.
            exchange.sendResponseHeaders(200, 0);
            exchange.getResponseBody().write(reply.getBytes(StandardCharsets.UTF_8));
            exchange.close();
        });
        server.start();
        String endpoint = "http://127.0.0.1:" + server.getAddress().getPort();
        String request = "{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"register_player\", \"params\": {\"player_meta\": "
            + "{\"display_name\": \"" + args[1] + "\", \"contact_endpoint\": \"" + endpoint + "\"}}}";
        HttpRequest post = HttpRequest.newBuilder(URI.create(args[0]))
            .header("Content-Type", "application/json")
            .POST(HttpRequest.BodyPublishers.ofString(request)).build();
        // HTTP/2 is offered by an Upgrade header: that is the default of Java's client.
        String reply = HttpClient.newHttpClient().send(post, HttpResponse.BodyHandlers.ofString()).body();
        playerId = text(reply, "player_id");
        token = text(reply, "auth_token");
        System.out.println("READY " + playerId);
    }
}
