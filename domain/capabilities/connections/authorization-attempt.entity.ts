import { defineEntity } from '@mikro-orm/core';
import type { FieldPlace } from '#domain/foundation/secrets/field-place.ts';
import type { AuthorizationTarget } from './authorization-servers.ts';

/**
 * `begun`: its address was given out; `opened`: a browser shows the question; `continued`: the browser was sent to the
 * authorization server; `returned`: it brought a code back, which waits for the initiator; `exchanging`: the initiator
 * has claimed the code, and nothing else ends the attempt until its tokens are stored.
 */
export type AttemptStage = 'begun' | 'opened' | 'continued' | 'returned' | 'exchanging' | 'ended';

const schema = defineEntity({
  name: 'AuthorizationAttempt',
  tableName: 'authorization_attempts',
  properties: (p) => ({
    tenantId: p.uuid().primary(),
    id: p.uuid().primary(),
    serverId: p.uuid().nullable(),
    connectorId: p.uuid().nullable(),
    spaceId: p.uuid(),
    initiatorId: p.uuid(),
    sessionId: p.uuid().nullable(),
    apiKeyId: p.uuid().nullable(),
    ownerId: p.uuid().nullable(),
    redirectUri: p.text(),
    callbackUri: p.text(),
    issuer: p.text(),
    target: p.json<AuthorizationTarget>(),
    scope: p.text().nullable(),
    clientId: p.uuid().nullable(),
    clientCredentialId: p.uuid().nullable(),
    nonceHash: p.text(),
    cookieHash: p.text().nullable(),
    stateHash: p.text().nullable(),
    handleHash: p.text().nullable(),
    /** Sealed, like the code; see `attemptPlace`. */
    verifier: p.text().nullable(),
    code: p.text().nullable(),
    codeIssuer: p.text().nullable(),
    stage: p.text().$type<AttemptStage>().default('begun'),
    endReason: p.text().nullable(),
    expiresAt: p.datetime(),
    handleExpiresAt: p.datetime().nullable(),
    createdAt: p.datetime().defaultRaw('now()'),
  }),
});

/** One run of the popup in which a person authorizes this platform at a tool server or a source. */
export class AuthorizationAttempt extends schema.class {}
schema.setClass(AuthorizationAttempt);

export function attemptPlace(
  { tenantId, id }: { tenantId: string; id: string },
  column: 'verifier' | 'code',
): FieldPlace {
  return { tenantId, table: 'authorization_attempts', column, row: id };
}
