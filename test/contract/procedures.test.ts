import { initTRPC } from '@trpc/server';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { permissions, implied } from '#domain/foundation/access/permissions.ts';
import { eventTypes } from '#domain/foundation/events/catalogue.ts';
import { embeddingProcedureText } from '../support/embedding-fixtures.ts';
import { rerankingProcedureText } from '../support/reranking-fixtures.ts';
import { connectionProcedureText } from '../support/connection-fixtures.ts';
import { connectorProcedureText } from '../support/connector-fixtures.ts';
import { sourceConnectionProcedureText } from '../support/source-connection-fixtures.ts';
import { credentialProcedureText } from '../support/credential-fixtures.ts';
import { deletionProcedureText } from '../support/deletion-fixtures.ts';
import { adminProcedureText } from '../support/admin-procedures.ts';
import { openCallWorld, type CallWorld } from '../support/call-world.ts';
import type { Answer } from '../support/gateway.ts';
import { addOperator } from '../support/operators.ts';
import type { ProcedureFixture } from '../support/procedure-fixtures.ts';
import { callProcedure, errorOf, procedures, textFields, type Procedure } from '../support/procedures.ts';
import { signInProcedureText } from '../support/sign-in-fixtures.ts';
import { addMember } from '../support/world.ts';

/** Free text that contains no id. */
const plainText = [
  'tenants.create slug',
  'tenants.create name',
  'spaces.create name',
  'spaces.setModels default_model',
  'principals.create name',
  'principals.create email',
  'apiKeys.create name',
  ...[
    'alias',
    'provider_model',
    'base_url',
    'credential_ref',
    'price.input',
    'price.cached_input',
    'price.output',
  ].map((name) => `models.add ${name}`),
  ...adminProcedureText,
  ...deletionProcedureText,
  ...['base_url', 'credential_ref'].map((name) => `models.update ${name}`),
  ...['price.input', 'price.cached_input', 'price.output', 'valid_from'].map((name) => `prices.set ${name}`),
  'prices.import document.*',
  ...['slug', 'display_name', 'transport_type', 'url', 'icon_url', 'auth.credential_ref', 'auth.header'].map(
    (name) => `toolServers.register ${name}`,
  ),
  ...['restore_in_tool_arguments[]', 'presidio_url', 'language'].map(
    (name) => `governance.update pii.${name}`,
  ),
  ...['create name', 'create description', 'update name', 'update description'].map(
    (name) => `skills.${name}`,
  ),
  ...['draft', 'edit'].flatMap((verb) =>
    ['instructions', 'allowed_tools[]', 'notes'].map((name) => `skillVersions.${verb} ${name}`),
  ),
  ...['start', 'addMessage'].flatMap((verb) =>
    ['content', 'metadata.*'].map((name) => `threads.${verb} ${name}`),
  ),
  // It names a branch of the new thread, and has no meaning outside.
  'threads.start branch_id',
  ...['start', 'update'].map((verb) => `threads.${verb} title`),
  ...['name', 'description', 'text_search_config'].map((name) => `collections.create ${name}`),
  ...['name', 'description', 'text_search_config'].map((name) => `collections.update ${name}`),
  ...['filename', 'content', 'metadata.*'].map((name) => `documents.upload ${name}`),
  // filters: their results never include another tenant's rows
  ...['query', ...['metadata.*', 'created_after', 'created_before'].map((name) => `filters.${name}`)].map(
    (name) => `knowledge.search ${name}`,
  ),
  ...['tracing_public_key', 'tracing_secret_key', 'tracing_base_url'].map(
    (name) => `observability.set ${name}`,
  ),
  // filters: their results never include another tenant's rows
  ...['list', 'export'].flatMap((list) =>
    ['resource_id', 'from_date', 'to_date'].map((name) => `events.${list} ${name}`),
  ),
  // of the server that server_id names
  ...[
    'enabled_tools[]',
    'enabled_tools[].name',
    'enabled_tools[].schema_hash',
    'tools[].name',
    'display_name',
    'icon_url',
  ].map((name) => `toolServers.update ${name}`),
];

plainText.push(
  ...signInProcedureText,
  ...connectionProcedureText,
  ...connectorProcedureText,
  ...sourceConnectionProcedureText,
  ...credentialProcedureText,
  ...embeddingProcedureText,
  ...rerankingProcedureText,
);

