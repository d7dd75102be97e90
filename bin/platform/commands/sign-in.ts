import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import type { Provisioning, SigningAlg } from '#domain/identity/identity-providers/provider-settings.ts';
import type { Outputs } from '../connect.ts';
import { fields, table } from '../print.ts';
import { paged, pageInput, remote, withNext, type PageOptions } from '../remote.ts';

export function addSessions(program: Command): void {
  const group = program.command('sessions').description('who is signed in');

  const show = ({ data, meta }: Outputs['sessions']['list']): string =>
    withNext(
      table(data, {
        id: (row) => row.session_id,
        principal: (row) => row.principal_id,
        status: (row) => row.status,
        reason: (row) => row.end_reason,
        used: (row) => row.last_used_at,
        expires: (row) => row.expires_at,
      }),
      meta,
    );

  remote(
    paged(group.command('list').description('sessions, newest first')).option(
      '--principal <id>',
      'only of this user',
    ),
    {
      call: (client, { principal, ...page }: PageOptions & { principal?: string }) =>
        client.sessions.list.query({
          ...pageInput(page),
          ...(principal === undefined ? {} : { principal_id: principal }),
        }),
      show,
    },
  );
  remote(paged(group.command('own').description('one’s own sessions, newest first')), {
    call: (client, page: PageOptions) => client.sessions.own.query(pageInput(page)),
    show,
  });
  remote(
    group.command('revoke').description('end a session for the very next request').argument('<session_id>'),
    {
      call: (client, _options, id) => client.sessions.revoke.mutate({ session_id: id }),
      show: ({ data }) => fields({ session_id: data.session_id, ended_at: data.ended_at }),
    },
  );
}

interface Settings {
  name?: string;
  clientId?: string;
  secretFile?: string;
  alg?: SigningAlg;
  audience?: string[];
  redirect?: string[];
  provisioning?: Provisioning;
  strictRotation?: boolean;
}

interface NewProvider extends Settings {
  name: string;
  clientId: string;
  issuer: string;
}

const provider = '<identity_provider_id>';

const settings = (command: Command): Command =>
  command
    .option('--secret-file <path>', 'a file with the client’s secret')
    .option('--alg <algorithm>', 'the one that its ID tokens are signed with')
    .option('--audience <name...>', 'audiences that they may name beside the client')
    .option('--redirect <url...>', 'where a finished sign-in may lead; the first is the default')
    .option('--provisioning <how>', 'automatic: everybody becomes a member; known: only linked identities');

/** The result; the secret never appears in a command line. */
function given(options: Settings) {
  const { secretFile, alg, audience, redirect, provisioning, strictRotation } = options;
  return {
    ...(secretFile === undefined ? {} : { client_secret: readFileSync(secretFile, 'utf8').trim() }),
    ...(alg === undefined ? {} : { signing_alg: alg }),
    ...(audience === undefined ? {} : { extra_audiences: audience }),
    ...(redirect === undefined ? {} : { redirect_uris: redirect }),
    ...(provisioning === undefined ? {} : { provisioning }),
    ...(strictRotation === undefined ? {} : { strict_rotation: strictRotation }),
  };
}

export function addIdentityProviders(program: Command): void {
  const group = program
    .command('identity-providers')
    .description('OpenID providers that the tenant’s people sign in with');

  remote(paged(group.command('list').description('identity providers, newest first')), {
    call: (client, options: PageOptions) => client.identityProviders.list.query(pageInput(options)),
    show: ({ data, meta }) =>
      withNext(
        table(data, {
          id: (row) => row.id,
          slug: (row) => row.slug,
          issuer: (row) => row.issuer,
          provisioning: (row) => row.provisioning,
          status: (row) => row.status,
        }),
        meta,
      ),
  });
  remote(group.command('get').description('one provider').argument(provider), {
    call: (client, _options, id) => client.identityProviders.get.query({ identity_provider_id: id }),
    show: ({ data }) => fields(data),
  });
  remote(
    settings(
      group
        .command('add')
        .description('let people sign in with a provider')
        .argument('<slug>', 'its short name in addresses')
        .requiredOption('--name <name>', 'for people')
        .requiredOption('--issuer <url>', 'exactly as its ID tokens say it')
        .requiredOption('--client-id <id>', 'of the registration there'),
    ).option('--strict-rotation', 'retire each refresh token by its own use'),
    {
      call: (client, options: NewProvider, slug) =>
        client.identityProviders.add.mutate({
          slug,
          display_name: options.name,
          issuer: options.issuer,
          client_id: options.clientId,
          ...given(options),
        }),
      show: ({ data }) => fields(data),
    },
  );
  remote(
    settings(
      group
        .command('update')
        .description('change what is given; disabling ends the sessions that came of it')
        .argument(provider)
        .option('--name <name>', 'for people')
        .option('--client-id <id>', 'of the registration there'),
    )
      .option('--strict-rotation', 'retire each refresh token by its own use')
      .option('--no-strict-rotation', 'retire each by the use of its successor')
      .option('--enabled', 'people may sign in with it')
      .option('--no-enabled', 'nobody may'),
    {
      call: (client, options: Settings & { enabled?: boolean }, id) =>
        client.identityProviders.update.mutate({
          identity_provider_id: id,
          ...(options.name === undefined ? {} : { display_name: options.name }),
          ...(options.clientId === undefined ? {} : { client_id: options.clientId }),
          ...(options.enabled === undefined ? {} : { status: options.enabled ? 'active' : 'disabled' }),
          ...given(options),
        }),
      show: ({ data }) => fields(data),
    },
  );
  remote(
    group
      .command('link')
      .description('say which user a subject of the provider is')
      .argument(provider)
      .requiredOption('--principal <id>', 'the user')
      .requiredOption('--subject <sub>', 'as its ID tokens name them'),
    {
      call: (client, { principal, subject }: { principal: string; subject: string }, id) =>
        client.identityProviders.link.mutate({ identity_provider_id: id, principal_id: principal, subject }),
      show: ({ data }) => fields(data),
    },
  );
}
