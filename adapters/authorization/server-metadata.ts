import type { OAuthMetadata } from '@modelcontextprotocol/client';
import { z } from 'zod';
import {
  AuthorizationFailure,
  type AuthorizationTarget,
} from '#domain/capabilities/connections/authorization-servers.ts';

const address = z.url().max(2_048);
const names = z.array(z.string().max(256)).max(500).optional();

/** The used members: what else a server says of itself is not stored. */
const usedMetadata = z.object({
  issuer: z.string().max(2_048),
  authorization_endpoint: address,
  token_endpoint: address,
  registration_endpoint: address.optional(),
  revocation_endpoint: address.optional(),
  response_types_supported: z.array(z.string().max(256)).max(100),
  scopes_supported: names,
  code_challenge_methods_supported: names,
  token_endpoint_auth_methods_supported: names,
  token_endpoint_auth_signing_alg_values_supported: names,
  revocation_endpoint_auth_methods_supported: names,
  dpop_signing_alg_values_supported: names,
  client_id_metadata_document_supported: z.boolean().optional(),
  authorization_response_iss_parameter_supported: z.boolean().optional().catch(undefined),
});

const endpoints = [
  'authorization_endpoint',
  'token_endpoint',
  'registration_endpoint',
  'revocation_endpoint',
] as const;

/**
 * Reads the used members from the document itself: the client package drops some of them from documents of OpenID
 * Connect Discovery.
 * @throws AuthorizationFailure `url_not_allowed` for an endpoint with less protection than the issuer
 */
export function readMetadata(document: string): Record<string, unknown> {
  const metadata = usedMetadata.parse(JSON.parse(document));
  const isPlain = metadata.issuer.startsWith('http:');
  for (const name of endpoints) {
    const protocol = metadata[name] === undefined ? 'https:' : new URL(metadata[name]).protocol;
    if (protocol !== 'https:' && !(isPlain && protocol === 'http:')) {
      throw new AuthorizationFailure('url_not_allowed', { sent: true });
    }
  }
  return metadata;
}

/** The metadata of a target, which `readMetadata` has validated. */
export function metadataOf({ metadata }: Pick<AuthorizationTarget, 'metadata'>): OAuthMetadata {
  return metadata as unknown as OAuthMetadata;
}
