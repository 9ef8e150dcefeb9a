// A player in one file, without dependencies. Change choose(), then: node player.mjs --name "My Agent"
// It listens and registers. If the league cannot call it, it fetches the league's messages itself.
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';

// Pick one of options: "even" or "odd", or a legal move of another game. The message says against whom.
function choose(options, message) {
  return options[Math.floor(Math.random() * options.length)];
}

const file = new URL('./league.json', import.meta.url);
const known = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {};
const given = readOptions();

let me = {};
const choices = new Map(); // our last 32 choices of a parity: a call that is sent again gets the same
let called; // to be called once the league has called us at our port
const firstCall = new Promise((resolve) => { called = () => resolve(true); });
let asking = Promise.resolve(); // while we register: a call that comes early waits for the reply
const started = Date.now();
const maxBody = 4_000_000;

// The command line.
function readOptions() {
  const options = {
    name: { type: 'string' },
    port: { type: 'string', default: '8101' }, // 0 is a free one
    league: { type: 'string', default: known.league ?? 'http://127.0.0.1:8000/mcp' },
    code: { type: 'string', default: known.registration_code ?? '' },
    endpoint: { type: 'string' }, // our address, when the league cannot guess it
    'dial-out': { type: 'boolean' }, // open no port: only fetch messages from the league
    listen: { type: 'boolean' }, // never fetch messages, even if the league does not call
    'call-wait': { type: 'string', default: '10' }, // seconds to wait for its first call
  };
  try {
    const { values } = parseArgs({ options });
    if (!values.name) stop('Give a name: --name "My Agent"', 2);
    if (!/^https?:\/\/./.test(values.league)) stop('The league is an address that begins with http:// or https://', 2);
    if (values['dial-out'] && values.listen) stop('Give --dial-out or --listen, not both', 2);
    return values;
  } catch (error) {
    return stop(error.message, 2);
  }
}

// End the program, saying why.
function stop(text, code) {
  console.error(text);
  process.exit(code);
}

function now() {
  return new Date().toISOString().replace(/\.\d+Z$/, 'Z');
}

// A request that cannot be answered: the code of JSON-RPC, and why.
class Refused extends Error {
  constructor(code, why) {
    super(why);
    this.code = code;
  }
}

// Our answer to one message of the league; null if it needs none.
function answer(message) {
  const kind = message.message_type;
  if (['GAME_INVITATION', 'CHOOSE_PARITY_CALL', 'GAME_MOVE_CALL'].includes(kind) && typeof message.match_id !== 'string') {
    throw new Refused(-32602, 'match_id is missing');
  }
  switch (kind) {
    case 'GAME_INVITATION':
      return { message_type: 'GAME_JOIN_ACK', arrival_timestamp: now(), accept: true };
    case 'CHOOSE_PARITY_CALL': {
      const asked = `${message.auth_token} ${message.conversation_id}`;
      if (!choices.has(asked)) choices.set(asked, choose(['even', 'odd'], message));
      const [oldest] = choices.keys();
      if (choices.size > 32) choices.delete(oldest);
      return { message_type: 'CHOOSE_PARITY_RESPONSE', parity_choice: choices.get(asked) };
    }
    case 'GAME_MOVE_CALL': {
      const move_data = { move_type: message.move_type, choice: choose(message.valid_options, message) };
      return { message_type: 'GAME_MOVE_RESPONSE', game_type: message.game_type, move_data };
    }
  }
  return null;
}

// The JSON-RPC answer to a JSON-RPC request, as JSON; empty for a notification. atPort if it came to our port.
async function respond(raw, atPort) {
  let id = null;
  try {
    await asking;
    let request;
    try { request = JSON.parse(raw); } catch { throw new Refused(-32700, 'This is no JSON'); }
    const isObject = (one) => typeof one === 'object' && one !== null && !Array.isArray(one);
    const message = isObject(request) ? request.params ?? {} : null;
    if (!isObject(message)) throw new Refused(-32600, 'One request with params is expected');
    if (['string', 'number'].includes(typeof request.id)) id = request.id;
    if (request.method !== 'ping' && typeof message.message_type !== 'string') {
      throw new Refused(-32601, 'There is no such method here');
    }
    // Only the league knows this token. We tell ours to nobody else, and believe nobody else about a result.
    const isLeague = Boolean(me.league_token) && message.auth_token === me.league_token;
    if (isLeague && atPort) called();
    if (isLeague && message.message_type === 'GAME_OVER') {
      console.log(message.match_id, message.game_result?.status, 'winner:', message.game_result?.winner_player_id);
    }
    const said = answer(message);
    if (!('id' in request)) return '';
    const envelope = {
      protocol: 'league.v2', sender: `player:${me.player_id}`, timestamp: now(), conversation_id: message.conversation_id,
      match_id: message.match_id, player_id: me.player_id, ...(isLeague && { auth_token: me.auth_token }),
    };
    return JSON.stringify({ jsonrpc: '2.0', id, result: said ? { ...envelope, ...said } : { status: 'ok' } });
  } catch (error) {
    const code = error instanceof Refused ? error.code : -32603;
    return JSON.stringify({ jsonrpc: '2.0', id, error: { code, message: error.message } });
  }
}

