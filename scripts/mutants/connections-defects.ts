import type { Defect } from './defect.ts';

const popup = 'test/api/connections.test.ts';
const refresh = 'test/domain/capabilities/connections/refresh.test.ts';

/** In whose account is connected to whom, and in the refresh of its tokens. */
export const connectionsDefects: readonly Defect[] = [
  {
    name: 'a connection completed by another principal',
    file: 'domain/capabilities/connections/complete-authorization.ts',
    replace: [
      ['    initiatorId: caller.principalId,\n', ''],
      ['    apiKeyId: caller.apiKeyId,\n', ''],
    ],
    test: popup,
    caughtBy: 'it is for the initiator and its key alone',
  },
  {
    name: 'a connection completed with another key of the initiator',
    file: 'domain/capabilities/connections/complete-authorization.ts',
    replace: [['    apiKeyId: caller.apiKeyId,\n', '']],
    test: popup,
    caughtBy: 'it is for the initiator and its key alone',
  },
  {
    name: 'a connection handle that does not expire',
    file: 'domain/capabilities/connections/complete-authorization.ts',
    replace: [['    handleExpiresAt: { $gt: now },\n', '']],
    test: popup,
    caughtBy: 'a handle that is older than a minute',
  },
  {
    name: 'a connection state taken from another browser',
    file: 'domain/capabilities/connections/finish-popup.ts',
    replace: [["      cookieHash: hashFor(parts.secrets, 'cookie', cookie),\n", '']],
    test: popup,
    caughtBy: 'a state that comes back to another browser',
  },
  {
    name: 'a connection nonce opened by another browser',
    file: 'domain/capabilities/connections/open-popup.ts',
    replace: [["    cookieHash: hashFor(secrets, 'cookie', cookie),\n", '']],
    test: popup,
    caughtBy: 'a nonce that another browser has opened',
  },
  {
    name: 'a connection redirect compared by its prefix',
    file: 'domain/capabilities/connections/begin-authorization.ts',
    replace: [
      [
        '!settings.redirectUris.includes(redirectUri)',
        '!settings.redirectUris.some((each) => redirectUri.startsWith(each))',
      ],
    ],
    test: popup,
    caughtBy: 'for other redirect addresses',
  },
  {
    name: 'a connection callback of another issuer',
    file: 'domain/capabilities/connections/finish-popup.ts',
    replace: [['    authorizationServers.checkIssuer(target, issuer);\n', '']],
    test: popup,
    caughtBy: 'the answer of another issuer',
  },
  {
    name: 'a connection client sent to another authorization server',
    file: 'domain/capabilities/connections/open-client.ts',
    replace: [[" || value.token_url !== metadata['token_endpoint']", '']],
    test: popup,
    caughtBy: 'uses a stored client at its own authorization server alone',
  },
  {
    name: 'a connection of one person used for another',
    file: 'domain/capabilities/connections/find-connection.ts',
    replace: [['{ serverId, ownerId, withdrawnAt: null }', '{ serverId, withdrawnAt: null }']],
    test: refresh,
    caughtBy: 'is of its owner alone',
  },
  {
    name: 'a connection refreshed without its lease',
    file: 'domain/capabilities/connection-tokens/refresh-lease.ts',
    replace: [
      [', $or: free', ''],
      ['if (isSeen && isHeld(connection, nonce, now)) {', 'if (false) {'],
    ],
    test: refresh,
    caughtBy: 'is refreshed once by many callers',
  },
  {
    name: 'a withdrawn connection refreshed back',
    file: 'domain/capabilities/connection-tokens/save-refreshed.ts',
    replace: [
      ['connection === null || connection.withdrawnAt != null', 'connection === null'],
      ['connection.generation !== generation', 'false'],
    ],
    test: refresh,
    caughtBy: 'does not bring back a connection',
  },
  {
    name: 'a rotation lost while the database is unavailable for a moment',
    file: 'domain/capabilities/connection-tokens/save-refreshed.ts',
    replace: [['const patienceMs = 60_000;', 'const patienceMs = -1;']],
    test: refresh,
    caughtBy: 'is stored when the database comes back',
  },
  {
    name: 'one cookie for all popups of a browser',
    file: 'api/rest/v1/connections/popup-cookie.ts',
    replace: [['`__Host-mcp-auth-${attemptId}`', "attemptId && '__Host-mcp-auth-one'"]],
    test: popup,
    caughtBy: 'are open in one browser at once',
  },
  {
    name: 'an end of a popup that does not name its server',
    file: 'domain/capabilities/connections/popup-end.ts',
    replace: [['{ ...end, server_id: serverId }', '{ ...end, server_id: serverId && String() }']],
    test: popup,
    caughtBy: 'each end names its server',
  },
];
