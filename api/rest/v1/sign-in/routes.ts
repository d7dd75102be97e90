import '#api/plugins/route-config.ts';
import cookie from '@fastify/cookie';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { ZodTypeProvider } from '@fastify/type-provider-zod';
import type { GatewayDependencies } from '#api/compose.ts';
import { errorResponses } from '#api/contract/common.ts';
import * as contract from '#api/contract/sign-in.ts';
import type { SignInLimits } from '#api/limits/sign-in-limits.ts';
import { presentOpened } from '#api/present/sign-in.ts';
import { fingerprintOf } from '#domain/foundation/idempotency/idempotency.ts';
import { finishCallback } from '#domain/identity/sign-in/finish-callback.ts';
import { redeemHandle } from '#domain/identity/sign-in/redeem-handle.ts';
import { redeemIdToken } from '#domain/identity/sign-in/redeem-id-token.ts';
import { startLogin } from '#domain/identity/sign-in/start-login.ts';
import {
  deviceCookie,
  disableCaching,
  loginCookie,
  setDeviceCookie,
  setLoginCookie,
} from './login-cookie.ts';

const tags = ['Sign-in'];
const anonymous = 'nobody has signed in yet';
/** Recorded where the provider's settings admit new users. */
const newcomer = 'security.principal_created';
const failures = ['security.login_failed', 'security.identity_provider_unconfirmed'] as const;
const base = '/auth/oidc/:provider_id';
/**
 * The day of the first release, in the format of RFC 9745. The callback per provider was deprecated from the start: it
 * exists only for redirect addresses that clients have registered at their providers.
 */
const deprecatedSince = '@1795219200';

/** The public address for browsers, independent of the Host header. */
export function publicUrl({ PUBLIC_URL, PORT }: GatewayDependencies['config']): string {
  return PUBLIC_URL ?? `http://127.0.0.1:${PORT}`;
}

export const wantsPage = ({ headers }: FastifyRequest): boolean =>
  headers.accept?.includes('text/html') === true;

export function signInRoutes(deps: GatewayDependencies, limits: SignInLimits) {
  return async (instance: FastifyInstance): Promise<void> => {
    await instance.register(cookie);
    const app = instance.withTypeProvider<ZodTypeProvider>();
    const here = publicUrl(deps.config);
    app.addHook('onRequest', async (_request, reply) => disableCaching(reply));

    app.get(
      `${base}/start`,
      {
        config: { public: anonymous, audit: { none: 'a started sign-in is not audited' } },
        schema: {
          tags,
          operationId: 'startLogin',
          summary: 'Begin a sign-in',
          description:
            'Returns the address of the provider’s login page and sets the cookie that binds the sign-in to this browser. A browser that accepts text/html is redirected there.',
          params: contract.loginParams,
          querystring: contract.startQuery,
          headers: contract.startHeaders,
          security: [],
          response: { 200: contract.startedLogin, 303: contract.startedLogin, ...errorResponses },
        },
      },
      async (request, reply) => {
        limits.start(request.ip);
        const prefix = request.url.slice(0, request.url.indexOf('/v1/'));
        const { redirectUrl, cookie: value } = await startLogin(deps, {
          provider: request.params.provider_id,
          tenant: request.query.tenant ?? request.headers['x-tenant-id'] ?? null,
          frontendRedirectUri: request.query.frontend_redirect_uri ?? null,
          callbackUri: (provider) => `${here}${prefix}/v1/auth/oidc/${provider}/callback`,
        });
        setLoginCookie(reply, value);
        if (wantsPage(request)) {
          return reply.redirect(redirectUrl, 303);
        }
        return { data: { redirect_url: redirectUrl } };
      },
    );

    app.get(
      `${base}/callback`,
      {
        onRequest: async (_request, reply) => void reply.header('Deprecation', deprecatedSince),
        config: { public: anonymous, audit: [newcomer, ...failures] },
        schema: {
          tags,
          operationId: 'finishLogin',
          deprecated: true,
          summary: 'Receive the provider’s redirect',
          description:
            'The session_id in the address is a one-time handle for POST /v1/auth/oidc/session, valid for a minute and for the browser that began the sign-in. A browser that accepts text/html is redirected to the address.',
          params: contract.callbackParams,
          querystring: contract.callbackQuery,
          security: [],
          response: { 200: contract.finishedCallback, 303: contract.finishedCallback, ...errorResponses },
        },
      },
      async (request, reply) => {
        const { query, params } = request;
        const redirectUrl = await finishCallback(deps, {
          provider: params.provider_id,
          url: `${here}${request.url}`,
          code: query.code ?? null,
          state: query.state ?? null,
          issuer: query.iss ?? null,
          error: query.error ?? null,
          frontendRedirectUri: query.frontend_redirect_uri ?? null,
          cookie: loginCookie(request),
          requestId: request.id,
        });
        if (wantsPage(request)) {
          return reply.redirect(redirectUrl, 303);
        }
        return { redirect_url: redirectUrl };
      },
    );

    app.post(
      '/auth/oidc/session',
      {
        config: {
          public: anonymous,
          audit: ['security.login_succeeded', newcomer, ...failures],
        },
        schema: {
          tags,
          operationId: 'createSession',
          summary: 'Finish a sign-in',
          description: 'Takes an ID token of the provider, or the one-time handle of the callback.',
          headers: contract.sessionHeaders,
          body: contract.sessionBody,
          security: [],
          response: { 200: contract.openedSession, ...errorResponses },
        },
      },
      async (request, reply) => {
        const { body, headers } = request;
        const expiresIn = body.expires_in ?? null;
        const { id_token: idToken, handle } = body;
        const device = deviceCookie(request);
        if (handle !== undefined) {
          const opened = await request.asAttempt(handle.slice(0, 11), () =>
            redeemHandle(deps, {
              provider: body.provider_id ?? null,
              handle,
              cookie: loginCookie(request),
              expiresIn,
              device,
              requestId: request.id,
            }),
          );
          setDeviceCookie(reply, device);
          return presentOpened(opened);
        }
        const key = headers['idempotency-key'];
        // Limited by the sign-in's nonce: other users of the same address are not blocked.
        const nonce = deps.oidc.peekNonce(idToken ?? '') ?? '';
        const { replayed, ...opened } = await request.asAttempt(nonce.slice(0, 11), () =>
          redeemIdToken(deps, {
            provider: body.provider_id ?? '',
            idToken: idToken ?? '',
            accessToken: body.access_token ?? null,
            expiresIn,
            idempotency: key === undefined ? null : { key, fingerprint: fingerprintOf(body) },
            device,
            requestId: request.id,
          }),
        );
        setDeviceCookie(reply, device);
        if (replayed) {
          reply.header('Idempotent-Replayed', 'true');
        }
        return presentOpened(opened);
      },
    );
  };
}
