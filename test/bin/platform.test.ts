import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { implied, permissions } from '#domain/foundation/access/permissions.ts';
import { connect, describe as describeError } from '../../bin/platform/connect.ts';
import { createProgram, run } from '../../bin/platform/program.ts';
import { openCallWorld, type CallWorld } from '../support/call-world.ts';
import { addOperator } from '../support/operators.ts';
import { openTerminal, runPlatform } from '../support/platform-cli.ts';
import { Maker } from '../support/places.ts';
import { Popup } from '../support/popup.ts';
import { connect as connectTo } from '../support/tables.ts';
import { addMember, createWorld } from '../support/world.ts';

let place: CallWorld;
let url: string;
let folder: string;

beforeAll(async () => {
  place = await openCallWorld();
  url = await place.gateway.app.listen({ host: '127.0.0.1', port: 0 });
  folder = await mkdtemp(join(tmpdir(), 'platform-'));
  const entry = { litellm_provider: 'openai', input_cost_per_token: 1e-6, output_cost_per_token: 2e-6 };
  writeFileSync(join(folder, 'prices.json'), JSON.stringify({ 'gpt-none': entry, 'gpt-5-mini': entry }));
  writeFileSync(join(folder, 'instructions.md'), 'Answer in rhymes.');
  writeFileSync(join(folder, 'secret-key'), 'sk-tracing\n');
  writeFileSync(join(folder, 'token'), 'tk-stored-7f3e\n');
  writeFileSync(join(folder, 'message.md'), 'When is high water?');
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await place?.close();
});

/** A command as in its own process, but run in this one. */
async function ask(args: string[], apiKey: string): Promise<{ code: number; out: string; err: string }> {
  vi.stubEnv('PLATFORM_URL', url);
  vi.stubEnv('PLATFORM_API_KEY', apiKey);
  const said = { out: '', err: '' };
  const code = await run(args, {
    out: (text) => void (said.out += text),
    err: (text) => void (said.err += text),
  });
  return { code, ...said };
}

type Input = Record<string, string | number | boolean>;
const flags =
  (...names: [flag: string, member: string][]) =>
  (input: Input): string[] =>
    names.flatMap(([flag, member]) => (input[member] == null ? [] : [`--${flag}`, String(input[member])]));
const page: [string, string][] = [
  ['limit', 'limit'],
  ['cursor', 'cursor'],
];
const inSpace: [string, string] = ['space', 'space_id'];
const ofSkill: [string, string] = ['skill', 'skill_id'];
const inCollection: [string, string][] = [inSpace, ['collection', 'collection_id']];
const inProject: [string, string][] = [inSpace, ['project', 'project_id']];
const argument = (member: string) => (input: Input) => [String(input[member])];
/** Commands that take the id of one thing, named like their procedures. */
const within = (group: string, member: string, verbs: string[], more: [string, string][]) =>
  Object.fromEntries(
    verbs.map((verb) => [
      `${group} ${verb}`,
      {
        procedure: `${group}.${verb}`,
        args: (input: Input) => [...argument(member)(input), ...flags(...more)(input)],
      },
    ]),
  );
const usd = ['--input', '2.5', '--output', '10'];

