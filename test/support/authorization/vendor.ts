import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { authorizationOf } from '#adapters/sources/shared/authorization.ts';
import type { CredentialValue } from '#domain/capabilities/credentials/credential-value.ts';
import { startAuthorizationServer, type AuthorizationServer } from './authorization-server.ts';
import type { AuthorizationServerOptions } from './authorization-server-options.ts';

/** A vendor with one origin: its authorization server, and its interface for the tokens of that. */
export interface Vendor {
  origin: string;
  authorization: AuthorizationServer;
  /** Paths of the interface that were asked with a valid token. */
  asked: string[];
  /** Requests of the interface that were refused. */
  refused: number;
  /** Set by a test: awaited before each request to the interface. */
  before: ((path: string) => Promise<void>) | null;
  stop(): Promise<void>;
}

/**
 * Puts a real authorization server before a source's stand-in, which speaks the wire format of the vendor and knows one
 * token: requests with a token that the authorization server has issued reach it with that one.
 */
export async function startVendor(
  source: { origin: string; credential: { value: CredentialValue } | null },
  { path, ...options }: AuthorizationServerOptions & { path: string },
): Promise<Vendor> {
  const known = await authorizationOf({
    credential: source.credential?.value ?? null,
    bearer: () => Promise.resolve(''),
  });
  const serve = async (request: IncomingMessage, response: ServerResponse) => {
    const [, token = ''] = (request.headers.authorization ?? '').split(' ');
    const at = request.url ?? '/';
    await vendor.before?.(at);
    const isValid = token !== '' && (await vendor.authorization.find(token)) !== null;
    if (isValid) vendor.asked.push(at);
    else vendor.refused += 1;
    const { method = 'GET', headers: sent } = request;
    const answer = await fetch(source.origin + at, {
      method,
      headers: {
        'content-type': sent['content-type'] ?? 'application/json',
        ...(isValid ? known : { authorization: 'Bearer none' }),
      },
      ...(method === 'POST' && { body: await text(request) }),
    });
    const kept = ['content-type', 'link', 'etag', 'date'].flatMap((name) => {
      const given = answer.headers.get(name);
      return given === null ? [] : [[name, given] as const];
    });
    response.writeHead(answer.status, Object.fromEntries(kept));
    response.end(Buffer.from(await answer.arrayBuffer()));
    await once(response, 'close');
  };
  const authorization = await startAuthorizationServer({
    ...options,
    registers: false,
    beside: {
      path,
      serve: (request, response) => void serve(request, response).catch(() => response.destroy()),
    },
  });
  const vendor: Vendor = {
    origin: new URL(authorization.issuer).origin,
    authorization,
    asked: [],
    refused: 0,
    before: null,
    stop: () => authorization.stop(),
  };
  return vendor;
}
