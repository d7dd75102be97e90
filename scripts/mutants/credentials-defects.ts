import type { Defect } from './defect.ts';

const identity = 'test/activities/credential-identity.test.ts';

/** In what stored credentials are sent, to whom, and for whom. */
export const credentialsDefects: readonly Defect[] = [
  {
    name: 'a credential taken by another tenant’s id',
    file: 'domain/capabilities/credentials/usable-credential.ts',
    replace: [
      [
        "throw invalid('credential_id', 'credential_id names no credential that can be used here.');",
        'return;',
      ],
    ],
    test: 'test/api/credentials.test.ts',
    caughtBy: 'that could not be used is refused at its place',
  },
  {
    name: 'a credential of another space opened',
    file: 'domain/capabilities/credentials/open-credential.ts',
    replace: [['!(credential.spaceId == null || credential.spaceId === use.spaceId) ||', '']],
    test: 'test/domain/capabilities/credentials/open-credential.test.ts',
    caughtBy: 'opens in its space alone',
  },
  {
    name: 'a credential sent to another origin',
    file: 'domain/capabilities/credentials/open-credential.ts',
    replace: [['!isAtOrigin(credential.origin, use.url)', 'false']],
    test: 'test/domain/capabilities/credentials/open-credential.test.ts',
    caughtBy: 'opens for an address of its origin and for no other',
  },
  {
    name: 'tools cached without the identity',
    file: 'adapters/tools/mcp-client.ts',
    replace: [['const place = bindingOf(server, identity);', 'const place = server.url;']],
    test: identity,
    caughtBy: 'shows one space what is for each of its two credentials',
  },
  {
    name: 'tools cached without the version',
    file: 'adapters/tools/server-credential.ts',
    replace: [['identity: { version }', 'identity: {}']],
    test: identity,
    caughtBy: 'lists again for it',
  },
  {
    name: 'a token kept without the person',
    file: 'adapters/credentials/client-tokens.ts',
    replace: [
      [
        'return JSON.stringify([tenantId, spaceId, principalId, credentialId]);',
        'return JSON.stringify([tenantId, spaceId, credentialId]);',
      ],
    ],
    test: 'test/adapters/stored-credentials.test.ts',
    caughtBy: 'has a token for each tenant, space, person and credential',
  },
  {
    name: 'a client of a model kept without the identity',
    file: 'adapters/models/client-cache.ts',
    replace: [['connection.identity, ', '']],
    test: 'test/adapters/stored-model-keys.test.ts',
    caughtBy: 'sends each what is for it at one address',
  },
];
