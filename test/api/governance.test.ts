import type { Client } from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { openGateway, type Answer, type TestGateway } from '../support/gateway.ts';
import { startPresidio, type PresidioFake } from '../support/presidio-fake.ts';
import { connect } from '../support/tables.ts';
import { addMember, createWorld, scriptedModel, type World } from '../support/world.ts';

let database: TestDatabase;
let gateway: TestGateway;
let admin: Client;
let presidio: PresidioFake;
let world: World;
let member: { apiKey: string; principalId: string };

beforeAll(async () => {
  presidio = await startPresidio(['Grace Hopper', 'Ada 𝔏ovelace']);
  database = await createTestDatabase();
  gateway = await openGateway(database, { EGRESS_ALLOW: presidio.origin });
  admin = await connect(database.adminUrl);
});
beforeEach(async () => {
  const model = scriptedModel({ url: 'http://127.0.0.1:9/v1' }, 'never-called');
  world = await createWorld(database.unitOfWork, [{ ...model, inputModalities: ['text', 'file'] }]);
  member = await addMember(database.unitOfWork, world);
});
afterAll(async () => {
  await gateway?.close();
  await admin?.end();
  await presidio?.stop();
  await database?.drop();
});

const at = (path: string) => `/v1/spaces/${world.spaceId}/${path}`;

function send(method: string, path: string, body?: unknown, apiKey = world.apiKey): Promise<Answer> {
  return gateway.send({ method, path: at(path), apiKey, ...(body === undefined ? {} : { body }) });
}

async function govern(pii: object): Promise<void> {
  expect((await send('PUT', 'governance', { pii })).status).toBe(200);
}

async function eventsOf(type: string): Promise<Record<string, unknown>[]> {
  const { rows } = await admin.query<{ metadata: Record<string, unknown> }>(
    'select metadata from events where tenant_id = $1 and event_type = $2 order by id',
    [world.tenantId, type],
  );
  return rows.map((row) => row.metadata);
}

const said = 'Grace’s address is grace@example.org, her card 4111 1111 1111 1111.';

describe('the governance of a space', () => {
  it('is off until it is set, and each change increments its version and writes an event', async () => {
    const before = await send('GET', 'governance');
    expect(before.body.data).toMatchObject({ policy_version: 1, pii: { mode: 'off' } });
    const set = await send('PUT', 'governance', { pii: { mode: 'redact', kinds: ['email'] } });
    expect(set.body.data).toMatchObject({ policy_version: 2, pii: { mode: 'redact', kinds: ['email'] } });
    expect((await send('GET', 'governance')).body.data).toEqual(set.body.data);
    expect(await eventsOf('space.governance_updated')).toMatchObject([
      { changed_fields: 'pii.mode,pii.kinds', mode: 'redact', kinds: 'email' },
    ]);
  });

  it('that is set to its present value stays as it is, and writes no event', async () => {
    const before = await send('GET', 'governance');
    const defaults = await send('PUT', 'governance', { pii: {} });
    expect(defaults.body).toEqual(before.body);
    const set = await send('PUT', 'governance', { pii: { mode: 'block' } });
    const again = await send('PUT', 'governance', { pii: { mode: 'block' } });
    expect(again.body).toEqual(set.body);
    expect(await eventsOf('space.governance_updated')).toMatchObject([{ changed_fields: 'pii.mode' }]);
  });

  it('is set only with the permission, and only to known values', async () => {
    const refused = await send('PUT', 'governance', { pii: {} }, member.apiKey);
    expect(refused.body.error).toMatchObject({ missing_permission: 'governance.update' });
    for (const pii of [
      { mode: 'sometimes' },
      { kinds: ['shoe size'] },
      { presidio_url: 'file:///etc' },
      { presidio_url: 'https://user:word@names.example.com' },
      { presidio_url: 'https://names.example.com/?key=word' },
      { x: 1 },
    ]) {
      expect((await send('PUT', 'governance', { pii })).status).toBe(422);
    }
  });
});

