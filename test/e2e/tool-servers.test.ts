import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { recordSegment } from '../support/sse-recorder.ts';
import { checkStream } from '../support/stream-checker.ts';
import type { Json } from '../support/stream-events.ts';
import { startEverything, startToolServer, type ToolServer } from '../support/tool-servers.ts';
import { openToolWorld, type Server, type ToolWorld } from '../support/tool-world.ts';

const call = (name: string, args: object) => ({ name, arguments: args });
const scripts = [
  { name: 'modern', text: 'It is in the box.', calls: [[call('mcp__ours-modern__lookup', { item: 'hat' })]] },
  { name: 'legacy', text: 'It is in the box.', calls: [[call('mcp__ours-legacy__lookup', { item: 'hat' })]] },
  { name: 'echo', text: 'It says hi.', calls: [[call('mcp__everything__echo', { message: 'hi' })]] },
  {
    name: 'adds',
    text: 'Added.',
    calls: [[call('mcp__ours-modern__unkeyed_add', { item: 'tie' })]],
  },
  { name: 'long', text: 'Long.', calls: [[call('mcp__ours-modern__long', { bytes: 400_000 })]] },
  { name: 'breaks', text: 'It broke.', calls: [[call('mcp__ours-modern__break', {})]] },
  { name: 'plain', text: 'Nothing to do.' },
];

let modern: ToolServer;
let legacy: ToolServer;
let stranger: ToolServer;
let everything: Awaited<ReturnType<typeof startEverything>>;
let tools: ToolWorld;
let servers: { modern: Server; legacy: Server; everything: Server };

beforeAll(async () => {
  [modern, legacy, stranger, everything] = await Promise.all([
    startToolServer({ era: 'modern', token: 'secret-of-ours' }),
    startToolServer({ era: 'legacy' }),
    startToolServer(),
    startEverything(),
  ]);
  tools = await openToolWorld({
    scripts,
    origins: [modern.origin, legacy.origin, everything.origin],
    env: { TOOL_CREDENTIALS: `OURS_TOKEN@${modern.origin}`, OURS_TOKEN: 'secret-of-ours' },
  });
  servers = {
    modern: await tools.register('ours-modern', modern.url, { auth: { credential_ref: 'OURS_TOKEN' } }),
    legacy: await tools.register('ours-legacy', legacy.url),
    everything: await tools.register('everything', everything.url),
  };
});
afterAll(async () => {
  await tools?.stop();
  await Promise.all([modern, legacy, stranger, everything].map((each) => each?.stop()));
});