const prefixes = ['/api', '/api-proxy'] as const;
const all = procedures();
/**
 * Both prefixes lead to the same router: each procedure is called without permission under one prefix, with
 * ids under the other.
 */
const prefixFor = (procedure: Procedure, proof: 0 | 1) => prefixes[(all.indexOf(procedure) + proof) % 2]!;
let place: CallWorld;

beforeAll(async () => {
  place = await openCallWorld();
});
afterAll(() => place?.close());

const fixtureOf = ({ path }: Procedure): ProcedureFixture => place.fixtures[path]!;
const verdict = (answer: Answer): string => `${answer.status} ${errorOf(answer)?.code ?? ''}`;
/** An answer without its variable parts. */
const said = (answer: Answer): string =>
  `${answer.status} ${answer.text.replace(String(errorOf(answer)?.request_id), 'req_')}`;

/** Declarations that a procedure lacks. */
function missingFrom({ declared, input, output }: Procedure): string[] {
  const audit = declared?.audit;
  const audited =
    audit !== undefined &&
    ('none' in audit
      ? audit.none !== ''
      : audit.length > 0 && audit.every((type) => eventTypes.includes(type)));
  return [
    ...((declared?.permission !== undefined && permissions.includes(declared.permission)) ||
    (declared?.own ?? '') !== ''
      ? []
      : ['permission']),
    ...(audited ? [] : ['audit']),
    ...(input === undefined ? ['input'] : []),
    ...(output === undefined ? ['output'] : []),
  ];
}

describe('every procedure', () => {
  it('declares its permission, its audit events, its input and its output', () => {
    expect(all.length).toBeGreaterThan(30);
    expect(all.flatMap((each) => missingFrom(each).map((what) => `${each.path}: ${what}`))).toEqual([]);
  });

  it('is reported when it declares nothing', () => {
    const t = initTRPC.create();
    const bare = procedures(t.router({ bare: t.procedure.query(() => 1) }));
    expect(bare.flatMap(missingFrom)).toEqual(['permission', 'audit', 'input', 'output']);
  });

  it('has a fixture, and each text of its input is an id or free text', () => {
    expect(Object.keys(place.fixtures).sort()).toEqual(all.map(({ path }) => path).sort());
    const positions = all.flatMap((each) => textFields(each.input).map((name) => `${each.path} ${name}`));
    const covered = all.flatMap((each) =>
      Object.keys(fixtureOf(each).ids).map((name) => `${each.path} ${name}`),
    );
    expect([...covered, ...plainText].sort()).toEqual(positions.sort());
  });
});

/** Results of calls about the caller's own resources, other than invites. */
const notTheirs: Record<string, string> = {
  // The same for every caller.
  'connectors.providers': '200 ',
  // The cursor belongs to another principal.
  'sessions.own': '422 invalid_cursor',
  // A key has no session.
  'sessions.signOut': '409 invalid_state',
};

/** No permission replaces being the invited principal. */
async function isForOneAlone(procedure: Procedure, prefix: (typeof prefixes)[number]): Promise<void> {
  const input = await fixtureOf(procedure).input(place.here);
  const call = { procedure, input, prefix };
  const other = await addMember(place.database.unitOfWork, place.world, { tenantRoles: ['owner'] });
  expect(verdict(await callProcedure(place.gateway, call))).toBe('401 not_authenticated');
  const refused = await callProcedure(place.gateway, { ...call, apiKey: other.apiKey });
  expect(verdict(refused)).toBe(notTheirs[procedure.path] ?? '403 invite_identity_mismatch');
  const answer = await callProcedure(place.gateway, {
    ...call,
    ...(await place.proofFor(procedure, place.here)),
  });
  expect(answer.status, answer.text).toBe(200);
}

