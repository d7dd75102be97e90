import { describe, expect, it } from 'vitest';
import type { AuthorizationTarget } from '#domain/capabilities/connections/authorization-servers.ts';
import { chooseClient } from '#domain/capabilities/connections/choose-client.ts';
import { clientDocument, hasPublicDocument } from '#domain/capabilities/connections/client-metadata.ts';
import type { ConnectionParts } from '#domain/capabilities/connections/connection-parts.ts';

/** A registration is stored already, so that nothing else is asked for. */
const parts = {
  unitOfWork: { inTenant: () => Promise.resolve({ id: 'stored', kind: 'dynamic', isFresh: true }) },
} as unknown as ConnectionParts;
const settings = { publicUrl: 'https://platform.example.com' } as never;

const choose = (metadata: object) =>
  chooseClient(parts, settings, { issuer: 'https://login.example.com', metadata } as AuthorizationTarget, {
    scope: null,
    signal: AbortSignal.timeout(1_000),
  });

const authorization = { authorization_endpoint: 'https://login.example.com/authorize' };

describe('the client document', () => {
  const known = { apiUrl: 'http://platform.internal/api', redirectUris: [] };

  it('is at the address of the API where others can reach that, or where the operator publishes it', () => {
    const elsewhere = 'https://apps.example.com/{issuer}.json';
    expect(hasPublicDocument({ ...known, clientDocumentUrl: null })).toBe(false);
    expect(hasPublicDocument({ ...known, clientDocumentUrl: elsewhere })).toBe(true);
    expect(clientDocument({ ...known, clientDocumentUrl: elsewhere }, 'key')).toMatchObject({
      client_id: 'https://apps.example.com/key.json',
      redirect_uris: ['http://platform.internal/api/v1/mcp-auth/callback/key'],
    });
    expect(clientDocument({ ...known, clientDocumentUrl: null }, 'key').client_id).toBe(
      'http://platform.internal/api/v1/mcp-auth/clients/key/client.json',
    );
  });
});

describe('a client that anybody may be', () => {
  it('is not used where metadata names the endpoints of two servers', async () => {
    const metadata = { ...authorization, token_endpoint: 'https://other.example.com/token' };
    await expect(choose(metadata)).rejects.toMatchObject({ code: 'client_required' });
  });

  it('is used where both endpoints are of one server, or its responses name their issuer', async () => {
    const own = { ...authorization, token_endpoint: 'https://login.example.com/token' };
    expect(await choose(own)).toBe('stored');
    const named = {
      ...authorization,
      token_endpoint: 'https://other.example.com/token',
      authorization_response_iss_parameter_supported: true,
    };
    expect(await choose(named)).toBe('stored');
  });
});
