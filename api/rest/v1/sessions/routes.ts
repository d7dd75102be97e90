import '#api/plugins/route-config.ts';
import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from '@fastify/type-provider-zod';
import type { GatewayDependencies } from '#api/compose.ts';
import { errorResponses } from '#api/contract/common.ts';
import * as contract from '#api/contract/sessions.ts';
import { refreshedTokens } from '#api/contract/sign-in.ts';
import type { SignInLimits } from '#api/limits/sign-in-limits.ts';
import { toPage } from '#api/present/page.ts';
import { presentSession } from '#api/present/sessions.ts';
import { presentTokens } from '#api/present/sign-in.ts';
import { DomainError, invalidCredentials } from '#domain/foundation/kernel/errors.ts';
import { isToken } from '#domain/identity/sessions/bearer-token.ts';
import { listOwnSessions, listSessions } from '#domain/identity/sessions/list-sessions.ts';
import { refreshSession } from '#domain/identity/sessions/refresh-session.ts';
import { bearerOf, findToken } from '#domain/identity/sessions/resolve-token.ts';
import { revokeSession, signOut } from '#domain/identity/sessions/revoke-session.ts';

const tags = ['Sessions'];
const reads = { none: 'reads' };

export function sessionRoutes(deps: GatewayDependencies, limits: SignInLimits) {
  return async (instance: FastifyInstance): Promise<void> => {
    const app = instance.withTypeProvider<ZodTypeProvider>();

    app.post(
      '/refresh',
      {
        config: { public: 'its refresh token is the credential', audit: ['security.refresh_reuse_detected'] },
        schema: {
          tags,
          operationId: 'refreshSession',
          summary: 'Refresh an access token',
          description:
            'Takes the refresh token as a bearer token. It stays valid until the refresh token of the answer is first used; after many refreshes with one token the answer returns that token itself.',
          security: [{ bearer: [] }],
          response: { 200: refreshedTokens, ...errorResponses },
        },
      },
      async (request) => {
        const token = bearerOf(request.headers.authorization);
        limits.refreshFrom(request.ip);
        const tokens = await request.asAttempt(token.slice(0, 11), async () => {
          const found = isToken('rt', token) ? await findToken(deps, token) : null;
          if (found === null || found.kind !== 'refresh') {
            throw invalidCredentials();
          }
          const key = request.headers['x-api-key'];
          const other = typeof key === 'string' ? await request.prove(key) : null;
          const { tenant_id: tenantId, principal_id: principalId } = found;
          if (other !== null && (other.tenantId !== tenantId || other.principalId !== principalId)) {
            throw new DomainError(
              'ambiguous_credentials',
              'The two credentials belong to different principals.',
            );
          }
          request.identity = { tenantId, principalId, apiKeyId: null, keyPermissions: null };
          const tenant = request.headers['x-tenant-id'];
          if (tenant !== undefined && tenant !== tenantId) {
            throw new DomainError('tenant_mismatch', 'X-Tenant-Id is not the tenant of the credential.');
          }
          limits.refreshOf(found.session_id);
          return refreshSession(deps, found, { via: 'api', requestId: request.id });
        });
        return presentTokens(tokens);
      },
    );

    app.post(
      '/auth/logout',
      {
        config: { own: 'the caller’s own session', audit: ['security.logout'] },
        schema: {
          tags,
          operationId: 'signOut',
          summary: 'End the session of this access token',
          response: { 200: contract.sessionEnvelope, ...errorResponses },
        },
      },
      async (request) => ({
        data: presentSession(request.identity)(await request.inContext(null, signOut)),
      }),
    );

    app.get(
      '/sessions',
      {
        config: { own: 'the caller’s own sessions', audit: reads },
        schema: {
          tags,
          operationId: 'listOwnSessions',
          summary: 'List the caller’s sessions, newest first',
          querystring: contract.sessionListQuery,
          response: { 200: contract.sessionPage, ...errorResponses },
        },
      },
      async (request) => {
        const { limit, cursor } = request.query;
        const page = await request.inContext(null, (ctx) =>
          listOwnSessions(ctx, { limit, cursor: cursor ?? null }),
        );
        return toPage({ ...page, items: page.items.map(presentSession(request.identity)) });
      },
    );

    app.delete(
      '/sessions/:session_id',
      {
        config: {
          permission: 'sessions.revoke',
          own: 'the caller’s own session',
          audit: ['security.session_revoked'],
        },
        schema: {
          tags,
          operationId: 'revokeSession',
          summary: 'End a session, effective from the next request',
          description: 'The caller’s own session, or with `sessions.revoke` any session of the tenant.',
          params: contract.sessionParams,
          response: { 200: contract.sessionEnvelope, ...errorResponses },
        },
      },
      async (request) => {
        const { session_id: sessionId } = request.params;
        const session = await request.inContext(null, (ctx) => revokeSession(ctx, { sessionId }));
        return { data: presentSession(request.identity)(session) };
      },
    );

    app.get(
      '/admin/sessions',
      {
        config: { permission: 'sessions.read', audit: reads },
        schema: {
          tags,
          operationId: 'listSessions',
          summary: 'List the tenant’s sessions, newest first',
          querystring: contract.adminSessionQuery,
          response: { 200: contract.sessionPage, ...errorResponses },
        },
      },
      async (request) => {
        const { limit, cursor, principal_id: principalId } = request.query;
        const page = await request.inContext(null, (ctx) =>
          listSessions(ctx, { limit, cursor: cursor ?? null, principalId: principalId ?? null }),
        );
        return toPage({ ...page, items: page.items.map(presentSession(request.identity)) });
      },
    );
  };
}
