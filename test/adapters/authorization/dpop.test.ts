import { createServer } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DpopSessions } from '#adapters/authorization/dpop-sessions.ts';
import {
  startAuthorizationServer,
  type AuthorizationServer,
} from '../../support/authorization/authorization-server.ts';
import { startProtectedServer, type ProtectedServer } from '../../support/authorization/protected-server.ts';
import {
  connect,
  discoverFrom,
  failureCode,
  knownClient,
  never,
  redirectUri,
  serversFor,
} from '../../support/authorization/journey.ts';

/** The refresh tokens of a public client are bound to its key, too. */
const publicClient = {
  client_id: 'public',
  redirect_uris: [redirectUri],
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code' as const],
  token_endpoint_auth_method: 'none' as const,
};

describe.each([false, true])('a server that demands proofs, with a nonce: %s', (demandsNonce) => {
  let authorization: AuthorizationServer;
  let resource: ProtectedServer;
  beforeAll(async () => {
    authorization = await startAuthorizationServer({ demandsNonce, clients: [publicClient] });
    resource = await startProtectedServer({ authorization, demandsProof: true });
  });
  afterAll(async () => {
    await resource?.stop();
    await authorization?.stop();
  });

  it('issues tokens that only the holder of the key can use and refresh', async () => {
    const servers = serversFor(authorization.issuer, resource.origin);
    const target = await discoverFrom(servers, resource.url);
    expect(target.dpopAlg).toBe('ES256');
    const { grant, tokens } = await connect({
      servers,
      target,
      ...authorization,
      client: knownClient({ clientId: 'public' }),
    });
    expect(tokens.tokenType).toBe('DPoP');
    const send = (dpopKey: Record<string, unknown>) =>
      new DpopSessions().fetch(fetch, { accessToken: tokens.accessToken, dpopKey })(resource.url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
      });
    const other = (await servers.createDpopKey(target))!;
    expect((await send(grant.dpopKey!)).status).toBe(200);
    expect((await send(other)).status).toBe(401);
    expect(
      (await fetch(resource.url, { headers: { authorization: `DPoP ${tokens.accessToken}` } })).status,
    ).toBe(401);
    // Another process has the key as JSON and no session.
    const elsewhere = serversFor(authorization.issuer);
    const stored = JSON.parse(JSON.stringify(grant.dpopKey)) as Record<string, unknown>;
    const refreshed = await elsewhere.refresh({ ...grant, dpopKey: stored }, tokens.refreshToken!, never);
    expect(refreshed.tokenType).toBe('DPoP');
    expect(
      await failureCode(elsewhere.refresh({ ...grant, dpopKey: other }, refreshed.refreshToken!, never)),
    ).toBe('grant_rejected');
  });
});

it('a nonce that a server demands is sent in the next proof, once', async () => {
  const proofs: { nonce?: string; jti?: string }[] = [];
  const server = createServer((request, response) => {
    const [, claims = ''] = String(request.headers['dpop']).split('.');
    proofs.push(JSON.parse(Buffer.from(claims, 'base64url').toString()) as { nonce?: string });
    const isLast = request.url === '/patient' && proofs.length > 1;
    response.writeHead(isLast ? 200 : 401, {
      'www-authenticate': 'DPoP error="use_dpop_nonce"',
      'dpop-nonce': 'the-nonce',
    });
    response.end();
  });
  await new Promise<void>((listening) => void server.listen(0, '127.0.0.1', listening));
  const { port } = server.address() as { port: number };
  const servers = serversFor();
  const dpopKey = (await servers.createDpopKey({ dpopAlg: 'ES256' } as never))!;
  const send = new DpopSessions().fetch(fetch, { accessToken: 'token', dpopKey });
  try {
    expect((await send(`http://127.0.0.1:${port}/patient`)).status).toBe(200);
    expect(proofs.map(({ nonce }) => nonce)).toEqual([undefined, 'the-nonce']);
    expect(proofs[0]!.jti).not.toBe(proofs[1]!.jti);
    expect((await send(`http://127.0.0.1:${port}/never`)).status).toBe(401);
    expect(proofs).toHaveLength(4);
  } finally {
    server.close().closeAllConnections();
  }
});

it('a target without a demand for proofs has no key', async () => {
  expect(await serversFor().createDpopKey({ dpopAlg: null } as never)).toBeNull();
});
