// What the players in JavaScript share: they record the calls of their tools, and register once their server listens.
import { appendFileSync } from 'node:fs';

export const PORT = Number(process.env.PORT);

export function record(tool, args) {
    appendFileSync(process.env.CALLS_FILE, JSON.stringify({ tool, arguments: args }) + '\n');
}

export async function joinTheLeague(name) {
    const player_meta = {
        display_name: name,
        version: '1.0.0',
        game_types: ['even_odd'],
        contact_endpoint: process.env.ENDPOINT
    };
    const params = {
        protocol: 'league.v2',
        message_type: 'LEAGUE_REGISTER_REQUEST',
        league_id: process.env.LEAGUE_ID,
        player_meta
    };
    const reply = await fetch(process.env.LEAGUE, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify({ jsonrpc: '2.0', method: 'register_player', params, id: 1 })
    });
    console.log('JOINED', (await reply.json()).result.player_id);
}
