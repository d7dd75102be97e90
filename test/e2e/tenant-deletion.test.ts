import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { publicKeyText } from '#domain/operations/erasure-proof/sign-certificate.ts';
import { verifyCertificate } from '#domain/operations/erasure-proof/verify-certificate.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { sendOver } from '../support/gateway.ts';
import { startModelServer, type ModelServer } from '../support/model-server.ts';
import { addOperator, type Operator } from '../support/operators.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { createWorld, scriptedModel, secrets, type World } from '../support/world.ts';

let database: TestDatabase;
let models: ModelServer;
let stack: Stack;
let operator: Operator;
const gateway = sendOver(() => stack.gateways[0]!);

beforeAll(async () => {
  models = await startModelServer([{ name: 'slow', text: 'word '.repeat(400), tokenDelayMs: 60 }], {});
  database = await createTestDatabase();
  operator = await addOperator(database.unitOfWork);
  stack = await startStack({
    database,
    env: {
      EGRESS_ALLOW: new URL(models.url).origin,
      DELETION_GRACE_SECONDS: '3600',
    },
  });
}, 180_000);
afterAll(async () => {
  await stack?.stop();
  await models?.stop();
  await database?.drop();
});

const newWorld = (): Promise<World> => createWorld(database.unitOfWork, [scriptedModel(models, 'slow')]);
const deletionOf = (world: World, apiKey = operator.apiKey) =>
  gateway.send({ method: 'GET', path: `/v1/admin/tenants/${world.tenantId}/deletion`, apiKey });

describe('the deletion of a tenant', () => {
  it(
    'ends with a certificate that verifies, for the holder of the token too',
    { timeout: 180_000 },
    async () => {
      const world = await newWorld();
      const path = `/v1/spaces/${world.spaceId}/responses`;
      const made = await gateway.send({
        method: 'POST',
        path,
        apiKey: world.apiKey,
        body: { input: { text: 'hello' }, model: 'slow', tools: [] },
      });
      expect(made.status, made.text).toBeLessThan(300);
      const requested = await gateway.send({
        method: 'DELETE',
        path: `/v1/admin/tenants/${world.tenantId}?reason_code=contract_ended&grace_seconds=0`,
        apiKey: operator.apiKey,
      });
      expect(requested.status, requested.text).toBe(202);
      const { deletion_id: id, certificate_token: token } = requested.body.data;
      let seen = await deletionOf(world);
      for (let i = 0; i < 600 && seen.body.data?.status !== 'deleted'; i += 1) {
        await sleep(200);
        seen = await deletionOf(world);
      }
      console.log(JSON.stringify(seen.body).slice(0, 3000));
      expect(seen.body.data, seen.text).toMatchObject({ status: 'deleted', deletion_id: id });
      const certificate = await gateway.send({
        method: 'GET',
        path: `/v1/deletions/${id}/certificate`,
        headers: { authorization: `Bearer ${token}` },
      });
      expect(certificate.status, certificate.text).toBe(200);
      expect(verifyCertificate(certificate.text, publicKeyText(secrets.certificateKey()))).toMatchObject({
        valid: true,
        certificate: { tenant_id: world.tenantId, reason_code: 'contract_ended' },
      });
    },
  );
});
