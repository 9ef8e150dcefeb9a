// A client made with version 2 of MCP's TypeScript SDK, which finds out by itself which protocol version the server
// speaks.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { LEAGUE_URL, STANDINGS, show, takePart } from './playing.mjs';

const client = new Client({ name: 'TypeScript2', version: '1.0.0' }, { versionNegotiation: { mode: 'auto' } });
const change = new Promise(resolve =>
    client.setNotificationHandler('notifications/resources/updated', ({ params }) => {
        if (params.uri === STANDINGS) resolve();
    })
);
await client.connect(new StreamableHTTPClientTransport(LEAGUE_URL));
show({ version: client.getNegotiatedProtocolVersion() });
const subscription = await client.listen({ resourceSubscriptions: [STANDINGS] });
await takePart(client, change);
await subscription.close();
await client.close();