describe('a message in a space that demands redaction', () => {
  it('is stored with tokens, shown whole to its sender, and its mapping to principals who may see personal data', async () => {
    await govern({ mode: 'redact' });
    const sent = await send('POST', 'threads/messages', { content: said }, member.apiKey);
    expect(sent.body.data.content).toBe(said);
    const id = sent.body.data.thread_id as string;
    const { rows } = await admin.query<{ content: string }>(
      'select content from messages where thread_id = $1',
      [id],
    );
    expect(rows[0]?.content).toMatch(/^Grace’s address is (\[EMAIL_\w{12}\]), her card (\[CARD_\w{12}\])\.$/);
    const mine = await send('GET', `threads/${id}/messages`, undefined, member.apiKey);
    expect(mine.body.data[0].content).toBe(said);
    const viewer = await addMember(database.unitOfWork, world, { spaceRole: 'space_admin' });
    const theirs = await send('GET', `threads/${id}/messages`, undefined, viewer.apiKey);
    expect(theirs.body.data[0].content).toBe(rows[0]?.content);
    expect((await send('GET', `threads/${id}`, undefined, viewer.apiKey)).body.data.pii_mapping).toBeNull();
    const owners = await send('GET', `threads/${id}`);
    expect(owners.body.data.pii_mapping).toMatchObject({
      version: 1,
      entries: [
        { type: 'email', count: 1, value: 'grace@example.org' },
        { type: 'card', count: 1, value: '4111 1111 1111 1111' },
      ],
    });
    expect((await send('GET', 'threads')).body.data[0].pii_mapping).toEqual(owners.body.data.pii_mapping);
    const sealed = await admin.query<{ sealed: string }>(
      'select sealed from redactions where thread_id = $1',
      [id],
    );
    expect(sealed.rows[0]?.sealed).toMatch(/^v1\|/);
    expect(await eventsOf('security.pii_detected')).toMatchObject([{ total: 2, email: 1, card: 1 }]);
  });

  it('that contains a copied token comes back as it was sent', async () => {
    await govern({ mode: 'redact' });
    const sent = await send('POST', 'threads/messages', { content: 'a@example.org' }, member.apiKey);
    const id = sent.body.data.thread_id as string;
    const { rows } = await admin.query<{ content: string }>(
      'select content from messages where thread_id = $1',
      [id],
    );
    const copied = `It says ${rows[0]!.content}.`;
    await send('POST', `threads/${id}/messages`, { content: copied }, member.apiKey);
    const read = await send('GET', `threads/${id}/messages`);
    expect(read.body.data.map(({ content }: { content: string }) => content)).toEqual([
      'a@example.org',
      copied,
    ]);
  });

  it('is not screened where the space has no redaction', async () => {
    const sent = await send('POST', 'threads/messages', { content: said }, member.apiKey);
    const { rows } = await admin.query<{ content: string }>(
      'select content from messages where thread_id = $1',
      [sent.body.data.thread_id],
    );
    expect(rows[0]?.content).toBe(said);
  });
});

describe('another member of the space', () => {
  it('sees tokens for values of others, also in responses that continue the conversation', async () => {
    await govern({ mode: 'redact' });
    const theirs = await send('POST', 'threads/messages', { content: said }, member.apiKey);
    const guest = await addMember(database.unitOfWork, world);
    const ask = (platform: object, more: object = {}) =>
      send(
        'POST',
        'responses',
        { input: { text: 'Repeat a@example.org' }, tools: [], platform, ...more },
        guest.apiKey,
      );
    const inThread = await ask({ thread_id: theirs.body.data.thread_id });
    const first = await send('POST', 'responses', { input: { text: said }, tools: [] });
    await send('POST', `responses/${first.body.data.id}/cancel`);
    const reader = await addMember(database.unitOfWork, world, { spaceRole: 'space_admin' });
    const body = {
      input: { text: 'Repeat a@example.org' },
      tools: [],
      previous_response_id: first.body.data.id,
    };
    const behind = await send('POST', 'responses', body, reader.apiKey);
    for (const [answer, apiKey] of [
      [inThread, guest.apiKey],
      [behind, reader.apiKey],
    ] as const) {
      expect(answer.status).toBe(202);
      const items = await send('GET', `responses/${answer.body.data.id}/input_items`, undefined, apiKey);
      const [notified, own] = items.body.data.map(
        (item: { content: { text: string }[] }) => item.content[0]!.text,
      );
      expect(notified).toMatch(/^Grace’s address is \[EMAIL_\w{12}\], her card \[CARD_\w{12}\]\.$/);
      expect(own).toBe('Repeat a@example.org');
    }
    const owners = await send('GET', `responses/${behind.body.data.id}/input_items`);
    expect(owners.body.data[0].content[0].text).toBe(said);
  });
});

