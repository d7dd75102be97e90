import cookie from '@fastify/cookie';
import { createHash } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { redeemHandle } from '#domain/identity/sign-in/redeem-handle.ts';
import { DomainError } from '#domain/foundation/kernel/errors.ts';
import type { GatewayDependencies } from '../compose.ts';
import {
  deviceCookie,
  disableCaching,
  loginCookie,
  setDeviceCookie,
} from '../rest/v1/sign-in/login-cookie.ts';
import { publicUrl } from '../rest/v1/sign-in/routes.ts';

const style =
  'body{font:16px/1.5 system-ui;max-width:44rem;margin:3rem auto;padding:0 1rem}pre{overflow-wrap:anywhere;white-space:pre-wrap;background:#eee;padding:1rem}';
const styleHash = createHash('sha256').update(style).digest('base64');

/** Landing page of the demo's sign-in: redeems the handle as a frontend would, and shows how to use the tokens. */
export function signedInPage(deps: GatewayDependencies) {
  return async (instance: FastifyInstance): Promise<void> => {
    await instance.register(cookie);
    instance.get(
      '/signed-in',
      { config: { public: 'the handle is the credential' } },
      async (request, reply) => {
        disableCaching(reply);
        reply
          .type('text/html; charset=utf-8')
          .header(
            'Content-Security-Policy',
            `default-src 'none'; style-src 'sha256-${styleHash}'; frame-ancestors 'none'`,
          );
        const { session_id: handle } = request.query as { session_id?: unknown };
        const device = deviceCookie(request);
        try {
          const { sessionId, expiresAt, tokens } = await redeemHandle(deps, {
            provider: null,
            handle: typeof handle === 'string' ? handle : '',
            cookie: loginCookie(request),
            expiresIn: null,
            device,
            requestId: request.id,
          });
          setDeviceCookie(reply, device);
          const api = `${publicUrl(deps.config)}/api`;
          return page('Signed in', [
            `<p>Session <code id="session">${sessionId}</code> until ${expiresAt.toISOString()}.</p>`,
            '<p>Call the API, for ten minutes:</p>',
            `<pre id="call">curl ${api}/v1/sessions -H 'Authorization: Bearer ${tokens.accessToken}'</pre>`,
            '<p>Renew the access token:</p>',
            `<pre id="refresh">curl -X POST ${api}/v1/refresh -H 'Authorization: Bearer ${tokens.refreshToken}'</pre>`,
            '<p>Sign out:</p>',
            `<pre id="logout">curl -X POST ${api}/v1/auth/logout -H 'Authorization: Bearer ${tokens.accessToken}'</pre>`,
          ]);
        } catch (error) {
          if (!(error instanceof DomainError)) {
            throw error;
          }
          reply.status(401);
          return page('Not signed in', [
            '<p>This sign-in is over: each works once, for a minute, in the browser that began it.</p>',
          ]);
        }
      },
    );
  };
}

function page(title: string, body: string[]): string {
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${title}</title><style>${style}</style></head><body><h1>${title}</h1>${body.join('')}</body></html>`;
}
