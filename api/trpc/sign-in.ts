import { identityEnvelope, providerEnvelope, providerPage } from '#api/contract/identity-providers.ts';
import * as inputs from '#api/contract/sign-in-procedures.ts';
import { sessionEnvelope, sessionPage } from '#api/contract/sessions.ts';
import { presentProvider } from '#api/present/identity-providers.ts';
import { toPage } from '#api/present/page.ts';
import { presentSession } from '#api/present/sessions.ts';
import { registerProvider } from '#domain/identity/identity-providers/add-provider.ts';
import { linkIdentity } from '#domain/identity/identity-providers/link-identity.ts';
import { listProviders, readProvider } from '#domain/identity/identity-providers/read-providers.ts';
import { updateProvider } from '#domain/identity/identity-providers/update-provider.ts';
import { listOwnSessions, listSessions } from '#domain/identity/sessions/list-sessions.ts';
import { revokeSession, signOut } from '#domain/identity/sessions/revoke-session.ts';
import { toChanges, toNewProvider } from '../rest/v1/identity-providers/settings.ts';
import { procedure, reads, router } from './trpc.ts';

const manages = {
  permission: 'identity_providers.manage',
  audit: ['security.identity_provider_changed'],
} as const;

export const sessions = router({
  list: procedure({ permission: 'sessions.read', audit: reads })
    .input(inputs.listSessionsInput)
    .output(sessionPage)
    .query(async ({ ctx: { request }, input: { limit, cursor, principal_id: principalId } }) => {
      const page = await request.inContext(null, (ctx) =>
        listSessions(ctx, { limit, cursor: cursor ?? null, principalId: principalId ?? null }),
      );
      return toPage({ ...page, items: page.items.map(presentSession(request.identity)) });
    }),

  own: procedure({ own: 'the caller’s own sessions', audit: reads })
    .input(inputs.listOwnSessionsInput)
    .output(sessionPage)
    .query(async ({ ctx: { request }, input: { limit, cursor } }) => {
      const page = await request.inContext(null, (ctx) =>
        listOwnSessions(ctx, { limit, cursor: cursor ?? null }),
      );
      return toPage({ ...page, items: page.items.map(presentSession(request.identity)) });
    }),

  revoke: procedure({
    permission: 'sessions.revoke',
    own: 'the caller’s own session',
    audit: ['security.session_revoked'],
  })
    .input(inputs.revokeSessionInput)
    .output(sessionEnvelope)
    .mutation(async ({ ctx: { request }, input: { session_id: sessionId } }) => ({
      data: presentSession(request.identity)(
        await request.inContext(null, (ctx) => revokeSession(ctx, { sessionId })),
      ),
    })),

  /** Ends the session of the presented access token. */
  signOut: procedure({ own: 'the caller’s own session', audit: ['security.logout'] })
    .input(inputs.signOutInput)
    .output(sessionEnvelope)
    .mutation(async ({ ctx: { request } }) => ({
      data: presentSession(request.identity)(await request.inContext(null, signOut)),
    })),
});

export const identityProviders = router({
  list: procedure({ permission: 'identity_providers.read', audit: reads })
    .input(inputs.listProvidersInput)
    .output(providerPage)
    .query(async ({ ctx: { request }, input: { limit, cursor } }) => {
      const page = await request.inContext(null, (ctx) =>
        listProviders(ctx, { limit, cursor: cursor ?? null }),
      );
      return toPage({ ...page, items: page.items.map(presentProvider) });
    }),

  get: procedure({ permission: 'identity_providers.read', audit: reads })
    .input(inputs.providerInput)
    .output(providerEnvelope)
    .query(async ({ ctx: { request }, input: { identity_provider_id: providerId } }) => ({
      data: presentProvider(await request.inContext(null, (ctx) => readProvider(ctx, { providerId }))),
    })),

  add: procedure(manages)
    .input(inputs.addProviderInput)
    .output(providerEnvelope)
    .mutation(async ({ ctx: { request }, input }) => {
      const { provider } = await request.inContext(null, (ctx) =>
        registerProvider(ctx, { ...toNewProvider(input), idempotency: null }),
      );
      return { data: presentProvider(provider) };
    }),

  update: procedure(manages)
    .input(inputs.updateProviderInput)
    .output(providerEnvelope)
    .mutation(async ({ ctx: { request }, input: { identity_provider_id: providerId, ...changes } }) => ({
      data: presentProvider(
        await request.inContext(null, (ctx) => updateProvider(ctx, { providerId, ...toChanges(changes) })),
      ),
    })),

  link: procedure(manages)
    .input(inputs.linkIdentityInput)
    .output(identityEnvelope)
    .mutation(async ({ ctx: { request }, input }) => {
      const { identity_provider_id: providerId, principal_id: principalId, subject } = input;
      await request.inContext(null, (ctx) => linkIdentity(ctx, { providerId, principalId, subject }));
      return { data: input };
    }),
});
