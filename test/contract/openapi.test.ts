import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { openGateway, type TestGateway } from '../support/gateway.ts';

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

describe('our OpenAPI document', () => {
  it('is served as it is committed', () => {
    const committed: unknown = JSON.parse(
      readFileSync(new URL('../../docs/openapi.json', import.meta.url), 'utf8'),
    );
    expect(gateway.description.document).toEqual(committed);
  });

  it('lets no undeclared answer pass', () => {
    const operation = gateway.description.operations.find(({ id }) => id === 'listCollections')!;
    const headers = { 'content-type': 'application/json' };
    const good = { data: [], meta: { next_cursor: null, has_more: false } };
    const check = (status: number, body: unknown) => () =>
      gateway.description.expectMatches(operation, { status, headers, text: JSON.stringify(body) });
    expect(check(200, good)).not.toThrow();
    expect(check(201, good)).toThrow('does not declare the status 201');
    expect(check(200, { ...good, extra: 1 })).toThrow('listCollections answered 200 with');
    expect(check(404, { error: 'no' })).toThrow('listCollections answered 404 with');
  });

  it('has a page for people, which needs no credential', async () => {
    const page = await gateway.app.inject('/api/docs/');
    expect(page.statusCode).toBe(200);
    const scripts = [...page.body.matchAll(/src="([^"]+)"/g)].map((match) => match[1]!);
    expect(scripts.length).toBeGreaterThan(0);
    for (const script of scripts) {
      const { pathname } = new URL(script, 'http://localhost/api/docs/');
      expect((await gateway.app.inject(pathname)).statusCode, pathname).toBe(200);
    }
  });
});