/** Each command with its procedure, and how its input is written. */
const commands: Record<string, { procedure: string; args: (input: Input) => string[] }> = {
  'responses list': { procedure: 'responses.list', args: flags(inSpace, ...page) },
  'responses inspect': { procedure: 'responses.inspect', args: argument('response_id') },
  'responses input-items': {
    procedure: 'responses.inputItems',
    args: (input) => [...argument('response_id')(input), ...flags(...page)(input)],
  },
  'responses delete': { procedure: 'responses.delete', args: argument('response_id') },
  'responses cancel': { procedure: 'responses.cancel', args: argument('response_id') },
  'responses restart': { procedure: 'responses.restart', args: argument('response_id') },
  'events list': { procedure: 'events.list', args: flags(...page) },
  'events get': { procedure: 'events.get', args: argument('event_id') },
  'events export': { procedure: 'events.export', args: flags(...page) },
  'workflows describe': { procedure: 'workflows.describe', args: argument('workflow_id') },
  'workflows history': {
    procedure: 'workflows.history',
    args: (input) => [...argument('workflow_id')(input), ...flags(['cursor', 'cursor'])(input)],
  },
  'tenants list': { procedure: 'tenants.list', args: flags(...page) },
  'tenants get': { procedure: 'tenants.get', args: argument('tenant_id') },
  'tenants create': { procedure: 'tenants.create', args: flags(['slug', 'slug'], ['name', 'name']) },
  'tenants suspend': { procedure: 'tenants.suspend', args: argument('tenant_id') },
  'tenants resume': { procedure: 'tenants.resume', args: argument('tenant_id') },
  'tenants delete': {
    procedure: 'tenantDeletion.request',
    args: (input) => [...argument('tenant_id')(input), ...flags(['reason', 'reason_code'])(input)],
  },
  'tenants deletion': { procedure: 'tenantDeletion.get', args: argument('tenant_id') },
  'tenants deletion-certificate': { procedure: 'tenantDeletion.get', args: argument('tenant_id') },
  'tenants cancel-deletion': { procedure: 'tenantDeletion.cancel', args: argument('tenant_id') },
  'spaces list': { procedure: 'spaces.list', args: flags(...page) },
  'spaces create': { procedure: 'spaces.create', args: flags(['name', 'name']) },
  'spaces models': { procedure: 'spaces.models', args: flags(inSpace) },
  'spaces set-models': {
    procedure: 'spaces.setModels',
    args: flags(inSpace, ['model', 'models'], ['default', 'default_model']),
  },
  'members list': { procedure: 'members.list', args: flags(inSpace, ...page) },
  'members get': {
    procedure: 'members.get',
    args: (input) => [...argument('member_id')(input), ...flags(inSpace)(input)],
  },
  'members add': {
    procedure: 'members.add',
    args: flags(inSpace, ['principal', 'principal_id'], ['role-id', 'role_id']),
  },
  'members set-role': {
    procedure: 'members.changeRole',
    args: (input) => [...argument('member_id')(input), ...flags(inSpace, ['role-id', 'role_id'])(input)],
  },
  'tenants update': {
    procedure: 'tenants.update',
    args: (input) => [...argument('tenant_id')(input), ...flags(['name', 'name'])(input)],
  },
  'spaces get': { procedure: 'spaces.get', args: argument('space_id') },
  'spaces delete': { procedure: 'spaces.delete', args: argument('space_id') },
  'spaces update': {
    procedure: 'spaces.update',
    args: (input) => [...argument('space_id')(input), ...flags(['name', 'name'])(input)],
  },
  'projects list': { procedure: 'projects.list', args: flags(inSpace, ...page) },
  'projects create': {
    procedure: 'projects.create',
    args: flags(inSpace, ['name', 'name'], ['description', 'description']),
  },
  'projects update': {
    procedure: 'projects.update',
    args: (input) => [...argument('project_id')(input), ...flags(inSpace, ['name', 'name'])(input)],
  },
  ...within('projects', 'project_id', ['get', 'delete'], [inSpace]),
  'project-members list': { procedure: 'projectMembers.list', args: flags(...inProject, ...page) },
  'project-members get': {
    procedure: 'projectMembers.get',
    args: (input) => [...argument('member_id')(input), ...flags(...inProject)(input)],
  },
  'project-members add': {
    procedure: 'projectMembers.add',
    args: flags(...inProject, ['principal', 'principal_id'], ['role-id', 'role_id']),
  },
  'project-members set-role': {
    procedure: 'projectMembers.changeRole',
    args: (input) => [...argument('member_id')(input), ...flags(...inProject, ['role-id', 'role_id'])(input)],
  },
  'project-members remove': {
    procedure: 'projectMembers.remove',
    args: (input) => [...argument('member_id')(input), ...flags(...inProject)(input)],
  },
  'invites list': { procedure: 'invites.list', args: flags(inSpace, ...page) },
  'invites own': { procedure: 'invites.own', args: flags(...page) },
  'invites create': {
    procedure: 'invites.create',
    args: flags(inSpace, ['email', 'email'], ['role-id', 'role_id']),
  },
  ...within('invites', 'invite_id', ['get', 'accept', 'decline', 'revoke'], [inSpace]),
  'roles list': { procedure: 'roles.list', args: flags(...page) },
  'roles create': {
    procedure: 'roles.create',
    args: (input) => [...argument('key')(input), ...flags(['name', 'name'])(input)],
  },
  'roles update': {
    procedure: 'roles.update',
    args: (input) => [...argument('role_id')(input), ...flags(['name', 'name'])(input)],
  },
  'roles set-permissions': {
    procedure: 'roles.setPermissions',
    args: (input) => [...argument('role_id')(input), ...flags(['permission', 'permissions'])(input)],
  },
  ...within('roles', 'role_id', ['get', 'delete'], []),
  ...within('principals', 'principal_id', ['get', 'delete', 'roles'], []),
  'principals update': {
    procedure: 'principals.update',
    args: (input) => [
      ...argument('principal_id')(input),
      ...flags(['name', 'name'], ['status', 'status'])(input),
    ],
  },
  'principals assign-role': {
    procedure: 'principals.assignRole',
    args: (input) => [...argument('principal_id')(input), ...flags(['role-id', 'role_id'])(input)],
  },
  'principals unassign-role': {
    procedure: 'principals.unassignRole',
    args: (input) => [...argument('principal_id')(input), ...flags(['role-id', 'role_id'])(input)],
  },
  'members remove': { procedure: 'members.remove', args: flags(inSpace, ['principal', 'principal_id']) },
  'principals list': { procedure: 'principals.list', args: flags(...page) },
  'principals create': { procedure: 'principals.create', args: flags(['type', 'type'], ['name', 'name']) },
  'api-keys list': { procedure: 'apiKeys.list', args: flags(...page) },
  'api-keys get': { procedure: 'apiKeys.get', args: argument('key_id') },
  'api-keys create': {
    procedure: 'apiKeys.create',
    args: flags(['principal', 'principal_id'], ['name', 'name']),
  },
  'api-keys revoke': { procedure: 'apiKeys.revoke', args: argument('key_id') },
  'sessions list': { procedure: 'sessions.list', args: flags(...page) },
  'sessions own': { procedure: 'sessions.own', args: flags(...page) },
  'sessions revoke': { procedure: 'sessions.revoke', args: argument('session_id') },
  'identity-providers list': { procedure: 'identityProviders.list', args: flags(...page) },
  'identity-providers get': {
    procedure: 'identityProviders.get',
    args: argument('identity_provider_id'),
  },
  'identity-providers add': {
    procedure: 'identityProviders.add',
    args: (input) => [
      ...argument('slug')(input),
      ...flags(['name', 'display_name'], ['issuer', 'issuer'], ['client-id', 'client_id'])(input),
    ],
  },
  'identity-providers update': {
    procedure: 'identityProviders.update',
    args: (input) => [...argument('identity_provider_id')(input), ...flags(['name', 'display_name'])(input)],
  },
  'identity-providers link': {
    procedure: 'identityProviders.link',
    args: (input) => [
      ...argument('identity_provider_id')(input),
      ...flags(['principal', 'principal_id'], ['subject', 'subject'])(input),
    ],
  },
  'models list': { procedure: 'models.list', args: flags(...page) },
  'models get': { procedure: 'models.get', args: argument('alias') },
  'models add': {
    procedure: 'models.add',
    args: (input) => [
      ...argument('alias')(input),
      ...flags(['provider', 'provider_kind'], ['model', 'provider_model'])(input),
      ...usd,
    ],
  },
  'models update': {
    procedure: 'models.update',
    args: (input) => [...argument('alias')(input), ...flags(['context-window', 'context_window'])(input)],
  },
  'models disable': { procedure: 'models.disable', args: argument('alias') },
  'models enable': { procedure: 'models.disable', args: argument('alias') },
  'prices list': { procedure: 'prices.list', args: argument('alias') },
  'prices set': {
    procedure: 'prices.set',
    args: (input) => [...argument('alias')(input), ...flags(['tenant', 'tenant_id'])(input), ...usd],
  },
  'prices import': {
    procedure: 'prices.import',
    args: (input) => [join(folder, 'prices.json'), ...flags(['tenant', 'tenant_id'])(input)],
  },
  'collections list': { procedure: 'collections.list', args: flags(inSpace, ...page) },
  'collections get': {
    procedure: 'collections.get',
    args: (input) => [...argument('collection_id')(input), ...flags(inSpace)(input)],
  },
  'collections create': {
    procedure: 'collections.create',
    args: (input) => [...flags(inSpace, ['name', 'name'])(input), '--enforce-source-readers'],
  },
  'collections update': {
    procedure: 'collections.update',
    args: (input) => [
      ...argument('collection_id')(input),
      ...flags(inSpace, ['name', 'name'])(input),
      '--no-enforce-source-readers',
    ],
  },
  'collections delete': {
    procedure: 'collections.delete',
    args: (input) => [...argument('collection_id')(input), ...flags(inSpace)(input)],
  },
  'skills list': { procedure: 'skills.list', args: flags(...page) },
  'skills create': { procedure: 'skills.create', args: flags(['name', 'name']) },
  'skills update': {
    procedure: 'skills.update',
    args: (input) => [...argument('skill_id')(input), ...flags(['name', 'name'])(input)],
  },
  ...Object.fromEntries(
    ['get', 'delete'].map((verb) => [
      `skills ${verb}`,
      { procedure: `skills.${verb}`, args: argument('skill_id') },
    ]),
  ),
  'skill-versions list': { procedure: 'skillVersions.list', args: flags(ofSkill, ...page) },
  'skill-versions draft': {
    procedure: 'skillVersions.draft',
    args: (input) => [...flags(ofSkill)(input), '--instructions-file', join(folder, 'instructions.md')],
  },
  'skill-versions edit': {
    procedure: 'skillVersions.edit',
    args: (input) => [
      ...argument('version_id')(input),
      ...flags(ofSkill)(input),
      '--instructions-file',
      join(folder, 'instructions.md'),
    ],
  },
  ...Object.fromEntries(
    ['get', 'publish', 'deprecate'].map((verb) => [
      `skill-versions ${verb}`,
      {
        procedure: `skillVersions.${verb}`,
        args: (input: Input) => [...argument('version_id')(input), ...flags(ofSkill)(input)],
      },
    ]),
  ),
  'observability get': { procedure: 'observability.get', args: flags(inSpace) },
  'observability set': {
    procedure: 'observability.set',
    args: (input) => [
      ...flags(inSpace, ['public-key', 'tracing_public_key'])(input),
      '--secret-key-file',
      join(folder, 'secret-key'),
    ],
  },
  'embedding-models list': { procedure: 'embeddingModels.list', args: flags(...page) },
  'embedding-models get': { procedure: 'embeddingModels.get', args: argument('embedding_model_id') },
  'embedding-models add': {
    procedure: 'embeddingModels.add',
    args: (input) => [
      ...argument('alias')(input),
      ...flags(
        ['provider', 'provider_kind'],
        ['model', 'provider_model'],
        ['price', 'price'],
        ['credential-id', 'credential_id'],
      )(input),
    ],
  },
  'embedding-models update': {
    procedure: 'embeddingModels.update',
    args: (input) => [
      ...argument('embedding_model_id')(input),
      ...flags(['price', 'price'], ['credential-id', 'credential_id'])(input),
    ],
  },
  ...Object.fromEntries(
    ['disable', 'enable'].map((verb) => [
      `embedding-models ${verb}`,
      { procedure: 'embeddingModels.update', args: argument('embedding_model_id') },
    ]),
  ),
  'embedding get': { procedure: 'spaceEmbedding.get', args: flags(inSpace) },
  'embedding change': {
    procedure: 'spaceEmbedding.change',
    args: (input) => [...argument('model_id')(input), ...flags(inSpace)(input)],
  },
  'embedding cancel': { procedure: 'spaceEmbedding.cancel', args: flags(inSpace) },
  'embedding usage': { procedure: 'spaceEmbedding.usage', args: flags(inSpace, ['days', 'days'], ...page) },
  'reranking-models list': { procedure: 'rerankingModels.list', args: flags(...page) },
  'reranking-models get': { procedure: 'rerankingModels.get', args: argument('reranking_model_id') },
  'reranking-models add': {
    procedure: 'rerankingModels.add',
    args: (input) => [
      ...argument('alias')(input),
      ...flags(
        ['provider', 'provider_kind'],
        ['model', 'provider_model'],
        ['base-url', 'base_url'],
        ['price', 'price'],
        ['credential-id', 'credential_id'],
      )(input),
    ],
  },
  'reranking-models update': {
    procedure: 'rerankingModels.update',
    args: (input) => [
      ...argument('reranking_model_id')(input),
      ...flags(['price', 'price'], ['credential-id', 'credential_id'])(input),
    ],
  },
  ...Object.fromEntries(
    ['disable', 'enable'].map((verb) => [
      `reranking-models ${verb}`,
      { procedure: 'rerankingModels.update', args: argument('reranking_model_id') },
    ]),
  ),
  'reranking get': { procedure: 'spaceReranking.get', args: flags(inSpace) },
  'reranking choose': {
    procedure: 'spaceReranking.change',
    args: (input) => [...argument('model_id')(input), ...flags(inSpace)(input)],
  },
  'reranking clear': { procedure: 'spaceReranking.change', args: flags(inSpace) },
  'reranking usage': { procedure: 'spaceReranking.usage', args: flags(inSpace, ['days', 'days'], ...page) },
  'observability remove': { procedure: 'observability.remove', args: flags(inSpace) },
  ...Object.fromEntries(
    [
      { group: 'credentials', calls: 'credentials', of: [inSpace] },
      { group: 'tenant-credentials', calls: 'tenantCredentials', of: [] },
    ].flatMap(({ group, calls, of }) => {
      const value = () => ['--value-file', join(folder, 'token')];
      return Object.entries({
        list: { procedure: `${calls}.list`, args: flags(...of, ...page) },
        create: {
          procedure: `${calls}.create`,
          args: (input: Input) => [
            ...argument('name')(input),
            ...flags(...of, ['kind', 'kind'], ['origin', 'origin'])(input),
            ...value(),
          ],
        },
        rotate: {
          procedure: `${calls}.update`,
          args: (input: Input) => [...argument('credential_id')(input), ...flags(...of)(input), ...value()],
        },
        rename: {
          procedure: `${calls}.update`,
          args: (input: Input) => [
            ...argument('credential_id')(input),
            ...flags(...of, ['name', 'name'])(input),
          ],
        },
        ...Object.fromEntries(
          ['get', 'delete'].map((verb) => [
            verb,
            {
              procedure: `${calls}.${verb}`,
              args: (input: Input) => [...argument('credential_id')(input), ...flags(...of)(input)],
            },
          ]),
        ),
      }).map(([verb, command]) => [`${group} ${verb}`, command]);
    }),
  ),
  'tool-servers connect': { procedure: 'connections.initiate', args: argument('server_id') },
  'tool-servers complete': { procedure: 'connections.complete', args: argument('handle') },
  ...Object.fromEntries(
    [
      ['connection', 'get', []],
      ['disconnect', 'disconnect', []],
      ['connected', 'list', page],
    ].map(([verb, procedure, more]) => [
      `tool-servers ${verb as string}`,
      {
        procedure: `connections.${procedure as string}`,
        args: (input: Input) => [
          String(input['server_id']),
          ...flags(inSpace, ...(more as [string, string][]))(input),
        ],
      },
    ]),
  ),
  'tool-servers list': { procedure: 'toolServers.list', args: flags(inSpace, ...page) },
  'tool-servers register': {
    procedure: 'toolServers.register',
    args: (input) => [
      ...argument('slug')(input),
      ...flags(inSpace, ['name', 'display_name'], ['address', 'url'])(input),
    ],
  },
  'tool-servers update': {
    procedure: 'toolServers.update',
    args: (input) => [...argument('server_id')(input), ...flags(inSpace, ['name', 'display_name'])(input)],
  },
  'tool-servers set-tool': {
    procedure: 'toolServers.update',
    args: (input) => [
      ...argument('server_id')(input),
      ...flags(inSpace)(input),
      '--tool',
      'lift',
      '--approval',
    ],
  },
  'tool-servers get-tool': {
    procedure: 'toolServers.get',
    args: (input) => [...argument('server_id')(input), ...flags(inSpace)(input), '--tool', 'lift'],
  },
  ...Object.fromEntries(
    ['get', 'discover', 'remove'].map((verb) => [
      `tool-servers ${verb}`,
      {
        procedure: `toolServers.${verb}`,
        args: (input: Input) => [...argument('server_id')(input), ...flags(inSpace)(input)],
      },
    ]),
  ),
  'threads list': {
    procedure: 'threads.list',
    args: flags(inSpace, ['project', 'project_id'], ...page),
  },
  'threads get': {
    procedure: 'threads.get',
    args: (input) => [...argument('thread_id')(input), ...flags(inSpace)(input)],
  },
  'threads messages': {
    procedure: 'threads.messages',
    args: (input) => [...argument('thread_id')(input), ...flags(inSpace, ['limit', 'limit'])(input)],
  },
  'threads start': {
    procedure: 'threads.start',
    args: (input) => [
      ...flags(inSpace, ['title', 'title'], ['project', 'project_id'])(input),
      '--content-file',
      join(folder, 'message.md'),
    ],
  },
  'threads add-message': {
    procedure: 'threads.addMessage',
    args: (input) => [
      ...argument('thread_id')(input),
      ...flags(inSpace, ['branch', 'branch_id'], ['parent', 'parent_message_id'])(input),
      '--content-file',
      join(folder, 'message.md'),
    ],
  },
  'threads update': {
    procedure: 'threads.update',
    args: (input) => [...argument('thread_id')(input), ...flags(inSpace, ['title', 'title'])(input)],
  },
  'threads delete': {
    procedure: 'threads.delete',
    args: (input) => [...argument('thread_id')(input), ...flags(inSpace)(input)],
  },
  'governance get': { procedure: 'governance.get', args: flags(inSpace) },
  'governance set': {
    procedure: 'governance.update',
    args: (input) => [...flags(inSpace)(input), '--mode', 'off'],
  },
  'notifications list': { procedure: 'notifications.list', args: flags(...page) },
  'notifications count': { procedure: 'notifications.unreadCount', args: () => [] },
  'notifications get': { procedure: 'notifications.get', args: argument('notification_id') },
  'notifications read': { procedure: 'notifications.read', args: argument('notification_id') },
  'notifications read-all': { procedure: 'notifications.readAll', args: () => [] },
  'documents upload': {
    procedure: 'documents.upload',
    args: (input) => [join(folder, 'message.md'), ...flags(...inCollection)(input)],
  },
  'knowledge search': {
    procedure: 'knowledge.search',
    args: (input) => [...argument('query')(input), ...flags(inSpace)(input)],
  },
  'documents passages': {
    procedure: 'documents.passages',
    args: (input) => [...argument('document_id')(input), ...flags(...inCollection, ...page)(input)],
  },
  'connectors providers': { procedure: 'connectors.providers', args: () => [] },
  'connectors complete': { procedure: 'connections.complete', args: argument('handle') },
  'connectors list': { procedure: 'connectors.list', args: flags(...inCollection, ...page) },
  ...Object.fromEntries(
    [
      { verb: 'show', procedure: 'get', more: [] },
      { verb: 'connect', procedure: 'connect', more: [] },
      { verb: 'connection', procedure: 'connection', more: [] },
      { verb: 'disconnect', procedure: 'disconnect', more: [] },
      { verb: 'sync', procedure: 'sync', more: [] },
      { verb: 'delete', procedure: 'delete', more: [] },
      { verb: 'runs', procedure: 'listRuns', more: page },
      { verb: 'documents', procedure: 'documents', more: page },
    ].map(({ verb, procedure, more }) => [
      `connectors ${verb}`,
      {
        procedure: `connectors.${procedure}`,
        args: (input: Input) => [
          ...argument('connector_id')(input),
          ...flags(...inCollection, ...more)(input),
        ],
      },
    ]),
  ),
  ...Object.fromEntries(
    [
      { verb: 'run', procedure: 'getRun' },
      { verb: 'cancel', procedure: 'cancel' },
    ].map(({ verb, procedure }) => [
      `connectors ${verb}`,
      {
        procedure: `connectors.${procedure}`,
        args: (input: Input) => [
          ...argument('sync_id')(input),
          ...flags(...inCollection, ['connector', 'connector_id'])(input),
        ],
      },
    ]),
  ),
  ...Object.fromEntries(
    [
      { verb: 'add', procedure: 'create' },
      { verb: 'check', procedure: 'check' },
    ].map(({ verb, procedure }) => [
      `connectors ${verb}`,
      {
        procedure: `connectors.${procedure}`,
        args: (input: Input) => [
          ...argument('provider_slug')(input),
          ...flags(...inCollection, ['credential-id', 'credential_id'])(input),
          '--scope',
          JSON.stringify(input['scope_config']),
        ],
      },
    ]),
  ),
  'connectors update': {
    procedure: 'connectors.update',
    args: (input) => [
      ...argument('connector_id')(input),
      ...flags(...inCollection, ['credential-id', 'credential_id'])(input),
      '--cron',
      '0 3 * * *',
      '--timezone',
      'Europe/Berlin',
    ],
  },
  'documents list': { procedure: 'documents.list', args: flags(...inCollection, ...page) },
  ...Object.fromEntries(
    ['get', 'delete', 'retry'].map((verb) => [
      `documents ${verb}`,
      {
        procedure: `documents.${verb}`,
        args: (input: Input) => [...argument('document_id')(input), ...flags(...inCollection)(input)],
      },
    ]),
  ),
};