describe('a procedure', () => {
  it.each(all.map((each) => [each.path, each] as const))(
    '%s needs a credential and its permission by name',
    async (_path, procedure) => {
      const prefix = prefixFor(procedure, 0);
      const fixture = fixtureOf(procedure);
      const permission = procedure.declared!.permission;
      if (permission === undefined) {
        await isForOneAlone(procedure, prefix);
        return;
      }
      const keyPermissions = permissions.filter((each) => !implied(each).includes(permission));
      const lacking = fixture.operator
        ? await addOperator(place.database.unitOfWork, keyPermissions)
        : await addMember(place.database.unitOfWork, place.world, {
            tenantRoles: ['owner'],
            spaceRole: null,
            keyPermissions,
          });
      const allowed = fixture.operator
        ? place.operator
        : await addMember(place.database.unitOfWork, place.world, {
            tenantRoles: ['owner'],
            spaceRole: null,
          });
      const input = await fixture.input(place.here);
      const call = { procedure, input, prefix };
      expect(verdict(await callProcedure(place.gateway, call))).toBe('401 not_authenticated');
      const refused = await callProcedure(place.gateway, { ...call, apiKey: lacking.apiKey });
      if (procedure.path === 'responses.list') {
        // Everybody may list; without the permission, only the caller's own rows. The cursor belongs to
        // another principal.
        expect(verdict(refused)).toBe('422 invalid_cursor');
      } else {
        expect(refused.status, refused.text).toBe(403);
        expect(errorOf(refused)).toMatchObject({
          type: 'permission_error',
          code: 'missing_permission',
          missing_permission: permission,
          request_id: refused.headers['x-request-id'],
        });
      }
      const answer = await callProcedure(place.gateway, {
        ...call,
        input: fixture.personal ? await fixture.input({ ...place.here, apiKey: allowed.apiKey }) : input,
        apiKey: allowed.apiKey,
      });
      expect(answer.status, answer.text).toBe(200);
      expect(answer.body.result.data).toHaveProperty('data');
    },
  );

  it.each(
    all.flatMap((each) =>
      textFields(each.input).map((name) => [`${each.path} ${name}`, each, name] as const),
    ),
  )('%s: an id of another tenant is answered like an unknown one', async (position, procedure, name) => {
    const id = fixtureOf(procedure).ids[name];
    if (id === undefined) {
      expect(plainText).toContain(position);
      return;
    }
    const prefix = prefixFor(procedure, 1);
    // An operator reads other tenants on purpose; tenant isolation applies to everybody else.
    const apiKey = place.keyFor(procedure, place.here);
    const own = await fixtureOf(procedure).input(place.here);
    const theirs = await fixtureOf(procedure).input(place.abroad);
    const put = (value: unknown) =>
      name === 'models[]'
        ? { ...own, models: [value], default_model: value }
        : name === 'collection_ids[]'
          ? { ...own, collection_ids: [value] }
          : { ...own, [name]: value, ...(name === 'tenant_id' ? { cursor: undefined } : {}) };
    const foreign =
      name === 'tenant_id'
        ? place.abroad.tenantId
        : name === 'models[]'
          ? place.abroad.modelAlias
          : name === 'collection_ids[]'
            ? (theirs.collection_ids as string[])[0]
            : theirs[name];
    const unknown = await callProcedure(place.gateway, {
      procedure,
      input: put(id.unknown()),
      apiKey,
      prefix,
    });
    expect(verdict(unknown), unknown.text).toBe(id.code);
    if (fixtureOf(procedure).operator) {
      return;
    }
    const answer = await callProcedure(place.gateway, { procedure, input: put(foreign), apiKey, prefix });
    expect(said(answer)).toBe(said(unknown));
  });
});

describe('the workflow of a tool server', () => {
  it('is described by the number of its discovery', async () => {
    const { server_id: id } = await place.fixtures['toolServers.get']!.input(place.here);
    const procedure = all.find(({ path }) => path === 'workflows.describe')!;
    const ask = (workflowId: string) =>
      callProcedure(place.gateway, {
        procedure,
        input: { workflow_id: workflowId },
        apiKey: place.here.apiKey,
      });
    const prefix = `mcp-server/${place.here.tenantId}/${String(id)}`;
    const described = await ask(`${prefix}/1`);
    expect(described.body.result.data.data.resource).toMatchObject({
      type: 'mcp_server',
      status: 'connected',
    });
    for (const other of [
      prefix,
      `${prefix}/x`,
      `${prefix}/1/2`,
      `constructor/${place.here.tenantId}/${String(id)}`,
    ]) {
      expect(verdict(await ask(other)), other).toBe('404 workflow_not_found');
    }
  });
});

