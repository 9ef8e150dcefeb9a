// What the clients in JavaScript share: each reads the league, plays it by tools, and prints what it saw as lines of JSON.
const { LEAGUE_ID, NAME } = process.env;
export const LEAGUE_URL = new URL(process.env.LEAGUE);
export const STANDINGS = `league://${LEAGUE_ID}/standings`;

export function show(seen) {
    console.log(JSON.stringify(seen));
}

function answer(params, mine) {
    const timestamp = new Date().toISOString().replace(/\.\d+Z$/, 'Z');
    const own = {
        GAME_INVITATION: { message_type: 'GAME_JOIN_ACK', arrival_timestamp: timestamp, accept: true },
        CHOOSE_PARITY_CALL: { message_type: 'CHOOSE_PARITY_RESPONSE', parity_choice: 'odd' }
    }[params.message_type];
    if (!own) return { status: 'ok' };
    const { player_id, auth_token } = mine;
    const { conversation_id, match_id } = params;
    const head = { protocol: 'league.v2', sender: `player:${player_id}`, timestamp };
    return { ...head, player_id, auth_token, conversation_id, match_id, ...own };
}

async function play(call, mine) {
    const token = { auth_token: mine.auth_token };
    const received = [];
    let after = '';
    while (!received.includes('LEAGUE_COMPLETED')) {
        const found = await call('next_message', { after, ...token });
        after = found.next;
        for (const { request } of found.messages) {
            received.push(request.params.message_type);
            const response = { jsonrpc: '2.0', id: request.id, result: answer(request.params, mine) };
            await call('submit_response', { response, ...token });
        }
    }
    show({ received });
}

// List, read, register, play, and be told that the standings have changed. `client` may be of SDK 1 or 2: their methods
// have the same names.
// `change` is a promise that resolves when the server says that the standings have changed.
export async function takePart(client, change) {
    const read = async () => JSON.parse((await client.readResource({ uri: STANDINGS })).contents[0].text);
    const call = async (name, args) => {
        const result = await client.callTool({ name, arguments: args });
        if (result.isError) throw new Error(JSON.stringify(result));
        return result.structuredContent;
    };
    show({
        tools: (await client.listTools()).tools.map(one => one.name),
        resources: (await client.listResources()).resources.map(one => one.uri),
        templates: (await client.listResourceTemplates()).resourceTemplates.map(one => one.uriTemplate),
        prompts: (await client.listPrompts()).prompts.map(one => one.name)
    });
    show({ prompt: (await client.getPrompt({ name: 'how_to_play', arguments: {} })).messages[0].content.text });
    show({ before: await read() });
    const mine = await call('register_player', { display_name: NAME, league_id: LEAGUE_ID, delivery: 'poll' });
    show({ registered: mine.player_id });
    await play(call, mine);
    await change;
    show({ change: STANDINGS });
    show({ after: await read() });
}