describe('a space that takes no personal data', () => {
  it('refuses it in messages and inputs, stores none of it, and names its kinds', async () => {
    await govern({ mode: 'block' });
    for (const [path, body] of [
      ['threads/messages', { content: said }],
      ['responses', { input: { text: said } }],
      ['responses', { input: { text: 'Hello' }, platform: { instructions: said } }],
    ] as const) {
      const answer = await send('POST', path, body);
      expect(`${answer.status} ${answer.body.error.code}`).toBe('403 content_blocked');
      expect(answer.body.error.message).toBe('This space takes no personal data: email, card.');
    }
    expect((await send('POST', 'threads/messages', { content: 'Hello' })).status).toBe(201);
    expect(await eventsOf('security.content_blocked')).toHaveLength(1);
    expect(await eventsOf('security.permission_denied')).toEqual([]);
  });
});

describe('the input of a response in a space that demands redaction', () => {
  it('may hold no image and no PDF file, which cannot be screened; a text file is screened', async () => {
    await govern({ mode: 'redact' });
    const file = (filename: string, data: string) => ({
      input: { role: 'user', content: [{ type: 'input_file', filename, file_data: data }] },
    });
    const pdf = Buffer.from('%PDF-1.7 Grace').toString('base64');
    const answer = await send('POST', 'responses', file('a.pdf', `data:application/pdf;base64,${pdf}`));
    expect(`${answer.status} ${answer.body.error.code}`).toBe('422 unsupported_parameter');
    const data = `data:text/plain;base64,${Buffer.from(said).toString('base64')}`;
    const made = await send('POST', 'responses', file('a.txt', data));
    expect(made.status).toBe(202);
    const { rows } = await admin.query<{ wire: string }>('select wire from items where response_id = $1', [
      made.body.data.id,
    ]);
    const wire = JSON.parse(rows[0]!.wire) as { content: { file_data: string }[] };
    const kept = Buffer.from(wire.content[0]!.file_data.split(',')[1]!, 'base64').toString();
    expect(kept).toMatch(/\[EMAIL_\w{12}\], her card \[CARD_\w{12}\]/);
    const items = await send('GET', `responses/${made.body.data.id}/input_items`);
    expect(items.body.data[0].content[0].file_data).toBe(data);
  });
});

describe('names', () => {
  it('are found by a recogniser service, in whatever script', async () => {
    await govern({ mode: 'redact', presidio_url: presidio.url });
    const content = '𝔗𝔬 Grace Hopper and Ada 𝔏ovelace, of g@example.org';
    const sent = await send('POST', 'threads/messages', { content }, member.apiKey);
    expect(sent.body.data.content).toBe(content);
    const { rows } = await admin.query<{ content: string }>(
      'select content from messages where thread_id = $1',
      [sent.body.data.thread_id],
    );
    expect(rows[0]?.content).toMatch(/^𝔗𝔬 \[NAME_\w{12}\] and \[NAME_\w{12}\], of \[EMAIL_\w{12}\]$/);
    expect(presidio.requests.at(-1)).toMatchObject({ text: content, language: 'en', entities: ['PERSON'] });
  });

  it('that could not be searched for are not let through', async () => {
    await govern({ mode: 'redact', presidio_url: presidio.url });
    for (const broken of [
      { status: 500, body: '' },
      { status: 200, body: '{"error":"busy"}' },
    ]) {
      presidio.broken = broken;
      const answer = await send('POST', 'threads/messages', { content: 'Grace Hopper' }, member.apiKey);
      expect(`${answer.status} ${answer.body.error.code}`).toBe('503 engine_unavailable');
    }
    presidio.broken = null;
    await govern({ mode: 'redact', presidio_url: 'http://127.0.0.1:9' });
    const answer = await send('POST', 'responses', { input: { text: 'Grace Hopper' } });
    expect(answer.status).toBe(503);
    const left = await admin.query('select from messages where tenant_id = $1', [world.tenantId]);
    expect(left.rowCount).toBe(0);
  });
});
