import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createStoredCredentials } from '#adapters/credentials/stored-credentials.ts';
import { createGuardedFetch } from '#adapters/egress/guarded-fetch.ts';
import { createToolServers } from '#adapters/tools/mcp-client.ts';
import { createCredential } from '#domain/capabilities/credentials/create-credential.ts';
import { openCredential } from '#domain/capabilities/credentials/open-credential.ts';
import { updateCredential } from '#domain/capabilities/credentials/update-credential.ts';
import {
  schemaHash,
  type DiscoveredTool,
  type ToolReply,
  type ToolServerGateway,
  type ToolServerSpec,
} from '#domain/capabilities/tools/tool-server.ts';
import { createSpace } from '#domain/workspace/spaces/create-space.ts';
import { openEngine, type Engine } from '../support/engine.ts';
import { startToolServer, type ToolServer } from '../support/tool-servers.ts';
import { unsharedSession } from '../support/unshared-session.ts';
import { addMember, secrets } from '../support/world.ts';

const forever = new AbortController().signal;
const shows = { 'tk-ada': 'ledger_of_ada', 'tk-grace': 'ledger_of_grace', 'tk-ada-2': 'ledger_of_ada' };

let engine: Engine;
let box: ToolServer;
let gateway: ToolServerGateway;

beforeAll(async () => {
  [engine, box] = await Promise.all([openEngine(), startToolServer()]);
  await box.control({ shows });
  const { unitOfWork } = engine.database;
  gateway = createToolServers({
    fetch: createGuardedFetch([box.origin]),
    credentials: [],
    env: {},
    stored: createStoredCredentials({
      fetch: createGuardedFetch([]),
      open: (use) => unitOfWork.inTenant(use.tenantId, (em) => openCredential({ em, secrets }, use)),
    }),
  });
});
afterAll(async () => {
  await box?.stop();
  await engine?.stop();
});

let count = 0;
async function stored(token: string, spaceId: string): Promise<string> {
  count += 1;
  const { credential } = await engine.act(
    (ctx) =>
      createCredential(ctx, {
        name: `box ${count}`,
        kind: 'bearer',
        origin: box.origin,
        value: { token },
        idempotency: null,
      }),
    { spaceId },
  );
  return credential.id;
}

function specOf(credentialId: string, place: { spaceId: string; principalId?: string }): ToolServerSpec {
  const { tenantId, owner } = engine.world;
  const stands = { tenantId, spaceId: place.spaceId };
  const stored = { ...stands, principalId: place.principalId ?? owner.principalId, credentialId };
  return { ...stands, url: box.url, credentialRef: null, credentialHeader: null, stored };
}

const own = (tools: readonly { name: string }[]): string[] =>
  tools.map(({ name }) => name).filter((name) => name.startsWith('ledger_of_'));

const call = (server: ToolServerSpec, tool: DiscoveredTool): Promise<ToolReply> =>
  gateway.call(
    server,
    { tool: tool.name, arguments: {}, idempotencyKey: 'key', schemaHash: schemaHash(tool) },
    { signal: forever, session: unsharedSession(), confirm: () => Promise.resolve(true) },
  );

/** Each sees and calls what is its own; the other's tool is not there, however lately it was listed. */
async function seeTheirOwn(ada: ToolServerSpec, grace: ToolServerSpec): Promise<void> {
  const list = async (server: ToolServerSpec) => (await gateway.discover(server, forever)).tools;
  const [hers, others] = [await list(ada), await list(grace)];
  expect([own(hers), own(others)]).toEqual([['ledger_of_ada'], ['ledger_of_grace']]);
  const [adas] = hers.filter(({ name }) => name === 'ledger_of_ada');
  const [graces] = others.filter(({ name }) => name === 'ledger_of_grace');
  expect(await call(ada, adas!)).toMatchObject({ kind: 'succeeded', text: 'you are [credential removed]' });
  const refused = await call(grace, adas!);
  expect(refused.kind === 'changed' ? own(refused.tools) : refused).toEqual(['ledger_of_grace']);
  expect(await call(grace, graces!)).toMatchObject({ kind: 'succeeded' });
  const back = await call(ada, graces!);
  expect(back.kind === 'changed' ? own(back.tools) : back).toEqual(['ledger_of_ada']);
}

