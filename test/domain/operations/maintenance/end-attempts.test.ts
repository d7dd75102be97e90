import type { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sweeps } from '#domain/operations/maintenance/sweeps.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { openGateway, type TestGateway } from '../../../support/gateway.ts';
import { Popup } from '../../../support/popup.ts';
import { sweepOnce } from '../../../support/sweeps.ts';
import { connect } from '../../../support/tables.ts';
import { addMember, createWorld, type World } from '../../../support/world.ts';

let database: TestDatabase;
let gateway: TestGateway;
let world: World;
let admin: Client;
let serverId: string;

beforeAll(async () => {
  database = await createTestDatabase();
  admin = await connect(database.adminUrl);
  gateway = await openGateway(database);
  world = await createWorld(database.unitOfWork);
  const made = await gateway.send({
    method: 'POST',
    path: `/v1/spaces/${world.spaceId}/mcp-servers`,
    apiKey: world.apiKey,
    body: {
      slug: 'crm',
      display_name: 'CRM',
      url: 'https://tools.example.com/mcp',
      connection_mode: 'personal',
    },
  });
  serverId = made.body.data.mcp_server_config_id as string;
});
afterAll(async () => {
  await gateway?.close();
  await admin?.end();
  await database?.drop();
});

async function begin(): Promise<string> {
  const { apiKey } = await addMember(database.unitOfWork, world, { spaceRole: 'space_editor' });
  const done = encodeURIComponent('http://127.0.0.1:8080/api/v1/mcp-auth/done');
  const path = `/v1/mcp-auth/${serverId}/initiate?redirect_uri=${done}`;
  return (await gateway.send({ method: 'POST', path, apiKey })).body.data.popup_url as string;
}

describe('attempts whose time is over', () => {
  it('end once, each with a reason that says how far the person came; others go on', async () => {
    await begin();
    await new Popup(gateway).open(await begin());
    await new Popup(gateway).decide(await begin(), 'continue');
    const popup = new Popup(gateway);
    const address = await popup.decide(await begin(), 'continue');
    await popup.comeBack({ state: address.searchParams.get('state')!, code: 'code' });
    await admin.query('update authorization_attempts set expires_at = now()');
    await begin();
    expect(await sweepOnce(sweeps.endAttempts.sweep, database)).toMatchObject({ done: 4, failed: 0 });
    expect(await sweepOnce(sweeps.endAttempts.sweep, database)).toMatchObject({ done: 0 });
    const { rows } = await admin.query<{ reason: string }>(
      `select metadata ->> 'reason' as reason from events where event_type = 'security.mcp_auth_failed' order by 1`,
    );
    expect(rows.map(({ reason }) => reason)).toEqual(['closed', 'not_completed', 'timed_out', 'timed_out']);
    const left = await admin.query(
      `select stage, count(*)::int as n from authorization_attempts group by 1 order by 1`,
    );
    expect(left.rows).toEqual([
      { stage: 'begun', n: 1 },
      { stage: 'ended', n: 4 },
    ]);
  });
});
