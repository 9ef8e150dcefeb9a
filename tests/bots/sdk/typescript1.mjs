// A player on version 1 of MCP's TypeScript SDK with sessions, like its examples: tools and arguments in camelCase.
import { randomUUID } from 'node:crypto';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { createMcpExpressApp } from '@modelcontextprotocol/sdk/server/express.js';
import { isInitializeRequest } from '@modelcontextprotocol/sdk/types.js';
import * as z from 'zod/v4';
import { PORT, joinTheLeague, record } from './student.mjs';

const text = value => ({ content: [{ type: 'text', text: JSON.stringify(value) }] });
const ok = () => text({ status: 'ok' });

function getServer() {
    const server = new McpServer({ name: 'TypeScript1', version: '1.0.0' });
    const tool = (name, inputSchema, answer) =>
        server.registerTool(name, { description: name, inputSchema }, async args => {
            record(name, args);
            return answer(args);
        });
    tool('handleGameInvitation', { matchId: z.string(), roundId: z.number(), opponentId: z.string() }, ({ matchId }) =>
        text({ messageType: 'GAME_JOIN_ACK', matchId, accept: true })
    );
    tool('chooseParity', { matchId: z.string(), playerId: z.string(), deadline: z.string() }, ({ matchId, playerId }) =>
        text({ matchId, playerId, parityChoice: Math.random() < 0.5 ? 'even' : 'odd' })
    );
    const gameResult = z.object({ status: z.string(), winnerPlayerId: z.string().nullable() });
    tool('notifyMatchResult', { matchId: z.string(), gameResult }, ok);
    tool('notifyRound', { roundId: z.number(), matches: z.array(z.object({ match_id: z.string() })) }, ok);
    tool('updateStandings', { standings: z.array(z.any()) }, ok);
    tool('notifyRoundCompleted', { roundId: z.number(), matchesPlayed: z.number() }, ok);
    tool('notifyLeagueCompleted', { leagueId: z.string(), totalRounds: z.number(), champion: z.any() }, ok);
    return server;
}

const app = createMcpExpressApp();
const transports = {};

app.post('/mcp', async (req, res) => {
    const sessionId = req.headers['mcp-session-id'];
    let transport = sessionId && transports[sessionId];
    if (!transport && !sessionId && isInitializeRequest(req.body)) {
        transport = new StreamableHTTPServerTransport({
            sessionIdGenerator: () => randomUUID(),
            onsessioninitialized: id => {
                transports[id] = transport;
            }
        });
        transport.onclose = () => delete transports[transport.sessionId];
        await getServer().connect(transport);
    } else if (!transport) {
        const message = sessionId ? 'Session not found' : 'Bad Request: No valid session ID provided';
        res.status(sessionId ? 404 : 400).json({ jsonrpc: '2.0', error: { code: -32000, message }, id: null });
        return;
    }
    await transport.handleRequest(req, res, req.body);
});

app.delete('/mcp', async (req, res) => {
    const transport = transports[req.headers['mcp-session-id']];
    if (!transport) {
        res.status(400).send('Invalid or missing session ID');
        return;
    }
    await transport.handleRequest(req, res);
});

app.listen(PORT, '127.0.0.1', () => joinTheLeague('TypeScript1'));