describe('one tool server that shows each credential other tools', () => {
  it('shows two spaces what is for each', async () => {
    const { spaceId } = engine.world;
    const besideId = await engine.act(
      async (ctx) => (await createSpace(ctx.em, ctx.caller, { name: 'B' })).id,
    );
    await seeTheirOwn(
      specOf(await stored('tk-ada', spaceId), { spaceId }),
      specOf(await stored('tk-grace', besideId), { spaceId: besideId }),
    );
  });

  it('shows one space what is for each of its two credentials', async () => {
    const { spaceId } = engine.world;
    await seeTheirOwn(
      specOf(await stored('tk-ada', spaceId), { spaceId }),
      specOf(await stored('tk-grace', spaceId), { spaceId }),
    );
  });

  it('shows two people what is for each, where their credentials are their own', async () => {
    const { spaceId } = engine.world;
    const people = await Promise.all([1, 2].map(() => addMember(engine.database.unitOfWork, engine.world)));
    const specs = [];
    for (const [i, token] of ['tk-ada', 'tk-grace'].entries()) {
      const [id, { principalId }] = [await stored(token, spaceId), people[i]!];
      await engine.admin.query('update credentials set owner_id = $1 where id = $2', [principalId, id]);
      specs.push(specOf(id, { spaceId, principalId }));
    }
    await seeTheirOwn(specs[0]!, specs[1]!);
    const stolen = { ...specs[0]!, stored: { ...specs[0]!.stored!, principalId: people[1]!.principalId } };
    await expect(gateway.discover(stolen, forever)).rejects.toMatchObject({
      code: 'credential_missing',
      sent: false,
    });
  });

  it('shows two people what is for each of their connected accounts', async () => {
    const tokens = new Map([
      ['ada', 'tk-ada'],
      ['grace', 'tk-grace'],
    ]);
    const unused = () => Promise.reject(new Error('not used here'));
    const before = gateway;
    gateway = createToolServers({
      fetch: createGuardedFetch([box.origin]),
      credentials: [],
      env: {},
      connections: {
        read: async (identity) => {
          const ownerId = 'ownerId' in identity ? identity.ownerId : null;
          return {
            connectionId: `of ${ownerId}`,
            generation: 1,
            accessToken: tokens.get(ownerId ?? '') ?? '',
            tokenType: 'Bearer',
            dpopKey: null,
          };
        },
        renew: unused,
        refuse: unused,
        needScope: unused,
      },
    });
    const { tenantId } = engine.world;
    const { stored: _stored, ...server } = specOf('', { spaceId: engine.world.spaceId });
    const of = (ownerId: string) => ({ ...server, connection: { tenantId, serverId: 'box', ownerId } });
    await seeTheirOwn(of('ada'), of('grace'));
    // With each list comes the connection whose account was given it.
    const found = await gateway.discover(of('ada'), forever);
    const refused = await call(of('grace'), { ...found.tools[0]!, name: 'none' });
    expect([found, refused]).toMatchObject([
      { connectionId: 'of ada' },
      { kind: 'changed', connectionId: 'of grace' },
    ]);
    gateway = before;
  });

  it('is asked with a rotated value from the next request on, and lists again for it', async () => {
    const { spaceId } = engine.world;
    const credentialId = await stored('tk-grace', spaceId);
    const spec = specOf(credentialId, { spaceId });
    const { tools: before } = await gateway.discover(spec, forever);
    await engine.act((ctx) => updateCredential(ctx, { credentialId, value: { token: 'tk-ada-2' } }));
    const [graces] = before.filter(({ name }) => name === 'ledger_of_grace');
    const refused = await call(spec, graces!);
    expect(refused.kind === 'changed' ? own(refused.tools) : refused).toEqual(['ledger_of_ada']);
    await engine.act((ctx) => updateCredential(ctx, { credentialId, value: { token: 'tk-nobody' } }));
    await expect(gateway.discover(spec, forever)).rejects.toMatchObject({ code: 'unauthorized' });
  });

  it('is sent nothing at another address than the credential’s, also when it was moved there later', async () => {
    const { spaceId } = engine.world;
    const collector = await startToolServer();
    const spec = specOf(await stored('tk-ada', spaceId), { spaceId });
    await expect(gateway.discover({ ...spec, url: collector.url }, forever)).rejects.toMatchObject({
      code: 'credential_missing',
      sent: false,
    });
    await collector.stop();
  });
});
