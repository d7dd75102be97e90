import type { RouteOptions } from 'fastify';
import type { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { neutralValues } from '#api/contract/openai/request.ts';
import {
  implied,
  permissions,
  platformOnly,
  type Permission,
} from '#domain/foundation/access/permissions.ts';
import { platformTenantId } from '#domain/workspace/tenants/platform-tenant.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { openGateway, type Answer, type Call, type TestGateway } from '../support/gateway.ts';
import { embeddingText } from '../support/embedding-fixtures.ts';
import { rerankingText } from '../support/reranking-fixtures.ts';
import { connectorText } from '../support/connector-fixtures.ts';
import { sourceConnectionText } from '../support/source-connection-fixtures.ts';
import { credentialText } from '../support/credential-fixtures.ts';
import { adminText } from '../support/admin-fixtures.ts';
import { addOperator } from '../support/operators.ts';
import { deletionText, ofTokens } from '../support/deletion-fixtures.ts';
import { goodCall, idFixtures, type IdFixture } from '../support/id-fixtures.ts';
import { connectionText, ofPopups } from '../support/connection-fixtures.ts';
import { openAiPosition } from '../support/openai-fixtures.ts';
import { textPositions } from '../support/id-positions.ts';
import { createPlaces, Maker, type Place } from '../support/places.ts';
import { beforeSignIn, signInText } from '../support/sign-in-fixtures.ts';
import { routesOf } from '../support/routes.ts';
import { connect } from '../support/tables.ts';
import { addMember, type World } from '../support/world.ts';

/** Free text that contains no id. */
const plainText = [
  'createResponse header prefer',
  'createResponse body input.text',
  ...['', 'messages[].', 'items[].'].flatMap((form) =>
    ['image_url', 'filename', 'file_data', 'file_url'].map(
      (part) => `createResponse body input.${form}content[].${part}`,
    ),
  ),
  ...['summary[].text', 'encrypted_content', 'content[]'].map(
    (part) => `createResponse body input.items[].${part}`,
  ),
  ...['id', 'status', 'content', 'content[].text', 'content[].annotations[]', 'content[].logprobs[]'].flatMap(
    (part) => [
      `createResponse body input.${part}`,
      `createResponse body input.messages[].${part}`,
      ...(part === 'id' ? [] : [`createResponse body input.items[].${part}`]),
    ],
  ),
  ...['call_id', 'name', 'arguments', 'output', 'output[].text', 'reason'].map(
    (part) => `createResponse body input.items[].${part}`,
  ),
  ...['name', 'description', 'parameters.*', 'allowed_tools[]', 'allowed_tools.tool_names[]'].map(
    (part) => `createResponse body tools[].${part}`,
  ),
  // Names of the server's own tools, and members that are refused.
  'createResponse body tools[].require_approval.always.tool_names[]',
  'createResponse body tools[].require_approval.never.tool_names[]',
  ...['server_url', 'authorization', 'headers', 'connector_id'].map(
    (part) => `createResponse body tools[].${part}`,
  ),
  // Names of tools in the request itself.
  ...['name', 'server_label', 'tools[].type', 'tools[].name', 'tools[].server_label'].map(
    (part) => `createResponse body tool_choice.${part}`,
  ),
  ...['slug', 'display_name', 'transport_type', 'url', 'icon_url', 'auth.credential_ref', 'auth.header'].map(
    (part) => `registerServer body ${part}`,
  ),
  ...[
    'enabled_tools[]',
    'enabled_tools[].name',
    'enabled_tools[].schema_hash',
    'tools[].name',
    'display_name',
    'icon_url',
  ].map((part) => `updateServer body ${part}`),
  ...['createSkill', 'updateSkill'].flatMap((operation) => [
    `${operation} body name`,
    `${operation} body description`,
  ]),
  ...['draftSkillVersion', 'editSkillDraft'].flatMap((operation) =>
    ['instructions', 'allowed_tools[]', 'notes'].map((part) => `${operation} body ${part}`),
  ),
  ...['tracing_public_key', 'tracing_secret_key', 'tracing_base_url'].map(
    (part) => `setObservability body ${part}`,
  ),
  ...['alias', 'provider_model', 'price.input', 'price.cached_input', 'price.output'].map(
    (part) => `addModel body ${part}`,
  ),
  ...['addModel', 'updateModel'].flatMap((operation) => [
    `${operation} body base_url`,
    `${operation} body credential_ref`,
  ]),
  'createResponse body metadata.*',
  'createResponse body platform.instructions',
  'createResponse body platform.text.format.name',
  'createResponse body platform.text.format.schema.*',
  'createResponse body platform.max_cost_usd',
  // filters: their results never include another tenant's rows
  ...['resource_id', 'from_date', 'to_date'].map((name) => `listEvents query ${name}`),
  'calculateContext query question',
  'calculateContext body question',
  ...['query', ...['metadata.*', 'created_after', 'created_before'].map((name) => `filters.${name}`)].map(
    (part) => `executeKnowledgeSearch body ${part}`,
  ),
  'createCollection body name',
  'createCollection body description',
  'createCollection body text_search_config',
  'updateCollection body name',
  'updateCollection body description',
  'updateCollection body text_search_config',
  'uploadDocumentContent query filename',
  'uploadDocument body filename',
  'uploadDocument body content',
  'uploadDocument body metadata.*',
  ...['content', 'metadata.*', 'title'].map((part) => `startThread body ${part}`),
  ...['content', 'metadata.*'].map((part) => `addMessage body ${part}`),
  'updateThread body title',
  ...['restore_in_tool_arguments[]', 'presidio_url', 'language'].map(
    (part) => `updateGovernance body pii.${part}`,
  ),
  ...adminText,
  ...connectionText,
  ...connectorText,
  ...deletionText,
  ...sourceConnectionText,
  ...credentialText,
  ...embeddingText,
  ...rerankingText,
];
/** Values of OpenAI's clients that are not implemented: refused unless they have no effect. */
const unimplemented = Object.keys(neutralValues);
/** Text that no code interprets. */
const openAiHints = ['client_metadata.*', 'user', 'safety_identifier', 'prompt_cache_key'];
const openAiText = [
  ...plainText.flatMap((position) => openAiPosition(position) ?? []),
  ...[...unimplemented, ...openAiHints].map((name) => `openAiCreateResponse body ${name}`),
];
const openAiQueries = ['openAiRetrieveResponse', 'openAiListInputItems'].flatMap((operation) => [
  `${operation} query include`,
  `${operation} query include[]`,
]);
/** Numbers of a page, written as digits. */
const digits = /query limit$/;
/** Ids of features that do not exist yet: refused, whatever their owner. */
const notYet = ['conversation'];

const prefixes = ['/api', '/api-proxy'] as const;
let database: TestDatabase;
let gateway: TestGateway;
let admin: Client;
let world: World;
let here: Place;
let neighbour: Place;
let abroad: Place;
const maker = new Maker(() => gateway);
const fixtures: Record<string, IdFixture> = idFixtures(maker);
let routes: RouteOptions[];

beforeAll(async () => {
  database = await createTestDatabase();
  gateway = await openGateway(database);
  admin = await connect(database.adminUrl);
  ({ world, here, neighbour, abroad } = await createPlaces(database));
  routes = await routesOf(gateway.gateway);
});
afterAll(async () => {
  await gateway?.close();
  await admin?.end();
  await database?.drop();
});

const allPositions = () =>
  gateway.description.operations.flatMap((operation) =>
    textPositions(gateway.description.document, operation),
  );

/** An answer without its variable parts. */
function said({ status, body, text }: Answer): string {
  const id = body?.error?.request_id as string | undefined;
  return `${status} ${id === undefined ? text : text.replace(id, 'req_')}`;
}

const verdict = ({ status, body }: Answer): string => `${status} ${body?.error?.code ?? ''}`;

async function ask(fixture: IdFixture, place: Place, id: string, prefix: Call['prefix']): Promise<Answer> {
  return gateway.send({ ...(await fixture.call(place, id)), prefix: prefix! });
}

describe('the matrix', () => {
  it('runs as the runtime role, in the ORM as in hot SQL', async () => {
    const query = 'select current_user as role';
    const hot = await gateway.gateway.database.call<{ role: string }>('who', query, []);
    const orm = await gateway.gateway.unitOfWork.inTenant(world.tenantId, (em) =>
      em.execute<{ role: string }[]>(query),
    );
    expect([...hot, ...orm]).toEqual([{ role: 'app_rt' }, { role: 'app_rt' }]);
  });

  it('has a fixture for every id that a request can hold, and none for ids that no request holds', () => {
    const covered = [
      ...Object.keys(fixtures),
      ...plainText,
      ...openAiText,
      ...openAiQueries,
      ...notYet.map((name) => `createResponse body ${name}`),
      ...signInText,
    ];
    const positions = allPositions().filter(
      (position) =>
        !digits.test(position) &&
        ![...beforeSignIn, ...ofPopups, ...ofTokens].some((id) => position.startsWith(`${id} `)),
    );
    expect(positions.filter((position) => !covered.includes(position))).toEqual([]);
    expect(covered.filter((position) => !positions.includes(position))).toEqual([]);
  });

  it('detects a new id parameter without a fixture', () => {
    const operation = structuredClone(
      gateway.description.operations.find(({ id }) => id === 'listCollections')!,
    );
    operation.declared.parameters!.push({ in: 'query', name: 'project_id', schema: { type: 'string' } });
    expect(textPositions(gateway.description.document, operation)).toContain(
      'listCollections query project_id',
    );
  });
});

/**
 * All of it under one prefix. Both lead to the same handlers: under the other, ids of another tenant are
 * tried at every place, too.
 */
const [prefix, otherPrefix] = prefixes;

describe('an id', () => {
  it.each(Object.entries(fixtures))(
    'at %s works for its owner, and is answered to others like an unknown one',
    async (position, fixture) => {
      for (const place of [here, neighbour, abroad]) {
        const answer = await ask(fixture, place, await fixture.make(place), prefix);
        expect(answer.status, answer.text).toBeGreaterThanOrEqual(200);
        expect(answer.status, answer.text).toBeLessThan(300);
      }
      const unknown = await ask(fixture, here, fixture.unknown(), prefix);
      const foreignId = await fixture.make(abroad);
      const foreign = await ask(fixture, here, foreignId, prefix);
      if (fixture.refusal === 'fresh') {
        // A key counts for one path: where both spaces share the path, the other space's key is a replay.
        const beside =
          fixture.neighbourRefusal === null
            ? []
            : [await ask(fixture, here, await fixture.make(neighbour), prefix)];
        const proxied = await ask(fixture, here, await fixture.make(abroad), otherPrefix);
        for (const answer of [unknown, foreign, ...beside, proxied]) {
          expect([answer.status, answer.headers['idempotent-replayed']], position).toEqual([
            fixture.freshStatus ?? 201,
            undefined,
          ]);
        }
        return;
      }
      expect(verdict(unknown)).toBe(fixture.refusal);
      if (fixture.operator === true) {
        // The operator reads other tenants on purpose; tenant isolation applies to everybody else.
        const [theirs, nobodys, proxied] = await Promise.all(
          [
            { id: await fixture.make(abroad), prefix },
            { id: fixture.unknown(), prefix },
            { id: await fixture.make(abroad), prefix: otherPrefix },
          ].map(async ({ id, ...under }) => {
            const call = await fixture.call(here, id);
            return gateway.send({ ...call, apiKey: here.apiKey, ...under });
          }),
        );
        expect(said(theirs!), 'of another tenant').toBe(said(nobodys!));
        expect(said(proxied!), 'of another tenant, under the other prefix').toBe(said(nobodys!));
        expect(nobodys!.status).toBeGreaterThanOrEqual(403);
        return;
      }
      expect(said(foreign), 'of another tenant').toBe(said(unknown));
      const proxied = await ask(fixture, here, foreignId, otherPrefix);
      expect(said(proxied), 'of another tenant, under the other prefix').toBe(said(unknown));
      const beside = fixture.neighbourRefusal;
      if (beside !== null) {
        const answer = await ask(fixture, here, await fixture.make(neighbour), prefix);
        expect(beside === undefined ? said(answer) : verdict(answer), 'of another space').toBe(
          beside ?? said(unknown),
        );
      }
      if (fixture.gone !== undefined) {
        const own = await ask(fixture, here, await fixture.gone(here), prefix);
        const expected = fixture.goneRefusal;
        expect(expected === undefined ? said(own) : verdict(own), 'deleted').toBe(expected ?? said(unknown));
        const foreignGone = await ask(fixture, here, await fixture.gone(abroad), prefix);
        expect(said(foreignGone), 'deleted in another tenant').toBe(said(unknown));
      }
    },
    30_000,
  );

  it('of a feature that does not exist yet is refused as such', async () => {
    const bodies = { conversation: { conversation: 'thread_1' } };
    for (const [param, body] of Object.entries(bodies)) {
      for (const under of prefixes) {
        const call = {
          method: 'POST',
          path: `/v1/spaces/${here.spaceId}/responses`,
          apiKey: here.apiKey,
          prefix: under,
        };
        const answer = await gateway.send({ ...call, body: { input: { text: 'A?' }, ...body } });
        expect(answer, param).toMatchObject({
          status: 422,
          body: { error: { code: 'unsupported_parameter', param } },
        });
      }
    }
  });
});

describe('values of OpenAI’s clients that are not implemented', () => {
  const create = (under: Call['prefix'], body: object) =>
    gateway.send({
      method: 'POST',
      path: `/v1/spaces/${here.spaceId}/openai/responses`,
      apiKey: here.apiKey,
      prefix: under!,
      body: { input: 'A?', background: true, ...body },
    });

  it.each(Object.entries(neutralValues))('are refused by name: %s', async (name, neutral) => {
    for (const value of [null, ...neutral]) {
      expect((await create(prefix, { [name]: value })).status, `${name}: ${String(value)}`).toBe(200);
    }
    for (const under of prefixes) {
      expect(await create(under, { [name]: 'something' })).toMatchObject({
        status: 400,
        body: { error: { type: 'invalid_request_error', code: 'unsupported_parameter', param: name } },
      });
    }
  });
});

/** Some operations are called in a space that is made for them. */
const spaceIn = (path: string): string | undefined => /\/spaces\/([^/?]+)/.exec(path)?.[1];

describe('every operation', () => {
  it('refuses a key that lacks only its permission, names it, and writes an event', async () => {
    const seen: string[] = [];
    for (const { schema, config, url } of routes) {
      const operationId = schema!.operationId!;
      const permission = config!.permission;
      if (permission === undefined) {
        continue;
      }
      const keyPermissions: Permission[] = permissions.filter((each) => !implied(each).includes(permission));
      const call = await goodCall({ fixtures, maker }, operationId, here);
      const isOperators =
        platformOnly.has(permission) || ['listTenants', 'deleteTenant'].includes(operationId);
      const lacking = isOperators
        ? await addOperator(database.unitOfWork, keyPermissions)
        : await addMember(database.unitOfWork, world, {
            tenantRoles: ['owner'],
            spaceRole: null,
            keyPermissions,
          });
      for (const under of prefixes) {
        const refused = await gateway.send({ ...call, prefix: under, apiKey: lacking.apiKey });
        if (operationId === 'listResponses') {
          // Everybody may list; without the permission, only the caller's own rows.
          expect([refused.status, refused.body.data]).toEqual([200, []]);
          continue;
        }
        const scope =
          url.includes(':space_id') || url.includes('/mcp-auth/')
            ? { type: 'space', id: spaceIn(call.path) ?? here.spaceId }
            : { type: 'tenant', id: expect.any(String) };
        expect(refused, operationId).toMatchObject({
          status: 403,
          body: {
            error: {
              code: 'missing_permission',
              missing_permission: permission,
              required_permissions: [permission],
              scope,
            },
          },
        });
        expect(refused.headers['www-authenticate']).toBe(
          `Bearer error="insufficient_scope", scope="${permission}"`,
        );
        seen.push(permission);
      }
      const whole = await gateway.send(await goodCall({ fixtures, maker }, operationId, here));
      expect(whole.status, `${operationId}: ${whole.text}`).toBeLessThan(300);
    }
    const { rows } = await admin.query<{ permission: string }>(
      `select distinct metadata ->> 'missing_permission' as permission from events where event_type = 'security.permission_denied' and metadata ->> 'code' = 'missing_permission'`,
    );
    expect(rows.map((row) => row.permission).sort()).toEqual([...new Set(seen)].sort());
  });

  it('refuses a tenant header of another tenant, and writes an event', async () => {
    for (const { schema, config } of routes) {
      if (config!.public !== undefined) {
        continue;
      }
      const call = await goodCall({ fixtures, maker }, schema!.operationId!, here);
      const answer = await gateway.send({
        ...call,
        headers: { ...call.headers, 'x-tenant-id': abroad.tenantId },
      });
      expect(verdict(answer), schema!.operationId).toBe('403 tenant_mismatch');
    }
    const { rows } = await admin.query(
      `select tenant_id from events where metadata ->> 'code' = 'tenant_mismatch' and event_type = 'security.permission_denied'`,
    );
    expect(new Set(rows.map((row) => row.tenant_id as string))).toEqual(
      new Set([world.tenantId, platformTenantId]),
    );
  });

  it('that is registered is in the OpenAPI document, and no other is', () => {
    const described = new Set(gateway.description.operations.map(({ id }) => id));
    expect(new Set(routes.map(({ schema }) => schema!.operationId))).toEqual(described);
  });
});
