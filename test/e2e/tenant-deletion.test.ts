import type { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { publicKeyText } from '#domain/operations/erasure-proof/sign-certificate.ts';
import { verifyCertificate } from '#domain/operations/erasure-proof/verify-certificate.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { sendOver } from '../support/gateway.ts';
import { startModelServer, type ModelServer } from '../support/model-server.ts';
import { addOperator, type Operator } from '../support/operators.ts';
import { startFilesystemServer, type FilesystemServer } from '../support/sources/filesystem-server.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { connect } from '../support/tables.ts';
import { createWorld, scriptedModel, secrets, type World } from '../support/world.ts';

let database: TestDatabase;
let models: ModelServer;
let stack: Stack;
let operator: Operator;
let folder: FilesystemServer;
let admin: Client;
const gateway = sendOver(() => stack.gateways[0]!);

beforeAll(async () => {
  models = await startModelServer([{ name: 'slow', text: 'word '.repeat(400), tokenDelayMs: 60 }], {});
  database = await createTestDatabase();
  operator = await addOperator(database.unitOfWork);
  folder = await startFilesystemServer();
  await folder.put('tides.md', 'High water is at noon.');
  admin = await connect(database.adminUrl);
  stack = await startStack({
    database,
    env: {
      EGRESS_ALLOW: new URL(models.url).origin,
      DELETION_GRACE_SECONDS: '3600',
      CONNECTOR_ROOTS: `files=${folder.folder}`,
    },
  });
});
afterAll(async () => {
  await stack?.stop();
  await models?.stop();
  await folder?.close();
  await admin?.end();
  await database?.drop();
});

const newWorld = (): Promise<World> => createWorld(database.unitOfWork, [scriptedModel(models, 'slow')]);
const deletionOf = (world: World, apiKey = operator.apiKey) =>
  gateway.send({ method: 'GET', path: `/v1/admin/tenants/${world.tenantId}/deletion`, apiKey });

const ask = (world: World, method: string, path: string, body?: object) =>
  gateway.send({
    method,
    path: `/v1/spaces/${world.spaceId}${path}`,
    apiKey: world.apiKey,
    ...(body && { body }),
  });
const remove = (world: World, query: string) =>
  gateway.send({
    method: 'DELETE',
    path: `/v1/admin/tenants/${world.tenantId}?reason_code=contract_ended${query}`,
    apiKey: operator.apiKey,
  });

/** A response that runs, a document, and a connector that has synchronised. @returns the id of the response */
async function work(world: World): Promise<string> {
  const { body: collection } = await ask(world, 'POST', '/collections', { name: 'Harbours' });
  const within = `/collections/${collection.data.id}`;
  const document = { filename: 'a.txt', media_type: 'text/plain', content: 'The beacon is blue.' };
  expect((await ask(world, 'POST', `${within}/documents`, document)).status).toBeLessThan(300);
  const source = { provider_slug: 'filesystem', scope_config: { root: 'files' } };
  expect((await ask(world, 'POST', `${within}/connectors`, source)).status).toBe(201);
  const made = await ask(world, 'POST', '/responses', { input: { text: 'hello' }, model: 'slow', tools: [] });
  expect(made.status, made.text).toBeLessThan(300);
  return (made.body.id ?? made.body.data.id) as string;
}

describe('the deletion of a tenant', () => {
  it(
    'ends with a certificate that verifies, for the holder of the token too',
    { timeout: 180_000 },
    async () => {
      const world = await newWorld();
      await work(world);
      const requested = await remove(world, '&grace_seconds=0');
      expect(requested.status, requested.text).toBe(202);
      const { deletion_id: id, certificate_token: token } = requested.body.data;
      const ended = async () => (await deletionOf(world)).body.data?.status as string;
      await expect.poll(ended, { timeout: 150_000, interval: 200 }).toBe('deleted');
      const certificate = await gateway.send({
        method: 'GET',
        path: `/v1/deletions/${id}/certificate`,
        headers: { authorization: `Bearer ${token}` },
      });
      expect(certificate.status, certificate.text).toBe(200);
      const check = verifyCertificate(certificate.text, publicKeyText(secrets.certificateKey()));
      expect(check).toMatchObject({
        valid: true,
        certificate: { tenant_id: world.tenantId, reason_code: 'contract_ended' },
      });
      const { erased_by_row: rows, workflow_histories_deleted: histories } = (
        check as Extract<typeof check, { valid: true }>
      ).certificate;
      expect(rows.rows_erased['connectors']).toBe(1);
      expect(histories).toBeGreaterThan(2);
      expect((await ask(world, 'GET', '/collections')).status).toBe(401);
      const query = `WorkflowId STARTS_WITH 'connector/${world.tenantId}'`;
      expect((await stack.temporal.workflow.count(query)).count).toBe(0);
    },
  );

  it('is cancelled in its grace time, and everything goes on', { timeout: 180_000 }, async () => {
    const world = await newWorld();
    const response = await work(world);
    expect((await remove(world, '')).status).toBe(202);
    expect((await ask(world, 'GET', '/collections')).body.error.code).toBe('tenant_deleting');
    const workflow = stack.temporal.workflow.getHandle(`tenant-deletion/${world.tenantId}`);
    const cancelled = async () => {
      const { rows } = await admin.query<{ status: string }>('select status from responses where id = $1', [
        response,
      ]);
      return rows[0]?.status;
    };
    await expect.poll(cancelled, { timeout: 60_000 }).toBe('cancelled');
    const path = `/v1/admin/tenants/${world.tenantId}/deletion/cancel`;
    expect((await gateway.send({ method: 'POST', path, apiKey: world.apiKey })).status).toBe(200);
    expect(await workflow.result()).toEqual({ status: 'cancelled' });
    const { body } = await ask(world, 'GET', '/collections');
    expect(body.data.map(({ name }: { name: string }) => name)).toEqual(['Harbours']);
    expect((await ask(world, 'GET', `/responses/${response}`)).status).toBe(200);
  });
});
