import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ResponseRecord } from '#domain/responses/record/response-record.ts';
import { answerJson, startOddToolServer, type OddToolServer } from '../support/odd-tool-server.ts';
import { openToolWorld, type ToolWorld } from '../support/tool-world.ts';

/** The state of each session: a browser, as in playwright-mcp. */
const pages = new Map<string, string>();
const sessionOf = (headers: Record<string, unknown>) => String(headers['mcp-session-id']);
const text = (said: string) => ({ content: [{ type: 'text', text: said }] });
const call = (name: string) => ({ name: `mcp__browser__${name}`, arguments: {} });
const scripts = [
  { name: 'browses', text: 'Done.', calls: [[call('navigate')], [call('snapshot')]] },
  { name: 'parallel', text: 'Done.', calls: [Array.from({ length: 5 }, () => call('snapshot'))] },
  { name: 'cancelled', text: 'Never said.', calls: [[call('wait')]] },
  { name: 'forgotten', text: 'Done.', calls: [[call('navigate')], [call('forget')], [call('snapshot')]] },
];

let release: (() => void) | null = null;
let server: OddToolServer;
let tools: ToolWorld;

beforeAll(async () => {
  server = await startOddToolServer(
    {
      navigate: {
        answer: ({ id }, response, { headers }) => {
          pages.set(sessionOf(headers), '/harbour');
          answerJson(response, id, text('Opened.'));
        },
      },
      snapshot: {
        answer: ({ id }, response, { headers }) =>
          answerJson(response, id, text(pages.get(sessionOf(headers)) ?? 'gone')),
      },
      wait: {
        answer: ({ id }, response) => {
          release = () => answerJson(response, id, text('Waited.'));
        },
      },
      forget: {
        answer: ({ id }, response) => {
          pages.clear();
          answerJson(response, id, text('Restarted.'));
        },
      },
    },
    (asked, response, request) => {
      if (asked?.method === 'initialize') {
        const id = randomUUID();
        pages.set(id, 'about:blank');
        response.setHeader('mcp-session-id', id);
        return false;
      }
      const isKnown = pages.has(sessionOf(request.headers));
      if (asked?.method !== 'server/discover' && !isKnown) {
        response.writeHead(404).end();
        return true;
      }
      if (request.method === 'DELETE') {
        pages.delete(sessionOf(request.headers));
        response.writeHead(200).end();
        return true;
      }
      return false;
    },
  );
  tools = await openToolWorld({ scripts, origins: [server.origin], workers: 2 });
  const registered = await tools.register('browser', server.url);
  await tools.update(registered, { enabled_tools: ['*'] });
});
afterAll(async () => {
  await tools?.stop();
  await server?.stop();
});

const outputs = ({ output }: ResponseRecord) =>
  output.flatMap((item) => (item.type === 'mcp_call' ? [item.output ?? item.error] : []));
const asked = (since: number, method: string) =>
  server.requests.slice(since).filter((each) => (each.asked?.method ?? each.method) === method).length;

describe('the calls of a response at a server with sessions', () => {
  it('share one, on any worker, which ends with the response', async () => {
    await expect.poll(() => pages.size).toBe(0);
    const since = server.requests.length;
    expect(outputs(await tools.ask('browses'))).toEqual(['Opened.', '/harbour']);
    expect(asked(since, 'initialize')).toBe(1);
    await expect.poll(() => [asked(since, 'DELETE'), pages.size]).toEqual([1, 0]);
    const { rows } = await tools.admin.query('select from tool_calls where session is not null');
    expect(rows).toEqual([]);
  });

  it('end it with the last of them, where the response was cancelled before', async () => {
    const since = server.requests.length;
    const { data } = await tools.client.create({ input: { text: 'Do it.' }, model: 'cancelled' });
    await expect.poll(() => release, { timeout: 20_000 }).not.toBeNull();
    await tools.client.call(`/${data.id}/cancel`, { method: 'POST' });
    const closed = async () => {
      const handle = tools.stack.temporal.workflow.getHandle(`response/${tools.world.tenantId}/${data.id}`);
      return (await handle.describe()).status.name;
    };
    await expect.poll(closed, { timeout: 20_000 }).not.toBe('RUNNING');
    expect(asked(since, 'DELETE')).toBe(0);
    release?.();
    await expect.poll(() => [asked(since, 'DELETE'), pages.size], { timeout: 20_000 }).toEqual([1, 0]);
  });

  it('open at most one on each worker when they come at once', async () => {
    const since = server.requests.length;
    expect(outputs(await tools.ask('parallel'))).toEqual(Array.from({ length: 5 }, () => 'about:blank'));
    expect(asked(since, 'initialize')).toBeLessThanOrEqual(2);
    await expect.poll(() => pages.size).toBe(0);
  });

  it('get another when the server has lost it, and are made once', async () => {
    const since = server.effects.length;
    expect(outputs(await tools.ask('forgotten'))).toEqual(['Opened.', 'Restarted.', 'about:blank']);
    expect(server.effects.slice(since)).toEqual(['navigate', 'forget', 'snapshot']);
  });
});