describe('a session', () => {
  it('is listed among the caller’s own, and ended by signing out', async () => {
    const ask = async (verb: string, input: object, proof: object) =>
      callProcedure(place.gateway, {
        procedure: all.find(({ path }) => path === `sessions.${verb}`)!,
        input,
        ...proof,
      });
    const proof = await place.proofFor({ path: 'sessions.signOut' }, place.here);
    const own = await ask('own', { limit: 1 }, proof);
    expect(own.body.result.data.data).toMatchObject([{ current: true, status: 'active' }]);
    const ended = await ask('signOut', {}, proof);
    expect(ended.body.result.data.data).toMatchObject({
      session_id: own.body.result.data.data[0].session_id,
      status: 'ended',
      end_reason: 'logout',
    });
    expect(verdict(await ask('own', {}, proof))).toBe('401 invalid_credentials');
  });
});

describe('a thread', () => {
  const say = (verb: string, input: object) =>
    callProcedure(place.gateway, {
      procedure: all.find(({ path }) => path === `threads.${verb}`)!,
      input: { space_id: place.here.spaceId, ...input },
      apiKey: place.here.apiKey,
    });

  it('is created, continued, archived and deleted', async () => {
    const begun = (await say('start', { content: 'When is high water?', title: 'Tides' })).body.result.data;
    expect(begun.data).toMatchObject({ role: 'user', content: 'When is high water?', metadata: {} });
    const ref = { thread_id: begun.data.thread_id as string };
    // More than a megabyte, as the route takes it.
    const long = 'é'.repeat(700_000);
    const more = await say('addMessage', { ...ref, content: long, metadata: { from: 'a tool' } });
    expect(more.body.result.data.data).toMatchObject({
      parent_message_id: begun.data.id,
      content: long,
      metadata: { from: 'a tool' },
    });
    expect(verdict(await say('update', ref))).toBe('422 invalid_request');
    const put = await say('update', { ...ref, title: null, status: 'archived' });
    expect(put.body.result.data.data).toMatchObject({ title: null, status: 'archived' });
    expect(verdict(await say('addMessage', { ...ref, content: 'Late' }))).toBe('409 thread_archived');
    const deleted = await say('delete', ref);
    expect(deleted.body.result.data.data).toEqual({ id: ref.thread_id, deleted: true });
    expect(verdict(await say('get', ref))).toBe('404 thread_not_found');
  });
});

describe('an operator of the platform', () => {
  const ask = (path: string, input: object, apiKey: string) =>
    callProcedure(place.gateway, { procedure: all.find((each) => each.path === path)!, input, apiKey });

  it('sees all tenants, their models and their workflows; others see their own tenant', async () => {
    const tenants = await ask('tenants.list', { limit: 100 }, place.operator.apiKey);
    const ids = tenants.body.result.data.data.map(({ id }: { id: string }) => id);
    expect(ids).toEqual(expect.arrayContaining([place.here.tenantId, place.abroad.tenantId]));
    const own = await ask('tenants.list', {}, place.here.apiKey);
    expect(own.body.result.data.data.map(({ id }: { id: string }) => id)).toEqual([place.here.tenantId]);
    const models = await ask('models.list', { tenant_id: place.abroad.tenantId }, place.operator.apiKey);
    expect(JSON.stringify(models.body)).toContain(place.abroad.modelAlias);
    const { workflow_id: id } = await place.fixtures['workflows.describe']!.input(place.abroad);
    const described = await ask('workflows.describe', { workflow_id: id }, place.operator.apiKey);
    expect(described.body.result.data.data).toMatchObject({
      workflow_id: id,
      tenant_id: place.abroad.tenantId,
      resource: { type: 'response', status: 'queued', failure_code: null },
      run: { status: 'RUNNING', pending: [{ attempt: 3, last_failure: 'model_error (HTTP 503)' }] },
    });
  });

  it('reaches no content of another tenant, whatever its permissions in its own', async () => {
    const { response_id: id } = await place.fixtures['responses.inspect']!.input(place.abroad);
    const refusals = [
      await ask('responses.inspect', { response_id: id }, place.operator.apiKey),
      await ask('responses.cancel', { response_id: id }, place.operator.apiKey),
      await ask(
        'documents.list',
        await place.fixtures['documents.list']!.input(place.abroad),
        place.operator.apiKey,
      ),
      await ask('spaces.models', { space_id: place.abroad.spaceId }, place.operator.apiKey),
    ];
    expect(refusals.map(({ status }) => status)).toEqual([404, 404, 404, 404]);
  });

  it('suspends a tenant, whose every call is refused until it resumes', async () => {
    const made = await ask(
      'tenants.create',
      { slug: 'lighthouse', name: 'Lighthouse' },
      place.operator.apiKey,
    );
    const { tenant_id: id, api_key: key } = made.body.result.data.data as Record<string, string>;
    expect((await ask('spaces.list', {}, key!)).status).toBe(200);
    expect(
      (await ask('tenants.suspend', { tenant_id: id }, place.operator.apiKey)).body.result.data.data.status,
    ).toBe('suspended');
    expect(verdict(await ask('spaces.list', {}, key!))).toBe('403 tenant_suspended');
    await ask('tenants.resume', { tenant_id: id }, place.operator.apiKey);
    expect((await ask('spaces.list', {}, key!)).status).toBe(200);
    const { rows } = await place.admin.query(
      `select tenant_id::text = $1 as own, event_type from events where resource_id = $1 and category = 'system' order by id`,
      [id],
    );
    expect(rows).toEqual([
      { own: true, event_type: 'system.tenant_created' },
      { own: false, event_type: 'system.tenant_created' },
      { own: true, event_type: 'system.tenant_suspended' },
      { own: true, event_type: 'system.tenant_resumed' },
    ]);
    const again = await ask('tenants.create', { slug: 'lighthouse', name: 'Second' }, place.operator.apiKey);
    expect(verdict(again)).toBe('409 already_exists');
  });

  it('cannot suspend the platform’s own tenant', async () => {
    const input = { tenant_id: '00000000-0000-7000-8000-000000000001' };
    expect(verdict(await ask('tenants.suspend', input, place.operator.apiKey))).toBe('409 invalid_state');
  });
});

