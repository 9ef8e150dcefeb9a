// A client made with version 1 of MCP's TypeScript SDK.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ResourceUpdatedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { LEAGUE_URL, STANDINGS, show, takePart } from './playing.mjs';

const client = new Client({ name: 'TypeScript1', version: '1.0.0' });
const change = new Promise(resolve =>
    client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => {
        if (params.uri === STANDINGS) resolve();
    })
);
const transport = new StreamableHTTPClientTransport(LEAGUE_URL);
await client.connect(transport);
show({ version: transport.protocolVersion });
await client.subscribeResource({ uri: STANDINGS });
await takePart(client, change);
await transport.terminateSession();
await client.close();
