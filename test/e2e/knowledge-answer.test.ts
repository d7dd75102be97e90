import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ResponseRecord } from '#domain/responses/record/response-record.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { readOnSurface } from '../support/open-responses-space.ts';
import { followResponse } from '../support/sse-recorder.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { checkStream } from '../support/stream-checker.ts';
import { connect } from '../support/tables.ts';
import { createWorld, type World } from '../support/world.ts';

const nothing = 'I found nothing about this in the documents of this space.';

describe('an answer from the documents of a space', () => {
  let database: TestDatabase;
  let stack: Stack;
  let world: World;
  let admin: Client;

  beforeAll(async () => {
    database = await createTestDatabase();
    admin = await connect(database.adminUrl);
    world = await createWorld(database.unitOfWork);
    stack = await startStack({ database, armable: true });
  });

  afterAll(async () => {
    await stack?.stop();
    await admin?.end();
    await database?.drop();
  });

  async function call<T>(method: string, path: string, body?: object): Promise<T> {
    const answer = await fetch(`${stack.gateways[0]!.url}/api/v1/spaces/${world.spaceId}/${path}`, {
      method,
      headers: {
        'X-API-Key': world.apiKey,
        Prefer: 'wait=30',
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    expect(answer.ok, `${method} ${path}: ${answer.status}`).toBe(true);
    return ((await answer.json()) as { data: T }).data;
  }

  async function ask(text: string) {
    const body = { input: { text }, platform: { include: ['file_search_call.results'] } };
    const response = await call<ResponseRecord>('POST', 'responses', body);
    return received(response);
  }

  function received(response: ResponseRecord) {
    expect(response.status).toBe('completed');
    const parts = response.output.flatMap((item) => (item.type === 'message' ? item.content : []));
    const passages = response.output.flatMap((item) =>
      item.type === 'file_search_call' ? (item.results ?? []) : [],
    );
    return {
      text: parts.map((part) => part.text).join(''),
      citations: parts.flatMap((part) => part.annotations),
      passages,
    };
  }

  async function upload(collectionId: string, filename: string, content: string): Promise<string> {
    const path = `collections/${collectionId}/documents`;
    const { id } = await call<{ id: string }>('POST', path, {
      filename,
      content,
      media_type: 'text/markdown',
    });
    for (const deadline = Date.now() + 20_000; ; await sleep(100)) {
      const { status } = await call<{ status: string }>('GET', `${path}/${id}`);
      if (status === 'ready') return id;
      expect(Date.now(), `the document is ${status}`).toBeLessThan(deadline);
    }
  }

  it('cites the passage of the document that holds the fact, and no document for an absent or a deleted one', async () => {
    const height = randomInt(1_000, 9_999);
    const fact = `The lighthouse keeper of Varnholm painted the tower in ${height} litres of red paint.`;
    const { id: collection } = await call<{ id: string }>('POST', 'collections', { name: 'Varnholm' });
    await upload(collection, 'ferry.md', '# Ferries\n\nThe ferry to Varnholm leaves at dawn on Mondays.\n');
    const document = await upload(
      collection,
      'lighthouse.md',
      `# The lighthouse\n\nIt stands on the northern cliff. ${fact} Visitors climb it in summer.\n`,
    );

    const found = await ask('How many litres did painting the lighthouse tower take?');
    expect(found.text).toContain(fact);
    const cited = found.citations.filter(
      ({ start_index: at }) => found.text.slice(0, at).trimEnd().endsWith(fact) && at > 0,
    );
    expect(cited).toEqual([
      expect.objectContaining({ type: 'file_citation', file_id: document, filename: 'lighthouse.md' }),
    ]);
    const { start_index: start, end_index: end } = cited[0]!;
    expect(found.text.slice(start, end)).toMatch(/^\[\d+\]$/);
    expect(found.passages.find(({ file_id: id }) => id === document)?.text).toContain(fact);

    const absent = await ask('Which submarine did the emperor of Brazil sink?');
    expect(absent).toMatchObject({ text: nothing, citations: [] });

    await call('DELETE', `collections/${collection}/documents/${document}`);
    const gone = await ask('How many litres did painting the lighthouse tower take?');
    expect(gone).toMatchObject({ text: nothing, citations: [] });
    expect(gone.text).not.toContain(String(height));
  });

  it('is repeated to the byte when its worker dies after a part of it, and readers see one text', async () => {
    const keepers = Array.from(
      { length: 5 },
      (_, i) => `Keeper ${i * 7 + 3} of Hallsund lit ${i * 90 + 41} lamps in the winter of the long frost.`,
    );
    const { id: collection } = await call<{ id: string }>('POST', 'collections', { name: 'Hallsund' });
    await upload(collection, 'keepers.md', `# The keepers of Hallsund\n\n${keepers.join('\n\n')}\n`);
    const question = 'How many lamps did the keepers of Hallsund light in the winter of the long frost?';
    const undisturbed = await ask(question);

    const [armed] = stack.workers.splice(0);
    await armed!.arm('publish.after_commit');
    const following = followResponse({
      request: () => ({
        url: `${stack.gateways[0]!.url}/api/v1/spaces/${world.spaceId}/responses`,
        method: 'POST',
        headers: { 'X-API-Key': world.apiKey, 'Content-Type': 'application/json' },
        body: { input: { text: question }, stream: true },
      }),
    });
    expect(await armed!.exited).toBe('SIGKILL');
    await stack.launch('worker');
    const { responseId, segments } = await following;
    const record = await call<ResponseRecord>('GET', `responses/${responseId}`);
    expect(checkStream({ responseId: responseId!, segments, final: { ...record } })).toEqual([]);
    const { text, citations } = received(record);
    expect({ text, citations }).toEqual({ text: undisturbed.text, citations: undisturbed.citations });
    const { rows } = await admin.query(
      'select iteration, continuation, outcome from turn_attempts where response_id = $1 order by epoch',
      [responseId],
    );
    expect(rows).toEqual([
      { iteration: 0, continuation: 'fresh', outcome: 'committed' },
      { iteration: 1, continuation: 'fresh', outcome: 'crashed' },
      { iteration: 1, continuation: 'replay', outcome: 'committed' },
    ]);
  });

  it('is an object and events of Open Responses, citations included', async () => {
    const url = `${stack.gateways[0]!.url}/api/v1/spaces/${world.spaceId}`;
    expect(await readOnSurface({ url, apiKey: world.apiKey })).toEqual({
      items: ['file_search_call', 'message'],
      problems: [],
    });
  });
});