const leaves = (command: Command, path: string[] = []): string[] =>
  command.commands.length === 0
    ? [path.join(' ')]
    : command.commands.flatMap((each) => leaves(each, [...path, each.name()]));

describe('the commands', () => {
  it('are these, and those that need no gateway; together they call every procedure', () => {
    const local = [
      'migrate',
      'bootstrap',
      'demo',
      'events verify',
      'models fetch',
      'tenants verify-deletion',
      'tenants deletion-key',
    ];
    const registered = leaves(createProgram({ out: () => undefined, err: () => undefined }));
    expect(registered.sort()).toEqual([...Object.keys(commands), ...local].sort());
    const called = new Set(Object.values(commands).map(({ procedure }) => procedure));
    // A session is ended with its own access token, and the CLI has a key.
    const callable = place.all.map(({ path }) => path).filter((path) => path !== 'sessions.signOut');
    expect([...called].sort()).toEqual(callable.sort());
  });

  it('name the variables that they lack', async () => {
    vi.stubEnv('MASTER_KEY', undefined);
    vi.stubEnv('DATABASE_URL', 'nonsense');
    for (const words of ['bootstrap', 'events verify', 'tenants deletion-key']) {
      const { err, code } = await ask(words.split(' '), '');
      expect(err).toMatch(/^The configuration is not usable:/);
      expect(err).toMatch(/ {2}(MASTER_KEY|DATABASE_URL): /);
      expect(code).toBe(1);
    }
  });

  it.each(Object.entries(commands))(
    '%s answers with its permission, as JSON and as text, and is refused without it',
    async (name, { procedure: path, args }) => {
      const procedure = place.all.find((each) => each.path === path)!;
      const fixture = place.fixtures[path]!;
      const { permission } = procedure.declared!;
      const keyPermissions = permissions.filter(
        (each) => permission === undefined || !implied(each).includes(permission),
      );
      const lacking = fixture.operator
        ? await addOperator(place.database.unitOfWork, keyPermissions)
        : await addMember(place.database.unitOfWork, place.world, {
            tenantRoles: ['owner'],
            spaceRole: null,
            keyPermissions,
          });
      const words = async () => [...name.split(' '), ...args((await fixture.input(place.here)) as Input)];
      const apiKey = place.keyFor(procedure, place.here);

      const json = await ask([...(await words()), '--json'], apiKey);
      expect([json.err, json.code]).toEqual(['', 0]);
      expect(JSON.parse(json.out)).toHaveProperty('data');

      const text = await ask(await words(), apiKey);
      // Where an export goes on is said beside its data.
      expect([text.err.replace(/^more: --cursor \S+\n$/, ''), text.code]).toEqual(['', 0]);
      expect(text.out.trim()).not.toBe('');

      const refused = await ask(await words(), lacking.apiKey);
      if (name === 'responses list' || name === 'sessions own') {
        // Everybody may list; the cursor belongs to another principal.
        expect(refused.err).toMatch(/^invalid_cursor: .+ \(cursor\) \[req_[0-9a-f]{32}\]\n$/);
      } else if (path === 'connectors.providers') {
        // The same for every caller.
        expect([refused.err, refused.code]).toEqual(['', 0]);
        return;
      } else if (permission === undefined) {
        expect(refused.err).toMatch(/^invite_identity_mismatch: /);
      } else {
        // Reading the models comes first where a price file is reduced to them.
        const missing = refused.err.includes('models.read') ? 'models.read' : permission;
        expect(refused.err).toMatch(
          new RegExp(`^missing_permission: Missing permission ${missing} in this (tenant|space)\\. \\[req_`),
        );
      }
      expect([refused.out, refused.code]).toEqual(['', 1]);
    },
    20_000,
  );
});