describe('connected tool servers', () => {
  it('are read in both revisions of the protocol, and a server outside the list of origins is never reached', async () => {
    expect(Object.values(servers).map(({ status, last_error: error }) => [status, error])).toEqual([
      ['connected', null],
      ['connected', null],
      ['connected', null],
    ]);
    expect(servers.modern.discovered_tools.map(({ name, state }) => `${name} ${state}`)).toEqual([
      'break new',
      'keyed_add new',
      'long new',
      'lookup new',
      'repeatable_set new',
      'unkeyed_add new',
    ]);
    expect(servers.everything.discovered_tools.map(({ name }) => name)).toContain('echo');
    const refused = await tools.register('stranger', stranger.url);
    expect(refused).toMatchObject({ status: 'error', last_error: 'url_not_allowed', tool_count: 0 });
    expect(stranger.arrivals()).toEqual([]);
    expect(await tools.eventTypes('space.mcp_server_')).toEqual([
      ...['added', 'connected'].map((what) => `space.mcp_server_${what}`),
      ...['added', 'connected'].map((what) => `space.mcp_server_${what}`),
      ...['added', 'connected'].map((what) => `space.mcp_server_${what}`),
      'space.mcp_server_added',
      'space.mcp_server_failed',
    ]);
  });

  it('send no credential to an origin that it is not bound to', async () => {
    const other = await tools.register('borrowed', legacy.url, { auth: { credential_ref: 'OURS_TOKEN' } });
    expect(other).toMatchObject({ status: 'error', last_error: 'credential_missing' });
    const bare = await tools.register('bare', modern.url);
    expect(bare).toMatchObject({ status: 'auth_required', last_error: 'unauthorized' });
  });

  it('offer what is enabled and nothing else, and their tools are called in a response that any reader follows', async () => {
    const before = await tools.ask('plain');
    expect(before.platform.governance_applied.tools_offered).toEqual(['knowledge_search']);
    servers.modern = await tools.update(servers.modern, { enabled_tools: ['*'] });
    servers.legacy = await tools.update(servers.legacy, { enabled_tools: ['lookup'] });
    const ofEverything = ['echo', 'simulate-research-query'];
    servers.everything = await tools.update(servers.everything, { enabled_tools: ofEverything });
    const { tools_offered: offered, tools_withheld: withheld } = (await tools.ask('plain')).platform
      .governance_applied;
    const research = 'mcp__everything__simulate-research-query';
    expect(withheld).toContainEqual({ name: research, reason: 'task_required' });
    expect(offered).toEqual([
      'knowledge_search',
      'mcp__everything__echo',
      'mcp__ours-legacy__lookup',
      ...['break', 'keyed_add', 'long', 'lookup', 'repeatable_set', 'unkeyed_add'].map(
        (name) => `mcp__ours-modern__${name}`,
      ),
    ]);
    for (const [script, output, label] of [
      ['modern', 'hat is in the box', 'ours-modern'],
      ['legacy', 'hat is in the box', 'ours-legacy'],
      ['echo', 'Echo: hi', 'everything'],
    ] as const) {
      const segment = await recordSegment({
        url: tools.client.url(),
        method: 'POST',
        headers: { ...tools.client.headers, 'content-type': 'application/json' },
        body: { input: { text: 'Do it.' }, model: script, stream: true },
      });
      const [responseId = ''] = /resp_[a-z2-7]+/.exec(Buffer.from(segment.bytes).toString()) ?? [];
      const record = await tools.client.read(responseId);
      expect(checkStream({ responseId, segments: [segment], final: record as unknown as Json })).toEqual([]);
      expect(record.output).toMatchObject([
        { type: 'mcp_call', status: 'completed', server_label: label, output, error: null },
        { type: 'message', status: 'completed' },
      ]);
      const received = tools.models.requests.at(-1)!.body!.messages.at(-1)!;
      expect(received).toMatchObject({ role: 'tool', content: output });
    }
  });

  it('may fail or return too much: the model receives up to 256 KiB', async () => {
    const failed = await tools.ask('breaks');
    expect(failed.output[0]).toMatchObject({
      type: 'mcp_call',
      status: 'failed',
      output: null,
      error: { type: 'mcp_tool_execution_error', code: 'tool_failed', message: 'the tool broke' },
    });
    const long = (await tools.ask('long')).output[0];
    const said = long?.type === 'mcp_call' ? (long.output ?? '') : '';
    expect(Buffer.byteLength(said)).toBeLessThanOrEqual(262_144);
    expect(said).toMatch(/^é{100000,}\n\[truncated: 400000 bytes in all\]$/);
  });

  it('whose tool changed after it was approved: the call is not made, the tool withheld until it is enabled again', async () => {
    await modern.control({ change: 'unkeyed_add' });
    // The server's list counts as current for five seconds.
    await sleep(5_100);
    const caught = await tools.ask('adds');
    expect(caught.output[0]).toMatchObject({
      type: 'mcp_call',
      status: 'failed',
      error: { code: 'tool_withheld' },
    });
    expect(modern.arrivals()).toEqual([]);
    expect(await tools.eventTypes('space.mcp_tools_changed')).toHaveLength(1);
    const later = (await tools.ask('plain')).platform.governance_applied;
    expect(later.tools_offered).not.toContain('mcp__ours-modern__unkeyed_add');
    expect(later.tools_withheld).toContainEqual({
      name: 'mcp__ours-modern__unkeyed_add',
      reason: 'schema_changed',
    });
    await tools.update(servers.modern, { enabled_tools: ['*'] });
    const again = await tools.ask('adds');
    expect(again.output[0]).toMatchObject({ status: 'completed', output: 'added tie' });
    expect(modern.effects().map(({ item }) => item)).toEqual(['tie']);
  });

  it('leave no content and no credential in logs and histories', async () => {
    const said = /secret-of-ours|Always fails|Echoes back|in the box|the tool broke/;
    for (const server of [servers.modern, servers.everything]) {
      const id = `mcp-server/${tools.world.tenantId}/${server.mcp_server_config_id}/1`;
      const history = await tools.stack.temporal.workflow.getHandle(id).fetchHistory();
      const text = JSON.stringify(history).replaceAll(/"data":"([^"]*)"/g, (_all, data: string) =>
        Buffer.from(data, 'base64').toString(),
      );
      expect(text).toContain('connected');
      expect(text).not.toMatch(said);
    }
    const folder = inject('logFolder');
    for (const name of await readdir(folder)) {
      expect(await readFile(join(folder, name), 'utf8'), name).not.toMatch(said);
    }
  });
});
