import { writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { createTestDatabase } from '../support/database.ts';
import { openGateway, sendOver } from '../support/gateway.ts';
import { IdentityProviderServer } from '../support/identity-provider.ts';
import { startModelServer } from '../support/model-server.ts';
import { ResponsesClient, textOf } from '../support/responses-client.ts';
import { publicUrl, registerProvider, signIn } from '../support/sign-in.ts';
import { startStack } from '../support/stack.ts';
import { connect } from '../support/tables.ts';
import { addMember, createWorld, scriptedModel } from '../support/world.ts';
import { dumpData } from './dump-data.ts';
import { readAll, type Identities } from './readings.ts';
import { folder, type Expected } from './restore.ts';

const runningText = Array.from({ length: 12 }, (_, i) => `Sentence ${i + 1} outlives the release.`).join(' ');

/** `npm run record:baseline`: populates a tenant through gateway and worker, and records its data and answers. */
it('records the data of a release', async () => {
  const database = await createTestDatabase();
  const models = await startModelServer([
    { name: 'running', text: runningText, fail: [{ onAttempt: 1, hangAfterChars: 120 }] },
  ]);
  const provider = await new IdentityProviderServer().start();
  const allowed = [new URL(models.url).origin, provider.issuer].join(',');
  const world = await createWorld(database.unitOfWork, [scriptedModel(models, 'running')]);
  const stack = await startStack({ database, env: { EGRESS_ALLOW: allowed, SEAL_INTERVAL_SECONDS: '1' } });
  const gateway = await openGateway(database, { PUBLIC_URL: publicUrl, EGRESS_ALLOW: allowed });
  const admin = await connect(database.adminUrl);
  const client = new ResponsesClient(world, () => stack.gateways[0]!);
  const over = sendOver(() => stack.gateways[0]!);
  const space = `/v1/spaces/${world.spaceId}`;
  const ask = async (method: string, path: string, body?: object) => {
    const answer = await over.send({
      method,
      path: space + path,
      apiKey: world.apiKey,
      ...(body && { body }),
    });
    expect(answer.status, answer.text).toBeLessThan(300);
    return answer.body.data as { id: string; thread_id: string; status: string };
  };
  try {
    const user = await addMember(database.unitOfWork, world);
    const { id: collection } = await ask('POST', '/collections', { name: 'Harbours' });
    const documents = `/collections/${collection}/documents`;
    const content =
      '# The lighthouse\n\nThe keeper of Varnholm painted the tower in 4711 litres of red paint.\n';
    const { id: document } = await ask('POST', documents, {
      filename: 'lighthouse.md',
      media_type: 'text/markdown',
      content,
    });
    await expect.poll(async () => (await ask('GET', `${documents}/${document}`)).status).toBe('ready');
    const finished = await client.create(
      { input: { text: 'How many litres of red paint did the tower take?' }, model: 'builtin' },
      { prefer: 'wait=30' },
    );
    expect(textOf(finished.data)).toContain('4711');
    await ask('PUT', '/governance', { pii: { mode: 'redact' } });
    const { thread_id: thread } = await ask('POST', '/threads/messages', {
      content: 'Write to grace@example.org about the tower.',
    });
    const inThread = await client.create(
      {
        input: { text: 'Who painted the tower, and is grace@example.org told?' },
        model: 'builtin',
        platform: { thread_id: thread },
      },
      { prefer: 'wait=30' },
    );
    expect(inThread.data.status).toBe('completed');
    const registered = await registerProvider(database, world, provider);
    const session = await signIn(gateway, provider, registered.slug);
    const running = await client.create({ input: { text: 'Go on.' }, model: 'running', tools: [] });
    await client.writing(running.data.id, 40);
    const unread = async () =>
      (await gateway.send({ method: 'GET', path: '/v1/notifications/unread-count', apiKey: user.apiKey }))
        .body.data.count as number;
    await expect.poll(unread).toBeGreaterThan(0);
    const sealed = async () =>
      (await admin.query<{ n: number }>('select count(*)::int as n from event_seals')).rows[0]!.n;
    await expect.poll(sealed).toBeGreaterThan(0);
    await sleep(2_000);
    await Promise.all([...stack.workers, ...stack.gateways].map((running) => running.kill()));

    const held = {
      spaceId: world.spaceId,
      finished: finished.data.id,
      running: running.data.id,
      thread,
      threadResponse: inThread.data.id,
      collection,
      document,
    };
    const identities: Identities = {
      owner: world.apiKey,
      user: user.apiKey,
      session: session.access_token,
    };
    const readings = await readAll(gateway, identities, held);
    const recordedAt = new Date().toISOString();
    writeFileSync(new URL('data.sql', folder), await dumpData(admin));
    const expected: Expected = {
      recordedAt,
      tenantId: world.tenantId,
      held,
      identities,
      runningText,
      readings,
    };
    writeFileSync(new URL('expected.json', folder), `${JSON.stringify(expected, null, 1)}\n`);
  } finally {
    await gateway.close();
    await stack.stop();
    await Promise.all([admin.end(), models.stop(), provider.stop()]);
    await database.drop();
  }
}, 120_000);
