import { validateAuthorizationResponseIssuer } from '@modelcontextprotocol/client';
import {
  AuthorizationFailure,
  discoveryMs,
  requestMs,
  type AuthorizationServers,
  type AuthorizationTarget,
} from '#domain/capabilities/connections/authorization-servers.ts';
import type { AnswerShares } from '../egress/answer-shares.ts';
import { boundedFetch, type BoundedFetchOptions } from '../egress/bounded-fetch.ts';
import { begin } from './begin-authorization.ts';
import { dialectOf, type Dialects } from './dialect.ts';
import { discoverTarget } from './discover.ts';
import { createDpopKey, DpopSessions } from './dpop-sessions.ts';
import { withFailures } from './failures.ts';
import { register } from './register-client.ts';
import { revokeToken } from './revoke-token.ts';
import { metadataOf } from './server-metadata.ts';
import { clientTokens, exchangeCode, refreshTokens } from './token-requests.ts';
import { newWire, type Wire } from './wire.ts';

export interface AuthorizationServersOptions extends BoundedFetchOptions {
  shares?: AnswerShares;
  /** Of the providers of sources; omitted: every server follows the standards. */
  dialects?: Dialects;
}

/** Joins the OAuth functions of the client packages behind the guarded, bounded fetch. */
export function createAuthorizationServers(options: AuthorizationServersOptions): AuthorizationServers {
  const sessions = new DpopSessions();
  const speaks = (target: AuthorizationTarget) => dialectOf(options.dialects ?? new Map(), target);
  const within = <T>(
    { tenantId }: { tenantId: string },
    { signal, ms }: { signal: AbortSignal; ms: number },
    work: (wire: Wire) => Promise<T>,
  ): Promise<T> => {
    const bounded = boundedFetch('authorization_server', {
      ...options,
      share: options.shares?.of(tenantId),
    });
    const wire = newWire(bounded, AbortSignal.any([signal, AbortSignal.timeout(ms)]));
    return withFailures(wire, () => work(wire));
  };
  return {
    discover: (resource, signal) =>
      within(resource, { signal, ms: discoveryMs }, (wire) => discoverTarget(resource, wire)),
    register: (target, client, signal) =>
      within(target, { signal, ms: requestMs }, (wire) => register(target, client, wire)),
    begin: (request) => begin(request, speaks(request.target)),
    createDpopKey: ({ dpopAlg }) => (dpopAlg === null ? Promise.resolve(null) : createDpopKey(dpopAlg)),
    checkIssuer: (target, iss) => {
      try {
        validateAuthorizationResponseIssuer({
          iss: iss ?? undefined,
          expectedIssuer: target.issuer,
          issParameterSupported: metadataOf(target).authorization_response_iss_parameter_supported === true,
        });
      } catch {
        throw new AuthorizationFailure('issuer_mismatch', { sent: false });
      }
    },
    exchange: (grant, code, signal) =>
      within(grant.target, { signal, ms: requestMs }, (wire) =>
        exchangeCode({ grant, wire, sessions, dialect: speaks(grant.target) }, code),
      ),
    refresh: (grant, refreshToken, signal) =>
      within(grant.target, { signal, ms: requestMs }, (wire) =>
        refreshTokens({ grant, wire, sessions, dialect: speaks(grant.target) }, refreshToken),
      ),
    clientCredentials: (grant, scope, signal) =>
      within(grant.target, { signal, ms: requestMs }, (wire) =>
        clientTokens({ grant, wire, sessions, dialect: speaks(grant.target) }, scope),
      ),
    revoke: (grant, token, signal) =>
      within(grant.target, { signal, ms: requestMs }, (wire) =>
        revokeToken({ grant, wire, dialect: speaks(grant.target) }, token),
      ),
  };
}