describe('a name that several requests claim at once', () => {
  it.each(['models.add', 'members.add', 'toolServers.register', 'skills.create'])(
    'is given to one of them by %s',
    async (path) => {
      const procedure = all.find((each) => each.path === path)!;
      const input = await place.fixtures[path]!.input(place.here);
      const asked = Array.from({ length: 5 }, () =>
        callProcedure(place.gateway, { procedure, input, apiKey: place.here.apiKey }),
      );
      const codes = (await Promise.all(asked)).map((answer) => errorOf(answer)?.code ?? 'ok');
      expect(codes.filter((code) => code === 'ok')).toHaveLength(1);
      expect(codes.filter((code) => code === 'already_exists')).toHaveLength(4);
    },
  );
});

describe('a permission that a caller grants', () => {
  it('is among its own', async () => {
    const admins = await addMember(place.database.unitOfWork, place.world, {
      tenantRoles: ['admin'],
      spaceRole: null,
    });
    const procedure = all.find(({ path }) => path === 'apiKeys.create')!;
    const input = { principal_id: place.world.owner.principalId, name: 'crane' };
    const refused = await callProcedure(place.gateway, { procedure, input, apiKey: admins.apiKey });
    expect(errorOf(refused)).toMatchObject({
      code: 'missing_permission',
      missing_permission: 'tenants.delete',
    });
    const limited = { ...input, permissions: ['responses.read'] };
    const answer = await callProcedure(place.gateway, { procedure, input: limited, apiKey: admins.apiKey });
    expect(answer.status, answer.text).toBe(200);
    const editor = await addMember(place.database.unitOfWork, place.world, {
      spaceRole: 'space_viewer',
      tenantRoles: ['owner'],
      keyPermissions: ['members.add', 'spaces.read'],
    });
    const add = all.find(({ path }) => path === 'members.add')!;
    const { role_id: _, ...member } = await place.fixtures['members.add']!.input(place.here);
    const given = { ...member, role: 'space_admin' };
    expect(
      verdict(await callProcedure(place.gateway, { procedure: add, input: given, apiKey: editor.apiKey })),
    ).toBe('403 missing_permission');
  });
});

describe('a resource of another space', () => {
  it('is not found through another space', async () => {
    for (const path of ['collections.get', 'collections.delete', 'documents.list', 'documents.get']) {
      const procedure = all.find((each) => each.path === path)!;
      const input = {
        ...(await place.fixtures[path]!.input(place.neighbour)),
        space_id: place.here.spaceId,
        cursor: undefined,
      };
      const answer = await callProcedure(place.gateway, { procedure, input, apiKey: place.here.apiKey });
      expect(verdict(answer), path).toBe('404 collection_not_found');
    }
  });
});
