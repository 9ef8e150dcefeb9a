// A player in one file, without dependencies. Change choose(), then: node player.mjs --name "My Agent"
import { existsSync, readFileSync } from 'node:fs';
import http from 'node:http';
import { parseArgs } from 'node:util';

const file = new URL('./league.json', import.meta.url);
const known = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {};
const { values: given } = parseArgs({
  options: {
    name: { type: 'string' },
    port: { type: 'string', default: '8101' }, // 0 is a free one
    league: { type: 'string', default: known.league ?? 'http://127.0.0.1:8000/mcp' },
    code: { type: 'string', default: known.registration_code ?? '' },
    endpoint: { type: 'string' }, // our address, when the league cannot guess it
  },
});
if (!given.name) { console.error('Give a name: --name "My Agent"'); process.exit(2); }

let me = {};
let registered; // an early call waits until the registration has been answered
const ready = new Promise((resolve) => { registered = resolve; });
const now = () => new Date().toISOString().replace(/\.\d+Z$/, 'Z');

// Pick one of options: "even" or "odd", or a legal move of another game. The message says against whom.
function choose(options, message) {
  return options[Math.floor(Math.random() * options.length)];
}

// What to say to one message of the league; null for what needs no words.
function answer(message) {
  switch (message.message_type) {
    case 'GAME_INVITATION':
      return { message_type: 'GAME_JOIN_ACK', arrival_timestamp: now(), accept: true };
    case 'CHOOSE_PARITY_CALL':
      return { message_type: 'CHOOSE_PARITY_RESPONSE', parity_choice: choose(['even', 'odd'], message) };
    case 'GAME_MOVE_CALL': {
      const move_data = { move_type: message.move_type, choice: choose(message.valid_options, message) };
      return { message_type: 'GAME_MOVE_RESPONSE', game_type: message.game_type, move_data };
    }
    case 'GAME_OVER':
      console.log(message.match_id, message.game_result?.status, 'winner:', message.game_result?.winner_player_id);
  }
  return null;
}

async function handle(raw) {
  let id = null;
  try {
    const request = JSON.parse(raw);
    id = request.id ?? null;
    await ready;
    const message = request.params ?? {};
    const said = answer(message);
    const envelope = {
      protocol: 'league.v2', sender: `player:${me.player_id}`, timestamp: now(), conversation_id: message.conversation_id,
      auth_token: me.auth_token, match_id: message.match_id, player_id: me.player_id,
    };
    return { jsonrpc: '2.0', id, result: said ? { ...envelope, ...said } : { status: 'ok' } };
  } catch (error) {
    return { jsonrpc: '2.0', id, error: { code: -32603, message: String(error) } };
  }
}

const server = http.createServer((req, res) => {
  const parts = [];
  req.on('data', (part) => parts.push(part));
  req.on('end', async () => {
    const content = JSON.stringify(await handle(Buffer.concat(parts).toString('utf8')));
    res.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(content) });
    res.end(content);
  });
});

server.listen(Number(given.port), '0.0.0.0', async () => {
  const endpoint = given.endpoint ?? `http://localhost:${server.address().port}/mcp`;
  const player_meta = {
    display_name: given.name, version: '1.0.0', game_types: known.game_types ?? ['even_odd'], contact_endpoint: endpoint,
  };
  if (given.code) player_meta.registration_code = given.code;
  const params = {
    protocol: 'league.v2', message_type: 'LEAGUE_REGISTER_REQUEST', sender: `player:${given.name}`, timestamp: now(),
    conversation_id: 'conv-registration', player_meta,
  };
  const body = JSON.stringify({ jsonrpc: '2.0', method: 'register_player', params, id: 1 });
  const response = await fetch(given.league, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body });
  const reply = await response.json();
  const result = reply.result ?? {};
  if (result.status !== 'ACCEPTED') {
    console.error('Not accepted:', result.reason ?? JSON.stringify(reply.error ?? reply));
    process.exit(3);
  }
  me = result;
  registered();
  console.log('READY', endpoint, me.player_id, 'auth_token:', me.auth_token);
});
