import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Failpoint } from '#domain/foundation/kernel/failpoint.ts';
import type { ResponseRecord } from '#domain/responses/record/response-record.ts';
import { startToolServer, type ToolServer } from '../support/tool-servers.ts';
import { openToolWorld, type Server, type ToolWorld } from '../support/tool-world.ts';

const kinds = ['keyed_add', 'unkeyed_add', 'repeatable_set'] as const;
/** Calls of all three kinds at once, on items that identify their call. */
const round = (item: string, names: readonly string[] = kinds) => [
  names.map((name) => ({ name: `mcp__ledger__${name}`, arguments: { item } })),
];
const failpoints: Failpoint[] = [
  'call.after_start',
  'call.before_effect',
  'call.after_effect',
  'call.before_commit',
  'call.after_commit',
];
const holds = ['before_effect', 'after_effect'] as const;
const single = ['unkeyed_add'];
const scripts = [
  ...failpoints.map((name) => ({ name, text: 'Done.', calls: round(name) })),
  ...holds.map((name) => ({ name, text: 'Done.', calls: round(name) })),
  { name: 'strict', text: 'Done.', calls: round('strict', single) },
  { name: 'cancelled', text: 'Done.', calls: round('cancelled', single) },
  { name: 'dropped', text: 'Done.', calls: round('dropped') },
];

let ledger: ToolServer;
let server: Server;
let tools: ToolWorld;

beforeAll(async () => {
  ledger = await startToolServer();
  tools = await openToolWorld({ scripts, origins: [ledger.origin], armable: true });
  server = await tools.register('ledger', ledger.url);
  await tools.update(server, {
    enabled_tools: ['*'],
    tools: [
      { name: 'keyed_add', repeatable: true },
      { name: 'repeatable_set', repeatable: true },
    ],
  });
});
afterAll(async () => {
  await tools?.stop();
  await ledger?.stop();
});

const of = (lines: { item: string; tool: string }[], item: string, tool: string) =>
  lines.filter((line) => line.item === item && line.tool === tool);

async function begin(script: string, more: object = {}): Promise<string> {
  const made = await tools.client.create({ input: { text: 'Do it.' }, model: script, ...more });
  expect(made.status).toBe(202);
  return made.data.id;
}

const callsOf = ({ output }: ResponseRecord) =>
  output.flatMap((item) => (item.type === 'mcp_call' ? [item] : []));

/** The promise for each kind, whatever happened to the workers. */
async function expectPromises(record: ResponseRecord, item: string): Promise<void> {
  expect(record.status).toBe('completed');
  const calls = callsOf(record);
  expect(calls.map(({ name }) => name)).toEqual(kinds);
  const [keyed, unkeyed, repeatable] = calls;
  expect([keyed?.status, repeatable?.status]).toEqual(['completed', 'completed']);
  const arrivals = ledger.arrivals();
  const effects = ledger.effects();
  expect(of(effects, item, 'keyed_add')).toHaveLength(1);
  expect(new Set(of(arrivals, item, 'keyed_add').map((line) => (line as { key?: string }).key)).size).toBe(1);
  expect(of(arrivals, item, 'repeatable_set').length).toBeGreaterThan(0);
  const reached = of(arrivals, item, 'unkeyed_add').length;
  expect(reached).toBeLessThanOrEqual(1);
  if (unkeyed?.status === 'completed') {
    expect(of(effects, item, 'unkeyed_add')).toHaveLength(1);
  } else {
    expect(unkeyed?.error).toMatchObject({ code: 'tool_outcome_unknown' });
    const { rows } = await tools.admin.query<{ tool: string }>(
      `select metadata ->> 'tool' as tool from events
         where event_type = 'space.tool_outcome_unknown' and resource_id = $1`,
      [record.id],
    );
    expect(rows).toEqual([{ tool: 'mcp__ledger__unkeyed_add' }]);
  }
}

describe('the effects of tools', () => {
  it.each(holds)('are as promised when the worker is killed while calls wait at %s', async (hold) => {
    await ledger.control({ hold });
    const id = await begin(hold);
    await ledger.held(3);
    const [victim] = tools.stack.workers.splice(0);
    await tools.stack.launch('worker');
    expect(await victim!.kill()).toBe('SIGKILL');
    await ledger.control({ hold: null });
    const record = await tools.client.ended(id, 60_000);
    await expectPromises(record, hold);
    const [, unkeyed] = callsOf(record);
    expect(unkeyed?.error).toMatchObject({ code: 'tool_outcome_unknown' });
    const received = tools.models.requests.at(-1)!.body!.messages.filter(({ role }) => role === 'tool');
    expect(received[1]).toMatchObject({
      content: expect.stringContaining('may have taken effect') as string,
    });
    expect(of(ledger.arrivals(), hold, 'keyed_add')).toHaveLength(2);
  });

  it.each(failpoints)('are as promised when a worker dies at %s', async (failpoint) => {
    const [armed] = tools.stack.workers.splice(0);
    await armed!.ready;
    await armed!.arm(failpoint);
    const id = await begin(failpoint);
    expect(await armed!.exited).toBe('SIGKILL');
    await tools.stack.launch('worker');
    await expectPromises(await tools.client.ended(id, 60_000), failpoint);
  });

  it('that are unknown end a response that requests it', async () => {
    await ledger.control({ drop: true });
    const id = await begin('strict', { platform: { on_unknown_tool_outcome: 'fail' } });
    const record = await tools.client.ended(id);
    expect(record).toMatchObject({
      status: 'failed',
      platform: { failure_reason: { code: 'tool_outcome_unknown' } },
      output: [{ type: 'mcp_call', status: 'failed', error: { code: 'tool_outcome_unknown' } }],
    });
    expect(of(ledger.arrivals(), 'strict', 'unkeyed_add')).toHaveLength(1);
  });

  it('are requested again, with the same key, when an answer was lost and the tool is repeatable', async () => {
    const id = await begin('dropped');
    for (const deadline = Date.now() + 20_000; of(ledger.arrivals(), 'dropped', 'keyed_add').length < 2;) {
      expect(Date.now()).toBeLessThan(deadline);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    await ledger.control({ drop: false });
    await expectPromises(await tools.client.ended(id), 'dropped');
    expect(of(ledger.effects(), 'dropped', 'keyed_add')).toHaveLength(1);
  });

  it('resolve the ledger row and publish nothing when the response was cancelled meanwhile', async () => {
    await ledger.control({ hold: 'after_effect' });
    const id = await begin('cancelled');
    await ledger.held();
    await tools.client.call(`/${id}/cancel`, { method: 'POST' });
    const before = await tools.client.call<unknown[]>(`/${id}/events?limit=1000`);
    await ledger.control({ hold: null });
    const ledgerRow = async () => {
      const { rows } = await tools.admin.query<{ status: string; outcome: string | null }>(
        'select status, outcome from tool_calls where response_id = $1',
        [id],
      );
      return rows;
    };
    await expect.poll(ledgerRow, { timeout: 10_000 }).toEqual([{ status: 'done', outcome: 'succeeded' }]);
    expect((await tools.client.call<unknown[]>(`/${id}/events?limit=1000`)).data).toEqual(before.data);
    expect((await tools.client.read(id)).output).toMatchObject([
      { type: 'mcp_call', status: 'incomplete', output: null },
    ]);
  });
});
