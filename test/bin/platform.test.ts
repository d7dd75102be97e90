import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { openGateway, type TestGateway } from '../support/gateway.ts';
import { runPlatform } from '../support/platform-cli.ts';
import { createPlaces, Maker, type Place } from '../support/places.ts';

let database: TestDatabase;
let gateway: TestGateway;
let here: Place;
let url: string;
const maker = new Maker(() => gateway);

beforeAll(async () => {
  database = await createTestDatabase();
  gateway = await openGateway(database);
  ({ here } = await createPlaces(database));
  url = await gateway.app.listen({ host: '127.0.0.1', port: 0 });
});
afterAll(async () => {
  await gateway?.close();
  await database?.drop();
});

const run = (...args: string[]) => runPlatform(args, { PLATFORM_URL: url, PLATFORM_API_KEY: here.apiKey });

describe('platform responses list', () => {
  it('prints JSON for programs and a table for people', async () => {
    const id = await maker.response(here);
    const json = await run('responses', 'list', '--space', here.spaceId, '--json');
    expect(json.stderr).toBe('');
    expect(JSON.parse(json.stdout).data[0]).toMatchObject({ id, status: 'queued' });
    const table = await run('responses', 'list', '--space', here.spaceId);
    expect(table.stdout).toContain(id);
  });
});
