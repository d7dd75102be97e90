import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  bearerAuthChallengeResponse,
  createMcpHandler,
  McpServer,
  OAuthError,
  OAuthErrorCode,
  verifyBearerToken,
  type AuthInfo,
} from '@modelcontextprotocol/server';
import { calculateJwkThumbprint, EmbeddedJWK, jwtVerify } from 'jose';
import { z } from 'zod';
import { answer, toRequest } from '../tool-server.ts';
import type { KnownToken } from './authorization-server.ts';

export interface ProtectedServerOptions {
  /** Issuer, and what it says of a token. */
  authorization: { issuer: string; find(token: string): Promise<KnownToken | null> };
  port?: number;
  /** Scope of every request; `read` when not set. */
  scope?: string;
  /** Tokens must be bound to a key (RFC 9449). */
  demandsProof?: boolean;
  /** Changes the metadata of the resource; null: there is none. */
  metadata?: (document: Record<string, unknown>) => Record<string, unknown> | null;
  /** The challenge names the address of the metadata; true when not set. */
  namesMetadata?: boolean;
}

export interface ProtectedCall {
  tool: string;
  sub: string;
}

export interface ProtectedServer {
  url: string;
  origin: string;
  /** Calls that took effect. */
  calls: ProtectedCall[];
  /** Texts of its resources, by name. */
  resources: Map<string, string>;
  /** Authorization headers that were refused. */
  refused: (string | null)[];
  /** Set by a test: another authorization server from now on. */
  authorization: ProtectedServerOptions['authorization'];
  stop(): Promise<void>;
}

/**
 * An MCP server that only a token for it opens, with its `resources` by name. Its tools: `whoami` answers the account, `note` adds to `calls`, `purge`
 * needs the scope `admin`.
 */
export async function startProtectedServer(options: ProtectedServerOptions): Promise<ProtectedServer> {
  const { scope = 'read', demandsProof = false, namesMetadata = true } = options;
  const handler = createMcpHandler(({ authInfo }) => toolsFor(authInfo, known));
  const server = createServer((incoming, response) => {
    void (async () => {
      const request = await toRequest(incoming, known.origin);
      await answer(response, await respond(request));
    })().catch(() => response.destroy());
  });
  server.listen(options.port ?? 0, '127.0.0.1');
  await once(server, 'listening');
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const url = `${origin}/mcp`;
  const resourceMetadataUrl = `${origin}/.well-known/oauth-protected-resource/mcp`;
  const known: ProtectedServer = {
    url,
    origin,
    calls: [],
    resources: new Map(),
    refused: [],
    authorization: options.authorization,
    stop: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };

  async function respond(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url);
    if (pathname !== '/mcp') {
      const document = pathname === new URL(resourceMetadataUrl).pathname ? resourceDocument() : null;
      return document === null ? new Response(null, { status: 404 }) : Response.json(document);
    }
    const needed = (await isCallOf(request, 'purge')) ? [scope, 'admin'] : [scope];
    const challenged = {
      requiredScopes: needed,
      ...(namesMetadata ? { resourceMetadataUrl } : {}),
    };
    try {
      const authInfo = await verifyBearerToken(await asBearer(request), {
        verifier: { verifyAccessToken },
        ...challenged,
        expectedResource: new URL(url),
      });
      return await handler.fetch(request, { authInfo });
    } catch (error) {
      known.refused.push(request.headers.get('authorization'));
      const refusal = bearerAuthChallengeResponse(error, challenged);
      if (!demandsProof) {
        return refusal;
      }
      const header = refusal.headers.get('www-authenticate') ?? '';
      return new Response(null, {
        status: refusal.status,
        headers: { 'www-authenticate': header.replace(/^Bearer/, 'DPoP') },
      });
    }
  }

  function resourceDocument(): Record<string, unknown> | null {
    const document = {
      resource: url,
      authorization_servers: [known.authorization.issuer],
      scopes_supported: [scope],
      bearer_methods_supported: ['header'],
      ...(demandsProof ? { dpop_bound_access_tokens_required: true } : {}),
    };
    return (options.metadata ?? ((same) => same))(document);
  }

  async function verifyAccessToken(token: string): Promise<AuthInfo> {
    const found = await known.authorization.find(token);
    if (found === null) {
      throw new OAuthError(OAuthErrorCode.InvalidToken, 'The token is unknown.');
    }
    const { clientId, scopes, expiresAt, sub, resource } = found;
    return { token, clientId, scopes, expiresAt, resource: new URL(resource), extra: { sub } };
  }

  /** The header with its proof checked, as one of a bearer token. */
  async function asBearer(request: Request): Promise<string | null> {
    const header = request.headers.get('authorization');
    const [scheme = '', token = ''] = header?.split(' ') ?? [];
    const found = token === '' ? null : await known.authorization.find(token);
    if (!demandsProof && found?.jkt == null) {
      return header;
    }
    if (header === null) {
      return null;
    }
    const { payload, protectedHeader } = await jwtVerify(request.headers.get('dpop') ?? '', EmbeddedJWK, {
      typ: 'dpop+jwt',
      maxTokenAge: 60,
    }).catch(() => {
      throw new OAuthError(OAuthErrorCode.InvalidToken, 'There is no proof.');
    });
    const hash = createHash('sha256').update(token).digest('base64url');
    const thumbprint = await calculateJwkThumbprint(protectedHeader.jwk ?? {});
    const isGood =
      scheme.toLowerCase() === 'dpop' &&
      payload['htm'] === request.method &&
      payload['htu'] === url &&
      payload['ath'] === hash &&
      thumbprint === found?.jkt;
    if (!isGood) {
      throw new OAuthError(OAuthErrorCode.InvalidToken, 'The proof is of another request or key.');
    }
    return `Bearer ${token}`;
  }

  return known;
}

function toolsFor(authInfo: AuthInfo | undefined, { calls, resources }: ProtectedServer): McpServer {
  const sub = String(authInfo?.extra?.['sub']);
  const server = new McpServer({ name: 'protected', version: '1.0.0' });
  const text = (said: string) => ({ content: [{ type: 'text' as const, text: said }] });
  const inputSchema = z.object({});
  server.registerTool('whoami', { description: 'Says who calls.', inputSchema }, () => text(sub));
  for (const tool of ['note', 'purge']) {
    server.registerTool(tool, { description: `Does a ${tool}.`, inputSchema }, () => {
      calls.push({ tool, sub });
      return text(`${tool} for ${sub}`);
    });
  }
  for (const [name, said] of resources) {
    const uri = `docs:///${name}`;
    server.registerResource(name, uri, {}, () => ({ contents: [{ uri, text: `${said} For ${sub}.` }] }));
  }
  return server;
}

async function isCallOf(request: Request, tool: string): Promise<boolean> {
  const body = await request.clone().text();
  if (!body.includes('"tools/call"')) {
    return false;
  }
  const message = JSON.parse(body) as { method?: string; params?: { name?: string } };
  return message.method === 'tools/call' && message.params?.name === tool;
}
