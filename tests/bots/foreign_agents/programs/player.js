// A player on Node's own http, as a student of JavaScript writes it: node player.js LEAGUE NAME
const http = require('http');

const [league, displayName] = process.argv.slice(2);
let playerId = null;
let authToken = null;
const history = [];

const handlers = {
  handle_game_invitation: (params) => ({
    message_type: 'GAME_JOIN_ACK',
    match_id: params.match_id,
    player_id: playerId,
    arrival_timestamp: new Date().toISOString(),
    accept: true,
  }),
  choose_parity: (params) => ({
    message_type: 'CHOOSE_PARITY_RESPONSE',
    match_id: params.match_id,
    player_id: playerId,
    parity_choice: history.length % 2 === 0 ? 'even' : 'odd',
  }),
  notify_match_result: (params) => {
    history.push(params.game_result.status);
    return { ok: true };
  },
};

const server = http.createServer((req, res) => {
  let data = '';
  req.on('data', (chunk) => (data += chunk));
  req.on('end', () => {
    try {
      const { method, params, id } = JSON.parse(data);
      const handler = handlers[method];
      res.setHeader('Content-Type', 'application/json');
      if (!handler) {
        res.statusCode = 404;
        return res.end(JSON.stringify({ jsonrpc: '2.0', id, error: `Unknown method ${method}` }));
      }
      const envelope = { protocol: 'league.v2', sender: `player:${playerId}`, auth_token: authToken };
      // Without a length: Node sends it in chunks.
      res.write(JSON.stringify({ jsonrpc: '2.0', id, result: { ...envelope, ...handler(params) } }));
      res.end();
    } catch (error) {
      res.statusCode = 500;
      res.end(String(error));
    }
  });
});

// Without 'localhost' Node would listen on every address of the machine.
server.listen(0, 'localhost', async () => {
  const endpoint = `http://localhost:${server.address().port}/mcp`;
  const answer = await fetch(league, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({
      jsonrpc: '2.0',
      method: 'registerPlayer',
      params: { messageType: 'LEAGUE_REGISTER_REQUEST', playerMeta: { displayName, contactEndpoint: endpoint } },
      id: 'reg-1',
    }),
  });
  const { result } = await answer.json();
  playerId = result.player_id;
  authToken = result.auth_token;
  console.log(`READY ${playerId}`);
});
