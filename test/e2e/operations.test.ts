import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { revokeApiKey } from '#domain/identity/api-keys/revoke-api-key.ts';
import { claimPort } from '../support/free-port.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { addOperator } from '../support/operators.ts';
import { runPlatform } from '../support/platform-cli.ts';
import { startModelServer } from '../support/model-server.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { addMember, createWorld, scriptedModel, type World } from '../support/world.ts';

const prompt = 'canary-in-the-prompt-5f1c';

describe('operating the processes', () => {
  let database: TestDatabase;
  let stack: Stack;
  let world: World;
  let models: Awaited<ReturnType<typeof startModelServer>>;

  beforeAll(async () => {
    models = await startModelServer([{ name: 'slow', text: 'word '.repeat(400), tokenDelayMs: 60 }], {});
    database = await createTestDatabase();
    world = await createWorld(database.unitOfWork, [scriptedModel(models, 'slow')]);
    stack = await startStack({ database, env: { EGRESS_ALLOW: new URL(models.url).origin } });
  });

  afterAll(async () => {
    await stack?.stop();
    await models?.stop();
    await database?.drop();
  });

  const path = () => `/api/v1/spaces/${world.spaceId}/responses`;

  /** Opens a stream and reads until `enough` says so. */
  async function openStream(
    base: string,
    apiKey: string,
  ): Promise<{ text: () => string; ended: Promise<void> }> {
    const answer = await fetch(base + path(), {
      method: 'POST',
      headers: { 'X-API-Key': apiKey, 'Content-Type': 'application/json' },
      body: JSON.stringify({ input: { text: prompt }, model: 'slow', tools: [], stream: true }),
    });
    expect(answer.status).toBe(200);
    let received = '';
    const decoder = new TextDecoder();
    const ended = (async () => {
      for await (const piece of answer.body!) {
        received += decoder.decode(piece, { stream: true });
      }
    })();
    while (!received.includes('output_text.delta')) {
      await sleep(20);
    }
    return { text: () => received, ended };
  }

  it('counts requests, streams, workflow starts, model turns, tool calls and the age of the queue', async () => {
    const answer = await fetch(stack.gateways[0]!.url + path(), {
      method: 'POST',
      headers: { 'X-API-Key': world.apiKey, 'Content-Type': 'application/json', Prefer: 'wait=20' },
      body: JSON.stringify({ input: { text: 'What is kept?' }, model: 'builtin' }),
    });
    expect(answer.status).toBe(200);
    const gateway = await (await fetch(`${stack.gateways[0]!.url}/metrics`)).text();
    expect(gateway).toMatch(
      /^http_request_duration_seconds_count\{route="\/api\/v1\/spaces\/:space_id\/responses",method="POST",status="200".*\} [1-9]/m,
    );
    expect(gateway).toMatch(/^workflow_starts_total\{type="generateResponse",outcome="started".*\} [1-9]/m);
    expect(gateway).toMatch(/^outbox_oldest_row_seconds\S* \d/m);
    const worker = await (await fetch(`${stack.workers[0]!.url}/metrics`)).text();
    expect(worker).toMatch(/^model_turn_duration_seconds_count\{outcome="committed".*\} [2-9]/m);
    expect(worker).toMatch(/^tool_calls_total\{tool="knowledge_search",outcome="succeeded".*\} [1-9]/m);
    expect(gateway + worker).not.toContain(world.tenantId);
  });

  it('counts a stream while it is open and no longer', async () => {
    const gateway = await stack.start('gateway');
    const open = async () =>
      /^sse_streams_open\S* (\d+)/m.exec(await (await fetch(`${gateway.url}/metrics`)).text())?.[1];
    const stream = await openStream(gateway.url, world.apiKey);
    expect(await open()).toBe('1');
    const id = /^id: ([^:\n]+):/m.exec(stream.text())![1]!;
    await fetch(`${gateway.url}${path()}/${id}/cancel`, {
      method: 'POST',
      headers: { 'X-API-Key': world.apiKey },
    });
    await stream.ended;
    await expect.poll(open).toBe('0');
    expect(await gateway.stop()).toBe(0);
  });

  it('ends an attached stream within a second of its key being revoked', async () => {
    const member = await addMember(database.unitOfWork, world);
    const stream = await openStream(stack.gateways[0]!.url, member.apiKey);
    const revokedAt = Date.now();
    await database.unitOfWork.inTenant(world.tenantId, (em) => revokeApiKey(em, world.owner, member.keyId));
    await stream.ended;
    expect(Date.now() - revokedAt).toBeLessThan(1_000);
    expect(stream.text()).toContain('event: error\ndata: {"type":"error"');
    expect(stream.text()).toContain('"code":"invalid_credentials"');
    const again = await fetch(stack.gateways[0]!.url + path(), { headers: { 'X-API-Key': member.apiKey } });
    expect(again.status).toBe(401);
  });

  it('ends an attached stream when an operator suspends its tenant', async () => {
    const other = await createWorld(database.unitOfWork, [scriptedModel(models, 'slow')]);
    const operator = await addOperator(database.unitOfWork);
    const gateway = stack.gateways[0]!.url;
    const run = (verb: string) =>
      runPlatform(['tenants', verb, other.tenantId, '--json'], {
        PLATFORM_URL: gateway,
        PLATFORM_API_KEY: operator.apiKey,
      });
    const home = `${gateway}/api/v1/spaces/${other.spaceId}/responses`;
    const answer = await fetch(home, {
      method: 'POST',
      headers: { 'X-API-Key': other.apiKey, 'Content-Type': 'application/json' },
      body: JSON.stringify({ input: { text: prompt }, model: 'slow', tools: [], stream: true }),
    });
    const suspended = await run('suspend');
    expect(suspended.stderr).toBe('');
    expect(await answer.text()).toContain('"code":"tenant_suspended"');
    await run('resume');
    expect((await fetch(home, { headers: { 'X-API-Key': other.apiKey } })).status).toBe(200);
  });

  it('drains on SIGTERM: open streams are broken off with a hint to resume, and resume elsewhere', async () => {
    const going = await stack.start('gateway');
    const stream = await openStream(going.url, world.apiKey);
    const stopped = going.stop();
    await expect(stream.ended).rejects.toThrow('terminated');
    expect(await stopped).toBe(0);
    expect(stream.text()).toMatch(/retry: 500\n\n$/);
    const lastId = stream
      .text()
      .match(/^id: (.+)$/gm)!
      .at(-1)!
      .slice(4);
    const [responseId, n] = lastId.split(':');
    const resumed = await fetch(`${stack.gateways[0]!.url}${path()}/${responseId}`, {
      headers: { 'X-API-Key': world.apiKey, Accept: 'text/event-stream', 'Last-Event-ID': lastId },
    });
    let received = '';
    for await (const piece of resumed.body!.pipeThrough(new TextDecoderStream())) {
      received += piece;
      if (received.includes('id: ')) {
        break;
      }
    }
    expect(received).toMatch(new RegExp(`^retry: 2000\\n\\nid: ${responseId}:${Number(n) + 1}\\n`));
    await fetch(`${stack.gateways[0]!.url}${path()}/${responseId}/cancel`, {
      method: 'POST',
      headers: { 'X-API-Key': world.apiKey },
    });
  });

  it('accepts and keeps responses while Temporal is away', async () => {
    const alone = await stack.start('gateway', { TEMPORAL_ADDRESS: `127.0.0.1:${await claimPort()}` });
    expect((await fetch(`${alone.url}/readyz`)).status).toBe(200);
    const accepted = await fetch(alone.url + path(), {
      method: 'POST',
      headers: { 'X-API-Key': world.apiKey, 'Content-Type': 'application/json' },
      body: JSON.stringify({ input: { text: 'Are you there?' }, model: 'builtin' }),
    });
    expect(accepted.status).toBe(202);
    const { data } = (await accepted.json()) as { data: { id: string } };
    // Relays of other processes start workflows that this process could not start.
    for (let status = ''; status !== 'completed'; await sleep(100)) {
      const answer = await fetch(`${alone.url}${path()}/${data.id}`, {
        headers: { 'X-API-Key': world.apiKey },
      });
      const text = await answer.text();
      // On a stalling machine the database may look silent for a moment.
      expect([200, 503], text).toContain(answer.status);
      status = answer.status === 200 ? (JSON.parse(text) as { data: { status: string } }).data.status : '';
    }
  });

  it('writes neither keys nor prompts into its logs', () => {
    const logs = [...stack.gateways, ...stack.workers].map(({ log }) => readFileSync(log, 'utf8')).join('\n');
    expect(logs).toContain('"msg":"request"');
    expect(logs).not.toContain(world.apiKey.slice(20));
    expect(logs).not.toContain(prompt);
  });
});
