// A player on version 2 of MCP's TypeScript SDK that speaks MCP 2026-07-28 only. Its tools refuse arguments that they do
// not name.
import { createServer } from 'node:http';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { McpServer, createMcpHandler } from '@modelcontextprotocol/server';
import * as z from 'zod/v4';
import { PORT, joinTheLeague, record } from './student.mjs';

const ok = () => ({ status: 'ok' });

function makeServer() {
    const server = new McpServer({ name: 'StatelessOnly', version: '1.0.0' });
    const tool = (name, arguments_, answer) =>
        server.registerTool(name, { description: name, inputSchema: z.strictObject(arguments_) }, async args => {
            record(name, args);
            return { content: [{ type: 'text', text: JSON.stringify(answer(args)) }] };
        });
    const match = { match_id: z.string(), conversation_id: z.string() };
    const standings = z.strictObject({ wins: z.int(), losses: z.int(), draws: z.int() });
    const context = z.strictObject({ opponent_id: z.string(), your_standings: standings });
    const game_result = z.strictObject({ status: z.enum(['WIN', 'DRAW', 'TECHNICAL_LOSS']) });
    tool('handle_game_invitation', { ...match, role_in_match: z.string() }, () => ({ accept: true }));
    tool('choose_parity', { ...match, context }, () => ({ parity_choice: Math.random() < 0.5 ? 'even' : 'odd' }));
    tool('notify_match_result', { match_id: z.string(), game_result }, ok);
    tool('notify_round', { round_id: z.int(), league_id: z.string() }, ok);
    tool('update_standings', { round_id: z.int(), standings: z.array(z.any()) }, ok);
    tool('notify_round_completed', { round_id: z.int() }, ok);
    tool('notify_league_completed', { total_rounds: z.int(), total_matches: z.int() }, ok);
    return server;
}

const handler = createMcpHandler(makeServer, { legacy: 'reject' });
createServer(toNodeHandler(handler)).listen(PORT, '127.0.0.1', () => joinTheLeague('StatelessOnly'));
