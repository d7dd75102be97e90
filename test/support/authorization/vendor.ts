import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
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
  const value = source.credential?.value;
  const known = value?.kind === 'bearer' ? value.token : '';
  const serve = async (request: IncomingMessage, response: ServerResponse) => {
    const [, token = ''] = (request.headers.authorization ?? '').split(' ');
    const at = request.url ?? '/';
    await vendor.before?.(at);
    const isValid = token !== '' && (await vendor.authorization.find(token)) !== null;
    if (isValid) vendor.asked.push(at);
    else vendor.refused += 1;
    const headers = { authorization: isValid ? `Bearer ${known}` : 'Bearer none', accept: '*/*' };
    const answer = await fetch(source.origin + at, { method: request.method ?? 'GET', headers });
    response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? 'text/plain' });
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
