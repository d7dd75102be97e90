import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Failpoint } from '#domain/foundation/kernel/failpoint.ts';
import { answerJson, startOddToolServer, type OddToolServer } from '../support/odd-tool-server.ts';
import { openToolWorld, type ToolWorld } from '../support/tool-world.ts';

const wanted = 'zz_cancel_booking';
const search = { name: 'tool_search', arguments: { query: 'cancel a booking' } };
/** After the turn that searched: its result is committed, and not yet used. */
const at: Failpoint = 'turn.after_commit';
const scripts = [
  {
    name: 'searches',
    text: 'The booking is cancelled.',
    calls: [[search], [{ name: `mcp__rooms__${wanted}`, arguments: {} }]],
  },
];

let server: OddToolServer;
let tools: ToolWorld;

beforeAll(async () => {
  const names = [...Array.from({ length: 130 }, (_, i) => `t${`${i}`.padStart(3, '0')}`), wanted];
  server = await startOddToolServer(
    Object.fromEntries(
      names.map((name) => [
        name,
        {
          answer: ({ id }, response) =>
            answerJson(response, id, { content: [{ type: 'text', text: 'Freed.' }] }),
        },
      ]),
    ),
  );
  tools = await openToolWorld({ scripts, origins: [server.origin], armable: true });
  await tools.update(await tools.register('rooms', server.url), { enabled_tools: ['*'] });
});
afterAll(async () => {
  await tools?.stop();
  await server?.stop();
});

it('a tool found by a search is called once when the worker dies between the search and the call', async () => {
  const [armed] = tools.stack.workers.splice(0);
  await armed!.arm(at);
  const before = server.effects.length;
  const { data } = await tools.client.create({ input: { text: 'Cancel it.' }, model: 'searches' });
  expect(await armed!.exited).toBe('SIGKILL');
  await tools.stack.launch('worker');
  const record = await tools.client.ended(data.id, 90_000);
  expect(record).toMatchObject({
    status: 'completed',
    output: [
      { type: 'mcp_call', status: 'completed', server_label: 'platform', name: 'tool_search' },
      { type: 'mcp_call', status: 'completed', server_label: 'rooms', name: wanted, output: 'Freed.' },
      { type: 'message', status: 'completed' },
    ],
  });
  expect(server.effects.slice(before)).toEqual([wanted]);
  expect(record.platform.governance_applied.tools_offered).not.toContain(`mcp__rooms__${wanted}`);
  const offered = tools.models.requests.at(-1)!.body!.tools!.map((tool) => tool.function.name);
  expect(offered).toContain(`mcp__rooms__${wanted}`);
});