describe('documents upload', () => {
  it('sends a file of any format byte for byte', async () => {
    const { spaceId, apiKey } = place.world;
    const make = ['collections', 'create', '--space', spaceId, '--name', `Files ${Date.now()}`, '--json'];
    const made = JSON.parse((await ask(make, apiKey)).out) as { data: { id: string } };
    const at = ['--space', spaceId, '--collection', made.data.id, '--json'];
    const bytes = Buffer.from('%PDF-1.7\n\0\xff\xfe binary', 'latin1');
    writeFileSync(join(folder, 'plan.pdf'), bytes);
    const { out, err } = await ask(['documents', 'upload', join(folder, 'plan.pdf'), ...at], apiKey);
    expect(err).toBe('');
    expect(JSON.parse(out)).toMatchObject({
      data: { filename: 'plan.pdf', media_type: 'application/pdf', byte_size: bytes.byteLength },
    });
    const markdown = await ask(['documents', 'upload', join(folder, 'message.md'), ...at], apiKey);
    expect(JSON.parse(markdown.out)).toMatchObject({ data: { media_type: 'text/markdown' } });
    for (const name of [join(folder, 'none.pdf'), folder]) {
      const lost = await ask(['documents', 'upload', name, ...at], apiKey);
      expect([lost.err, lost.code]).toEqual([`The file ${name} cannot be read.\n`, 1]);
    }
  });
});

