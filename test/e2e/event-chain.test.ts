import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { readAnchors } from '../../bin/platform/read-anchors.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { runPlatform } from '../support/platform-cli.ts';
import { masterKey, startStack, type Stack } from '../support/stack.ts';
import { connect } from '../support/tables.ts';
import { createWorld, type World } from '../support/world.ts';

let database: TestDatabase;
let world: World;
let stack: Stack;
let admin: Client;
const anchorFile = join(mkdtempSync(join(tmpdir(), 'platform-anchors-')), 'anchors.jsonl');

beforeAll(async () => {
  database = await createTestDatabase();
  world = await createWorld(database.unitOfWork);
  admin = await connect(database.adminUrl);
  stack = await startStack({
    database,
    env: { SEAL_INTERVAL_SECONDS: '1', ANCHOR_INTERVAL_SECONDS: '2', ANCHOR_FILE: anchorFile },
  });
});
afterAll(async () => {
  await stack?.stop();
  await admin?.end();
  await database?.drop();
});

async function until<T>(look: () => Promise<T | undefined>): Promise<T> {
  for (let waitedMs = 0; waitedMs < 30_000; waitedMs += 100) {
    const found = await look();
    if (found !== undefined) return found;
    await sleep(100);
  }
  throw new Error('It did not happen in time.');
}

const verify = () =>
  runPlatform(['events', 'verify', '--json', '--tenant', world.tenantId], {
    DATABASE_URL: database.url,
    MASTER_KEY: masterKey,
    ANCHOR_FILE: anchorFile,
  });

it('is sealed and anchored by the worker, and reveals changes by the owner of the database', async () => {
  const created = await fetch(`${stack.gateways[0]!.url}/api/v1/spaces/${world.spaceId}/collections`, {
    method: 'POST',
    headers: { 'X-API-Key': world.apiKey, 'Content-Type': 'application/json' },
    body: JSON.stringify({ name: 'Harbours' }),
  });
  expect(created.status).toBe(201);
  const sealed = await until(async () => {
    const { rows } = await admin.query<{ seq: number }>(
      `select c.seq::integer from event_chains c where c.tenant_id = $1 and not exists (select from events e where e.tenant_id = $1
         and (e.transaction_id, e.id) > (c.last_transaction_id, c.last_event_id))`,
      [world.tenantId],
    );
    return rows[0]?.seq;
  });
  await until(async () => {
    const anchors = await Promise.resolve()
      .then(() => readAnchors([anchorFile], world.tenantId))
      .catch(() => new Map<string, { seq: number }[]>());
    return anchors.get(world.tenantId)?.find(({ seq }) => seq >= sealed);
  });
  const good = await verify();
  expect(good.stderr).toBe('');
  expect(good.code).toBe(0);
  expect(JSON.parse(good.stdout)).toMatchObject({ tenantId: world.tenantId, findings: [] });
  expect((JSON.parse(good.stdout) as { anchors: number }).anchors).toBeGreaterThan(0);
  await admin.query(
    `begin; set local session_replication_role = replica;
     update events set actor_id = null where event_type = 'collection.created'; commit`,
  );
  const bad = await verify();
  expect(bad.code).toBe(1);
  expect(
    (JSON.parse(bad.stdout) as { findings: { kind: string }[] }).findings.map(({ kind }) => kind),
  ).toEqual(['event_changed']);
  expect(bad.stderr).toContain('The log of 1 tenant is not as it was sealed.');
});
