import { readFileSync } from 'node:fs';
import { InvalidArgumentError, Option, type Command } from 'commander';
import type { Inputs, Outputs } from '../connect.ts';
import { connectorRef, inCollection, type InCollection } from '../in-collection.ts';
import { fields, table } from '../print.ts';
import { paged, pageInput, remote, withNext, type PageOptions } from '../remote.ts';
import { addSourceConnections } from './source-connections.ts';
import { addRuns } from './connector-runs.ts';

interface Settings extends InCollection {
  scope?: string;
  credentialId?: string;
  clientCredentialId?: string;
  every?: number;
  cron?: string;
  timezone?: string;
  manual?: boolean;
}

type Schedule = Inputs['connectors']['create']['sync_schedule'];

const connector = '<connector_id>';

export function addConnectors(program: Command): void {
  const group = program.command('connectors').description('sources of the documents of a collection');

  remote(group.command('providers').description('the kinds of sources, each with the form of its scope'), {
    call: (client) => client.connectors.providers.query({}),
    show: ({ data }) =>
      table(data, {
        provider: (row) => row.slug,
        title: (row) => row.title,
        beta: (row) => row.beta,
        credential: (row) => row.credential_kinds.join(', '),
        scope: (row) => Object.keys(row.scope_schema['properties'] ?? {}).join(', '),
      }),
  });
  remote(
    inCollection(paged(group.command('list')).description('connectors of a collection, newest first')).option(
      '--status <status>',
      'pending, active, paused, auth_required, error or deleting',
    ),
    {
      call: (client, { space, collection, status, ...page }: InCollection & PageOptions & Filter) =>
        client.connectors.list.query({
          space_id: space,
          collection_id: collection,
          ...pageInput(page),
          ...(status === undefined ? {} : { status }),
        }),
      show: ({ data, meta }) =>
        withNext(
          table(data, {
            id: (row) => row.id,
            provider: (row) => row.provider_slug,
            status: (row) => row.status,
            reason: (row) => row.status_reason,
            synced: (row) => row.last_synced_at,
            next: (row) => row.next_runs[0],
          }),
          meta,
        ),
    },
  );
  remote(inCollection(group.command('show').description('one connector').argument(connector)), {
    call: (client, options: InCollection, id) => client.connectors.get.query(connectorRef(options, id)),
    show,
  });
  remote(
    withSettings(inCollection(group.command('add')))
      .description('connect the collection to a source; its first run begins at once')
      .argument('<provider>', 'of `connectors providers`'),
    {
      call: (client, options: Settings, slug) => client.connectors.create.mutate(created(options, slug)),
      show,
    },
  );
  remote(
    withSettings(inCollection(group.command('check')))
      .description('whether such a connector could read its source; nothing is stored')
      .argument('<provider>', 'of `connectors providers`'),
    {
      call: (client, options: Settings, slug) => client.connectors.check.mutate(created(options, slug)),
      show: ({ data }) => fields(data),
      isFailure: ({ data }) => !data.ok,
    },
  );
  remote(
    withSettings(inCollection(group.command('update')))
      .description('pause or resume it, or change its scope, schedule or credential')
      .argument(connector)
      .option('--status <status>', 'active or paused'),
    {
      call: (client, options: Settings & { status?: 'active' | 'paused' }, id) =>
        client.connectors.update.mutate({
          ...connectorRef(options, id),
          ...changesOf(options),
          ...(options.status === undefined ? {} : { status: options.status }),
        }),
      show,
    },
  );
  remote(
    inCollection(group.command('delete').description('with its documents').argument(connector)).option(
      '--retain-documents',
      'they stay as documents of the collection',
    ),
    {
      call: (client, options: InCollection & { retainDocuments?: boolean }, id) =>
        client.connectors.delete.mutate({
          ...connectorRef(options, id),
          retain_documents: options.retainDocuments === true,
        }),
      show,
    },
  );
  remote(
    inCollection(paged(group.command('documents')).description('as its runs have seen them'))
      .argument(connector)
      .option('--state <state>', 'stored, skipped or failed'),
    {
      call: (client, options: InCollection & PageOptions & { state?: State }, id) =>
        client.connectors.documents.query({
          ...connectorRef(options, id),
          ...pageInput(options),
          ...(options.state === undefined ? {} : { state: options.state }),
        }),
      show: ({ data, meta }) =>
        withNext(
          table(data, {
            document: (row) => row.document_id,
            name: (row) => row.name,
            state: (row) => row.state,
            why: (row) => row.error_code,
            version: (row) => row.version,
            bytes: (row) => row.byte_size,
            changed: (row) => row.updated_at,
          }),
          meta,
        ),
    },
  );
  addSourceConnections(group);
  addRuns(group);
}

interface Filter {
  status?: Outputs['connectors']['get']['data']['status'];
}
type State = Outputs['connectors']['documents']['data'][number]['state'];

function withSettings(command: Command): Command {
  return command
    .option('--scope <json>', 'what it reads, as JSON, or @ and the path of a file')
    .option('--credential-id <id>', 'a stored credential')
    .option('--client-credential-id <id>', 'of the vendor’s app: `connect` connects an account with it')
    .addOption(
      new Option('--every <minutes>', 'when it runs').argParser(minutesOf).conflicts(['cron', 'manual']),
    )
    .addOption(new Option('--cron <expression>', 'when it runs, in five fields').conflicts('manual'))
    .addOption(
      new Option('--timezone <name>', 'of --cron, UTC when not given').conflicts(['every', 'manual']),
    )
    .option('--manual', 'it runs on request only');
}

function minutesOf(given: string): number {
  if (!/^[0-9]{1,9}$/.test(given)) {
    throw new InvalidArgumentError('It is a number of minutes.');
  }
  return Number(given);
}

function created(options: Settings, slug: string): Inputs['connectors']['create'] {
  return {
    space_id: options.space,
    collection_id: options.collection,
    provider_slug: slug,
    scope_config: {},
    ...changesOf(options),
  };
}

function changesOf(options: Settings) {
  const { scope, credentialId, clientCredentialId } = options;
  const schedule = scheduleOf(options);
  return {
    ...(scope === undefined ? {} : { scope_config: readScope(scope) }),
    ...(credentialId === undefined ? {} : { credential_id: credentialId }),
    ...(clientCredentialId === undefined ? {} : { client_credential_id: clientCredentialId }),
    ...(schedule === undefined ? {} : { sync_schedule: schedule }),
  };
}

function scheduleOf({ every, cron, timezone, manual }: Settings): Schedule | undefined {
  if (every !== undefined) {
    return { type: 'interval', minutes: every };
  }
  if (cron !== undefined) {
    return { type: 'cron', expression: cron, timezone: timezone ?? 'UTC' };
  }
  if (timezone !== undefined) {
    throw new Error('--timezone is that of --cron, which is missing.');
  }
  return manual === true ? { type: 'manual' } : undefined;
}

function readScope(given: string): Record<string, unknown> {
  const text = given.startsWith('@') ? readFileSync(given.slice(1), 'utf8') : given;
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    throw new Error('The scope is no JSON.');
  }
}

function show({ data: { next_runs: next, ...record } }: Outputs['connectors']['get']): string {
  return fields({ ...record, next_runs: next.join(', ') || null });
}