describe('events export', () => {
  it('prints events alone, one a line, and says apart from them where they go on', async () => {
    const { apiKey } = place.world;
    const { out, err, code } = await ask(['events', 'export', '--limit', '1'], apiKey);
    expect(code).toBe(0);
    const events = out.trimEnd().split('\n');
    expect(events.map((line) => (JSON.parse(line) as { id: string }).id)).toHaveLength(1);
    expect(err).toMatch(/^more: --cursor \S+\n$/);
    const whole = await ask(['events', 'export', '--limit', '1', '--json'], apiKey);
    expect(JSON.parse(whole.out)).toMatchObject({ meta: { has_more: true } });
    expect(whole.err).toBe('');
  });

  it('prints nothing where there are no events', async () => {
    const ran = await ask(['events', 'export', '--from', '2999-01-01T00:00:00Z'], place.world.apiKey);
    expect(ran).toEqual({ out: '', err: '', code: 0 });
  });

  it('says the form of a time that is only a day', async () => {
    const ran = await ask(['events', 'list', '--from', '2026-11-01'], place.world.apiKey);
    expect(ran.err).toMatch(
      /^invalid_request: `from_date` must be a time with its offset from UTC, such as 2026-11-01T00:00:00Z\. \(from_date\)/,
    );
  });
});

