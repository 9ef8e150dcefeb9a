// A player on version 2 of MCP's TypeScript SDK, with and without sessions, a server for each request: tools take whole
// messages.
import { createServer } from 'node:http';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { McpServer, createMcpHandler } from '@modelcontextprotocol/server';
import * as z from 'zod/v4';
import { PORT, joinTheLeague, record } from './student.mjs';

const inputSchema = z.object({ message: z.looseObject({ message_type: z.string(), league_id: z.string() }) });
const choice = () => (Math.random() < 0.5 ? 'even' : 'odd');
const tools = {
    handle_game_invitation: ({ match_id }) => ({ message_type: 'GAME_JOIN_ACK', match_id, accept: true }),
    choose_parity: ({ match_id, player_id }) => ({
        message_type: 'CHOOSE_PARITY_RESPONSE',
        match_id,
        player_id,
        parity_choice: choice()
    }),
    notify_match_result: () => ({ status: 'ok' }),
    notify_round: () => ({ status: 'ok' }),
    update_standings: () => ({ status: 'ok' }),
    notify_round_completed: () => ({ status: 'ok' }),
    notify_league_completed: () => ({ status: 'ok' })
};

function makeServer() {
    const server = new McpServer({ name: 'TypeScript2', version: '1.0.0' });
    for (const [name, answer] of Object.entries(tools)) {
        server.registerTool(name, { description: name, inputSchema }, async ({ message }) => {
            record(name, message);
            return { content: [{ type: 'text', text: JSON.stringify(answer(message)) }] };
        });
    }
    return server;
}

createServer(toNodeHandler(createMcpHandler(makeServer))).listen(PORT, '127.0.0.1', () => joinTheLeague('TypeScript2'));
