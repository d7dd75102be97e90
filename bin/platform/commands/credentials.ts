import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import type { Client, Inputs, Outputs } from '../connect.ts';
import { inSpace, type InSpace } from '../in-space.ts';
import { fields, table } from '../print.ts';
import { paged, pageInput, remote, withNext, type PageOptions } from '../remote.ts';

type Credential = Outputs['tenantCredentials']['get'];
type Listed = Outputs['tenantCredentials']['list'];
type Created = Inputs['tenantCredentials']['create'];

interface Creation {
  kind: Created['kind'];
  origin: string;
  valueFile: string;
}

/** The calls of one of the two groups; options of a space's hold the space. */
interface Calls<Scope> {
  scoped: (command: Command) => Command;
  list(client: Client, scope: Scope & PageOptions): Promise<Listed>;
  get(client: Client, scope: Scope, id: string): Promise<Credential>;
  create(client: Client, scope: Scope, input: Created): Promise<Credential>;
  update(
    client: Client,
    scope: Scope,
    input: { credential_id: string; name?: string; value?: Created['value'] },
  ): Promise<Credential>;
  remove(client: Client, scope: Scope, id: string): Promise<{ data: object }>;
}

const id = '<credential_id>';
const fromFile = (command: Command): Command =>
  command.requiredOption(
    '--value-file <path>',
    'a file with the value, - for standard input: a token, or JSON with the members of its kind',
  );

export function addCredentials(program: Command): void {
  addGroup<InSpace>(
    program.command('credentials').description('secrets that a space has stored, each for one origin'),
    {
      scoped: inSpace,
      list: (client, { space, ...page }) =>
        client.credentials.list.query({ space_id: space, ...pageInput(page) }),
      get: (client, { space }, credential) =>
        client.credentials.get.query({ space_id: space, credential_id: credential }),
      create: (client, { space }, input) => client.credentials.create.mutate({ space_id: space, ...input }),
      update: (client, { space }, input) => client.credentials.update.mutate({ space_id: space, ...input }),
      remove: (client, { space }, credential) =>
        client.credentials.delete.mutate({ space_id: space, credential_id: credential }),
    },
  );
  addGroup<object>(
    program.command('tenant-credentials').description('secrets that the whole tenant has stored'),
    {
      scoped: (command) => command,
      list: (client, page) => client.tenantCredentials.list.query(pageInput(page)),
      get: (client, _scope, credential) => client.tenantCredentials.get.query({ credential_id: credential }),
      create: (client, _scope, input) => client.tenantCredentials.create.mutate(input),
      update: (client, _scope, input) => client.tenantCredentials.update.mutate(input),
      remove: (client, _scope, credential) =>
        client.tenantCredentials.delete.mutate({ credential_id: credential }),
    },
  );
}

function addGroup<Scope>(group: Command, calls: Calls<Scope>): void {
  const { scoped } = calls;
  remote(scoped(paged(group.command('list')).description('without their values, newest first')), {
    call: (client, options: Scope & PageOptions) => calls.list(client, options),
    show: ({ data, meta }) =>
      withNext(
        table(data, {
          id: (row) => row.id,
          name: (row) => row.name,
          kind: (row) => row.kind,
          origin: (row) => row.origin,
          rotated: (row) => row.rotated_at,
          used: (row) => row.last_used_at,
        }),
        meta,
      ),
  });
  remote(scoped(group.command('get').description('one, without its value').argument(id)), {
    call: (client, options: Scope, credential) => calls.get(client, options, credential),
    show,
  });
  remote(
    fromFile(scoped(group.command('create')))
      .description('store one; its value is never shown again')
      .argument('<name>')
      .requiredOption('--kind <kind>', 'bearer, header, basic, oauth2_client or access_key')
      .requiredOption(
        '--origin <origin>',
        'the only place that it is sent to, such as https://crm.example.com',
      ),
    {
      call: (client, options: Scope & Creation, name) => {
        const { kind, origin } = options;
        return calls.create(client, options, { name, kind, origin, value: readValue(options.valueFile) });
      },
      show,
    },
  );
  remote(
    fromFile(scoped(group.command('rotate')))
      .description('replace its value')
      .argument(id),
    {
      call: (client, options: Scope & Creation, credential) =>
        calls.update(client, options, { credential_id: credential, value: readValue(options.valueFile) }),
      show,
    },
  );
  remote(
    scoped(group.command('rename'))
      .description('give it another name')
      .argument(id)
      .requiredOption('--name <name>', 'for people'),
    {
      call: (client, options: Scope & { name: string }, credential) =>
        calls.update(client, options, { credential_id: credential, name: options.name }),
      show,
    },
  );
  remote(scoped(group.command('delete').description('delete one that nothing uses').argument(id)), {
    call: (client, options: Scope, credential) => calls.remove(client, options, credential),
    show: ({ data }) => fields(data),
  });
}

/** Never from an argument, which every list of processes shows. */
function readValue(path: string): Created['value'] {
  const text = readFileSync(path === '-' ? 0 : path, 'utf8').trim();
  if (!text.startsWith('{')) {
    return { token: text };
  }
  try {
    return JSON.parse(text) as Created['value'];
  } catch {
    // The parser's own words would quote the value.
    throw new Error('The value is no JSON.');
  }
}

function show({ data }: Credential): string {
  return fields(data);
}