describe('connectors add', () => {
  it('says which field of the scope is wrong, and what it may be', async () => {
    const { spaceId, apiKey } = place.here;
    const collection = await new Maker(() => place.gateway).collection(place.here);
    const scope = JSON.stringify({ repositories: ['hello-world'] });
    for (const verb of ['add', 'check']) {
      const at = ['--space', spaceId, '--collection', collection, '--scope', scope];
      const { err, code } = await ask(['connectors', verb, 'github', ...at], apiKey);
      expect(code).toBe(1);
      expect(err).toMatch(
        /^invalid_request: `scope_config\.repositories\.0` must be <owner>\/<name>, such as octocat\/hello-world\. \(scope_config\.repositories\.0\) \[req_/,
      );
    }
  });
});

describe('connecting an account', () => {
  const maker = () => new Maker(() => place.gateway);

  it.skipIf(process.platform !== 'linux')(
    'at a terminal prints the link, waits for the code at its end, and connects with it',
    async () => {
      const serverId = await maker().connectionServer(place.here, 'personal');
      const terminal = openTerminal(['tool-servers', 'connect', serverId], {
        PLATFORM_URL: url,
        PLATFORM_API_KEY: place.here.apiKey,
      });
      const link = await terminal.shows(/http\S+\/mcp-auth\/start\?nonce=[\w.-]+/);
      await terminal.shows(/The code that it shows at the end: /);
      const popup = new Popup(place.gateway);
      const state = (await popup.decide(link, 'continue')).searchParams.get('state')!;
      const back = await popup.comeBack({ state, code: 'code' });
      const handle = new URL(back.headers['location']!).searchParams.get('handle')!;
      terminal.type(`${handle}\r`);
      await terminal.shows(/status: +connected/);
      expect(await terminal.exited).toBe(0);
    },
    30_000,
  );

  it('has the platform registered again for those who may change servers', async () => {
    const serverId = await maker().connectionServer(place.here, 'personal');
    const { apiKey } = await addMember(
      place.database.unitOfWork,
      { ...place.world, ...place.here },
      { spaceRole: 'space_editor' },
    );
    const begun = await ask(['tool-servers', 'connect', serverId], apiKey);
    expect([begun.err, begun.code]).toEqual(['', 0]);
    const again = await ask(['tool-servers', 'connect', serverId, '--register-again'], apiKey);
    expect(again.err).toMatch(/^missing_permission: Missing permission mcp_servers.update /);
  });
});

describe('the program', () => {
  it('runs as its own process, with the key in a file', async () => {
    const file = join(folder, 'key');
    writeFileSync(file, `${place.here.apiKey}\n`);
    const ran = await runPlatform(['--url', url, '--key-file', file, 'spaces', 'list', '--json']);
    expect([ran.stderr, ran.code]).toEqual(['', 0]);
    const { data } = JSON.parse(ran.stdout) as { data: { id: string }[] };
    expect(data.some(({ id }) => id === place.here.spaceId)).toBe(true);
  });

  it('prints the version of the release', async () => {
    const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
    for (const option of ['--version', '-V']) {
      expect(await ask([option], '')).toEqual({ out: `${version}\n`, err: '', code: 0 });
    }
  });

  it.each([
    [[], 'No API key: set PLATFORM_API_KEY, or name a file with --key-file.\n'],
    [['--key-file', '/nowhere'], 'The key file cannot be read.\n'],
  ])('asks for a key in one line (%s)', async (options, line) => {
    const ran = await runPlatform([...options, 'spaces', 'list'], { PLATFORM_URL: url });
    expect(ran).toEqual({ code: 1, stdout: '', stderr: line });
  });

  it.each([
    ['http://127.0.0.1:1', 'The gateway at http://127.0.0.1:1 cannot be reached.\n'],
    ['nonsense', 'The gateway’s URL (--url, PLATFORM_URL) must be an http or https URL.\n'],
  ])('says in one line that there is no gateway at %s', async (other, line) => {
    const answer = await ask(['--url', other, 'spaces', 'list'], place.here.apiKey);
    expect(answer).toEqual({ code: 1, out: '', err: line });
  });

  it.each([
    ['says nothing', () => undefined],
    [
      'begins an answer and falls silent',
      (response: ServerResponse) => void response.writeHead(200).write('{'),
    ],
  ])('waits for no gateway that %s', async (_how, answer) => {
    const silent = createServer((_request, response) => answer(response));
    await once(silent.listen(0, '127.0.0.1'), 'listening');
    const base = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
    const client = connect({ url: base, keyFile: undefined }, { PLATFORM_API_KEY: 'ak.x' }, 500);
    const refused: unknown = await client.spaces.list.query({}).catch((error: unknown) => error);
    expect(describeError(refused)).toBe(
      `The gateway at ${base} has not answered in 0.5 seconds; it may have done what it was asked.`,
    );
    silent.closeAllConnections();
    await once(silent.close(), 'close');
  });

  it('reports wrong usage in one line, and prints help', async () => {
    const wrong = await ask(['responses', 'list'], place.here.apiKey);
    expect(wrong).toEqual({
      code: 1,
      out: '',
      err: "error: required option '--space <id>' not specified\n",
    });
    const extra = await ask(['responses', 'inspect', 'a', 'b'], place.here.apiKey);
    expect([extra.code, extra.out]).toEqual([1, '']);
    expect(extra.err).toMatch(/^error: too many arguments.*\n$/);
    const help = await ask(['responses', '--help'], place.here.apiKey);
    expect([help.code, help.err]).toEqual([0, '']);
    expect(help.out).toContain('inspect [options] <response_id>');
  });

  it('lets no name control the terminal', async () => {
    await ask(['spaces', 'create', '--name', '\u001b[31mred\u202e'], place.here.apiKey);
    const list = await ask(['spaces', 'list'], place.here.apiKey);
    expect(list.out).toContain('?[31mred?');
  });

  it('shows the definition to approve, and approves a tool by the hash shown', async () => {
    const asked = (await place.fixtures['toolServers.get']!.input(place.here)) as Record<string, string>;
    const server = (verb: string, ...more: string[]) =>
      ask(
        ['tool-servers', verb, asked['server_id']!, '--space', asked['space_id']!, ...more],
        place.here.apiKey,
      );
    const unseen = await server('update', '--enable-tool', 'lift');
    expect(unseen.code).toBe(1);
    expect(unseen.err).toMatch(/^tool_definition_conflict: .+\n\nlift@[0-9a-f]{64}\n--- approved\n/s);
    expect(unseen.err).toContain('+  "description": "Lifts."');
    const shown = await server('get-tool', '--tool', 'lift');
    const [definition = ''] = shown.out.split('\n');
    const approved = await server('update', '--enable-tool', definition);
    expect(approved.out).toMatch(/^lift +mcp__.+__lift +approved/m);
  });

  it('shows each change of a deletion once, and why it waits', async () => {
    const { tenantId } = await createWorld(place.database.unitOfWork);
    const { apiKey } = await addOperator(place.database.unitOfWork);
    await ask(['tenants', 'delete', tenantId, '--reason', 'test_cleanup'], apiKey);
    const admin = await connectTo(place.database.adminUrl);
    const change = (set: string) =>
      admin.query(`update app.tenant_deletions set ${set} where tenant_id = $1`, [tenantId]);
    const waited = ask(['tenants', 'deletion', tenantId, '--wait'], apiKey);
    await sleep(2_500);
    const at = '2026-01-01T00:00:00.000Z';
    await change(`step = 'erasing', failure = '{"step": "erasing", "reason": "timeout", "at": "${at}"}'`);
    await sleep(2_500);
    await change(`status = 'cancelled', step = 'finished', failure = null, ended_at = now()`);
    await admin.end();
    const { err, out, code } = await waited;
    expect(err.match(/^(scheduled|erasing)\b.*|^It waits.+/gm)).toEqual([
      'scheduled',
      'erasing',
      `It waits: erasing fails with timeout since ${at}.`,
    ]);
    expect(out).toMatch(/^status: +cancelled$/m);
    expect(out).toMatch(/^finished$/m);
    expect(code).toBe(0);
  });

  it('makes operators and a first tenant on the database alone', async () => {
    const env = {
      DATABASE_URL: place.database.url,
      MASTER_KEY: place.gateway.gateway.config.MASTER_KEY,
    };
    const ran = await runPlatform(['bootstrap', '--slug', 'first', '--name', 'First', '--json'], env);
    expect([ran.stderr, ran.code]).toEqual(['', 0]);
    const made = JSON.parse(ran.stdout) as Record<string, string>;
    const tenants = await ask(['tenants', 'list', '--json'], made['operator_key']!);
    expect(tenants.out).toContain(made['tenant_id']);
    const spaces = await ask(['spaces', 'list', '--json'], made['api_key']!);
    expect(spaces.out).toContain(made['space_id']);
    const again = await runPlatform(['bootstrap', '--slug', 'first', '--name', 'First'], env);
    expect(again).toMatchObject({ code: 1, stderr: 'A tenant with this slug exists.\n' });
    const lone = await runPlatform(['bootstrap', '--slug', 'first'], env);
    expect(lone).toMatchObject({ code: 1, stderr: '--slug and --name go together.\n' });
  });
});
