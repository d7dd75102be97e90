import { afterAll, beforeAll, expect, it } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { openGateway, type TestGateway } from '../support/gateway.ts';
import { createPlaces, Maker } from '../support/places.ts';
import { connect } from '../support/tables.ts';

let database: TestDatabase;
let gateway: TestGateway;

beforeAll(async () => {
  database = await createTestDatabase();
  gateway = await openGateway(database);
});
afterAll(async () => {
  await gateway?.close();
  await database?.drop();
});

it('an item that is being purged in the same moment is unknown, and nothing of the request is kept', async () => {
  const { here } = await createPlaces(database);
  const maker = new Maker(() => gateway);
  const itemId = await maker.item(here);
  const purge = await connect(database.adminUrl);
  const count = async () =>
    (await purge.query('select count(*)::int as n from responses where tenant_id = $1', [here.tenantId]))
      .rows[0].n;
  const before = await count();
  await purge.query('begin');
  await purge.query('delete from response_context where item_id = $1', [itemId]);
  await purge.query('delete from items where id = $1', [itemId]);
  const asked = maker.send({
    method: 'POST',
    path: `/v1/spaces/${here.spaceId}/responses`,
    apiKey: here.apiKey,
    body: { input: { items: [{ type: 'item_reference', id: itemId }] } },
  });
  await new Promise((resolve) => setTimeout(resolve, 300));
  await purge.query('commit');
  expect(await asked).toMatchObject({
    status: 422,
    body: { error: { code: 'invalid_request', param: 'input' } },
  });
  expect(await count()).toBe(before);
  await purge.end();
});
