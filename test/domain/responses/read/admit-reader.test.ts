import { afterAll, beforeAll, expect, it } from 'vitest';
import type { DomainError } from '#domain/foundation/kernel/errors.ts';
import { deleteResponse } from '#domain/responses/end/delete-response.ts';
import { admitReader, readResponse } from '#domain/responses/read/read-response.ts';
import { ResponseRows } from '#domain/responses/store/response-rows.ts';
import { openEngine, type Engine } from '../../../support/engine.ts';
import { addMember } from '../../../support/world.ts';

let engine: Engine;
let rows: ResponseRows;

beforeAll(async () => {
  engine = await openEngine();
  rows = new ResponseRows(engine.database.database);
});
afterAll(async () => {
  await engine?.stop();
});

async function ended(): Promise<string> {
  const id = await engine.create();
  const attempt = await engine.attempt(id);
  await attempt.say('Twice a day.');
  await attempt.commit();
  return id;
}

async function deleted(): Promise<string> {
  const id = await ended();
  await engine.act((ctx) => deleteResponse(ctx, { responseId: id }));
  return id;
}

it.each([
  ['runs', () => engine.create(), ['its reader', 'missing_permission']],
  ['has ended', ended, ['its reader', 'missing_permission']],
  ['is deleted', deleted, ['response_deleted', 'missing_permission']],
  ['is unknown', async () => 'resp_unknown', ['response_not_found', 'response_not_found']],
])(
  'reading a response that %s and admitting a reader of its stream have the same outcome',
  async (_, make, expected) => {
    const responseId = await make();
    const { tenantId, spaceId, owner } = engine.world;
    const stranger = await addMember(engine.database.unitOfWork, engine.world);
    const addresses = [owner, stranger].map(({ principalId }) => {
      const identity = { tenantId, principalId, apiKeyId: null, keyPermissions: null };
      return { identity, requestId: null, spaceId, responseId };
    });
    const deliveredOf = (asked: Promise<unknown>) =>
      asked.then(
        () => 'its reader',
        ({ code }: DomainError) => code,
      );
    // At the same moment, so that they share a call of the database.
    const [read, admitted] = await Promise.all([
      Promise.all(addresses.map((address) => deliveredOf(readResponse(rows, address)))),
      Promise.all(addresses.map((address) => deliveredOf(admitReader(rows, address)))),
    ]);
    expect([read, admitted]).toEqual([expected, expected]);
  },
);