const server = http.createServer((req, res) => {
  const say = (status, content) => {
    const headers = content && { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(content) };
    res.writeHead(status, headers || undefined);
    res.end(content);
  };
  if (req.method !== 'POST') {
    if (req.url !== '/health') return say(404, '{"error": "POST to /mcp"}');
    const agent_id = me.player_id ?? null;
    const uptime = Math.floor((Date.now() - started) / 1000);
    return say(200, JSON.stringify({ status: agent_id ? 'ok' : 'starting', agent_id, uptime }));
  }
  const parts = [];
  let size = 0;
  req.on('data', (part) => {
    size += part.length;
    if (size > maxBody) req.destroy();
    else parts.push(part);
  });
  req.on('error', () => {}); // a caller that hung up needs no answer
  req.on('end', async () => {
    const content = await respond(Buffer.concat(parts).toString('utf8'), true);
    say(content ? 200 : 204, content);
  });
});

// Send JSON to the league (without a body only ask); its answer, with the HTTP status.
async function call(address, body, token, limit = 40_000) {
  const headers = { 'Content-Type': 'application/json', ...(token && { Authorization: `Bearer ${token}` }) };
  const method = body ? 'POST' : 'GET';
  const signal = AbortSignal.timeout(limit);
  // Our token goes to the league only, not where it, or the login page of a Wi-Fi, redirects us.
  const response = await fetch(address, { method, headers, signal, redirect: 'manual', body: body && JSON.stringify(body) });
  const text = await response.text();
  let said = null;
  try { said = JSON.parse(text); } catch { /* perhaps a web page that is not from the league */ }
  return { status: response.status, said };
}

// Register as soon as the league is up; then we know who we are. Returns its answer.
async function register(params) {
  for (let waits = false; ; waits = true) {
    let why;
    const asked = call(given.league, { jsonrpc: '2.0', method: 'register_player', params, id: 1 });
    asking = asked.then(({ said }) => { if (said?.result?.status === 'ACCEPTED') me = said.result; }, () => {});
    try {
      const { status, said } = await asked;
      await asking;
      if (me.player_id) return me;
      if (status < 500 && status !== 429) {
        stop(`Not accepted: ${said?.result?.reason ?? said?.error?.message ?? `${given.league} answers HTTP ${status}`}`, 3);
      }
      why = `HTTP ${status}`;
    } catch (error) {
      why = error.cause?.message || error.cause?.code || error.message;
    }
    if (!waits) console.log(`The league at ${given.league} does not answer yet, waiting for it: ${why}`);
    await sleep(1000 + 2000 * Math.random()); // not all of a class at once
  }
}

const stops = {
  401: 'The league does not know our auth_token any more: start again to register anew.',
  409: "Another program fetches this player's messages now, so this one stops: run only one of them.",
};

// Fetch messages from the league and bring the answers there, until another program does so for us.
async function fetchMessages(inbox) {
  for (let after = ''; ;) {
    try {
      // Not for long: a laptop that slept or changed its network does not learn that the connection is dead.
      const { status, said } = await call(`${inbox}?wait=6&after=${after}`, undefined, me.auth_token, 10_000);
      if (stops[status]) stop(stops[status], 1);
      if (status !== 200) throw new Error(`HTTP ${status}`);
      for (const { request } of said.messages) {
        const reply = JSON.parse(await respond(JSON.stringify(request)));
        const brought = await call(inbox, { responses: [reply] }, me.auth_token, 10_000);
        if (brought.status !== 200) throw new Error(`HTTP ${brought.status}`);
      }
      after = said.next;
      if (said.messages.length === 0) await sleep(100); // a league that is about to stop does not wait before it answers
    } catch (error) {
      console.log('The league does not answer, trying again:', error.message);
      await sleep(1000 + 2000 * Math.random()); // not all of a class at once
    }
  }
}

async function main() {
  const meta = { display_name: given.name, version: '1.0.0', game_types: known.game_types ?? ['even_odd'], delivery: 'poll' };
  if (given.code) meta.registration_code = given.code;
  let endpoint = '';
  if (!given['dial-out']) {
    await new Promise((resolve, reject) => {
      server.on('error', reject);
      server.listen(Number(given.port), '0.0.0.0', resolve);
    }).catch((error) => stop(`Port ${given.port} cannot be opened, choose another with --port: ${error.message}`, 2));
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
  if (existsSync(kept)) params.auth_token = readFileSync(kept, 'utf8').trim();
  const result = await register(params);
  writeFileSync(kept, me.auth_token, { mode: 0o600 });
  // The inbox is at the host where we registered: our token goes nowhere else.
  const inbox = result.inbox && new URL(given.league).origin + new URL(result.inbox.poll_url).pathname;
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
