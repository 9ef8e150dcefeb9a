// A player in one file, without dependencies. Change choose(), then: node player.mjs --name "My Agent"
// It listens and registers. If the league cannot call it, it fetches the league's messages itself.
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
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
    'dial-out': { type: 'boolean' }, // open no port: only fetch messages from the league
    listen: { type: 'boolean' }, // never fetch messages, though the league does not call
    'call-wait': { type: 'string', default: '10' }, // seconds to wait for its first call
  },
});
if (!given.name) { console.error('Give a name: --name "My Agent"'); process.exit(2); }
if (given['dial-out'] && given.listen) { console.error('Give --dial-out or --listen, not both'); process.exit(2); }

let me = {};
let called; // once the league has called us at our port
const firstCall = new Promise((resolve) => { called = () => resolve(true); });
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

// The JSON-RPC answer to a JSON-RPC request; atPort if it came to our port.
async function respond(raw, atPort) {
  let id = null;
  try {
    const request = JSON.parse(raw);
    id = request.id ?? null;
    await ready;
    const message = request.params ?? {};
    if (atPort && message.auth_token === me.league_token) called();
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

// Send JSON to the league (without a body only ask); its answer, with the HTTP status.
async function call(address, body, token, limit = 40_000) {
  const headers = { 'Content-Type': 'application/json', ...(token && { Authorization: `Bearer ${token}` }) };
  const method = body ? 'POST' : 'GET';
  const signal = AbortSignal.timeout(limit);
  const response = await fetch(address, { method, headers, signal, body: body && JSON.stringify(body) });
  return { status: response.status, said: await response.json() };
}

const stops = {
  401: 'The league does not know our auth_token any more: start again to register anew.',
  409: "Another program fetches this player's messages now, so this one stops: run only one of them.",
};

// Fetch messages from the league and bring the answers there, until another program does so for us.
async function fetchMessages(inbox) {
  for (let after = ''; ;) {
    try {
      // Not for long: a laptop that slept or changed its network is not told that the line is dead.
      const { status, said } = await call(`${inbox}?wait=6&after=${after}`, undefined, me.auth_token, 10_000);
      if (stops[status]) { console.error(stops[status]); process.exit(1); }
      if (status !== 200) throw new Error(`HTTP ${status}`);
      for (const { request } of said.messages) {
        const brought = await call(inbox, { responses: [await respond(JSON.stringify(request))] }, me.auth_token, 10_000);
        if (brought.status !== 200) throw new Error(`HTTP ${brought.status}`);
      }
      after = said.next;
      if (said.messages.length === 0) await sleep(100); // a league that is about to stop answers at once
    } catch (error) {
      console.log('The league does not answer, trying again:', error.message);
      await sleep(1000 + 2000 * Math.random()); // not all of a class at once
    }
  }
}

const server = http.createServer((req, res) => {
  const parts = [];
  req.on('data', (part) => parts.push(part));
  req.on('end', async () => {
    const content = JSON.stringify(await respond(Buffer.concat(parts).toString('utf8'), true));
    res.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(content) });
    res.end(content);
  });
});

async function main() {
  const meta = { display_name: given.name, version: '1.0.0', game_types: known.game_types ?? ['even_odd'], delivery: 'poll' };
  if (given.code) meta.registration_code = given.code;
  let endpoint = '';
  if (!given['dial-out']) {
    await new Promise((resolve) => { server.listen(Number(given.port), '0.0.0.0', resolve); });
    endpoint = given.endpoint ?? `http://localhost:${server.address().port}/mcp`;
    // With "push" the league calls us at once, so that we know whether it can.
    Object.assign(meta, { contact_endpoint: endpoint, delivery: 'push' });
  }
  // With the token of last time we are the same player again.
  const digest = createHash('sha256').update(`${given.league} ${given.name}`).digest('hex');
  const kept = new URL(`./token-${digest.slice(0, 16)}`, import.meta.url);
  const params = {
    protocol: 'league.v2', message_type: 'LEAGUE_REGISTER_REQUEST', sender: `player:${given.name}`, timestamp: now(),
    conversation_id: 'conv-registration', player_meta: meta,
  };
  if (existsSync(kept)) params.auth_token = readFileSync(kept, 'utf8');
  const { said: reply } = await call(given.league, { jsonrpc: '2.0', method: 'register_player', params, id: 1 });
  const result = reply.result ?? {};
  if (result.status !== 'ACCEPTED') {
    console.error('Not accepted:', result.reason ?? JSON.stringify(reply.error ?? reply));
    process.exit(3);
  }
  me = result;
  registered();
  writeFileSync(kept, me.auth_token, { mode: 0o600 });
  // At the host that we have called: our token goes nowhere else.
  const inbox = me.inbox && new URL(new URL(me.inbox.poll_url).pathname, given.league).href;
  console.log('READY', endpoint || inbox, me.player_id, 'auth_token:', me.auth_token);
  if (endpoint) {
    const wait = Number(given['call-wait']);
    if (given.listen || !inbox) return;
    if (await Promise.race([firstCall, sleep(1000 * wait)])) { console.log('The league calls', endpoint); return; }
    console.log(`The league has not called ${endpoint} for ${wait} s: its messages are fetched as well`);
  }
  await fetchMessages(inbox);
}

await main();
