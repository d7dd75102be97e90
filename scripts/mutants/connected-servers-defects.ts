import type { Defect } from './defect.ts';

const api = 'test/api/connector-servers.test.ts';
const adapter = 'test/adapters/sources/mcp-connected.test.ts';
const servers = 'domain/capabilities/tools/space-server.ts';
const account = 'adapters/sources/connected-source.ts';

/** In connectors that read a connected tool server. */
export const connectedServersDefects: readonly Defect[] = [
  {
    name: 'a tool server of another space read by a connector',
    file: servers,
    replace: [['{ id, spaceId }, { lockMode', '{ id }, { lockMode']],
    test: api,
    caughtBy: 'needs a server of its own space',
  },
  {
    name: 'a tool server read for callers who may not have it called',
    file: servers,
    replace: [["  authorize(caller, 'tools.execute');\n", '']],
    test: api,
    caughtBy: 'is created and moved by those who may have the server called',
  },
  {
    name: 'accounts of people used by a connector',
    file: servers,
    replace: [["server.connectionMode === 'personal'", "server.connectionMode === 'none' && false"]],
    test: api,
    caughtBy: 'is refused in words',
  },
  {
    name: 'a tool server removed while it is named',
    file: servers,
    replace: [['at, LockMode.PESSIMISTIC_READ', 'at, LockMode.NONE']],
    test: api,
    caughtBy: 'that is being removed is read by nobody',
  },
  {
    name: 'connectors shown to those who may not read them',
    file: 'domain/capabilities/tools/remove-server.ts',
    replace: [["ctx.caller.granted.has('connectors.read') ? users : []", 'users']],
    test: api,
    caughtBy: 'is not removed, and names its connectors',
  },
  {
    name: 'the credential of a connected server left out',
    file: 'adapters/sources/create-source-providers.ts',
    replace: [
      ['server === null ? use.credentialId : (server.stored?.credentialId ?? null)', 'use.credentialId'],
    ],
    test: adapter,
    caughtBy: 'uses the stored credential of the server',
  },
  {
    name: 'a session that goes on with the token of its beginning',
    file: 'adapters/sources/mcp/session.ts',
    replace: [
      [
        '  readonly #access: SourceAccess;\n',
        '  readonly #access: SourceAccess;\n  #first: [string, string][] | null = null;\n',
      ],
      [
        'const headers = await this.#authorized(init?.headers);',
        'const headers = (this.#first ??= await this.#authorized(init?.headers));',
      ],
    ],
    test: adapter,
    caughtBy: 'goes on with a refreshed token in the middle of a session',
  },
  {
    name: 'scopes that a tool server asks for forgotten',
    file: account,
    replace: [['if (error instanceof ScopeRequired && refused !== null)', 'if (refused === undefined)']],
    test: adapter,
    caughtBy: 'for a lack of scopes',
  },
  {
    name: 'a watch that goes on at the address of before',
    file: 'domain/knowledge/connectors/watched-connector.ts',
    replace: [["s.url, s.status = 'disabled', ", '']],
    test: 'test/activities/connectors/watch-source.test.ts',
    caughtBy: 'begins again when its tool server has another address',
  },
  {
    name: 'connectors that wait for an account for ever',
    file: 'domain/knowledge/source-connections/lock-read-server.ts',
    replace: [['        await resumeConnector(ctx, connector);\n', '        void connector;\n']],
    test: 'test/e2e/connector-servers.test.ts',
    caughtBy: 'waits for the account, and goes on by itself',
  },
];
