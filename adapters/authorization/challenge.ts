import { extractWWWAuthenticateParams } from '@modelcontextprotocol/client';
import type { AuthorizationChallenge } from '#domain/capabilities/connections/authorization-servers.ts';
import { scopeOf } from './scope.ts';

const maxLength = 4_096;

/** The challenge of a 401 or 403; null: there is none of the schemes Bearer and DPoP. */
export function challengeIn(headers: Headers): AuthorizationChallenge | null {
  const header = (headers.get('www-authenticate') ?? '').slice(0, maxLength);
  const scheme = /^(bearer|dpop)(?= |$)/i.exec(header)?.[1]?.toLowerCase();
  if (scheme === undefined) {
    return null;
  }
  const found = extractWWWAuthenticateParams(
    new Response(null, { status: 401, headers: { 'www-authenticate': header } }),
  );
  return {
    metadataUrl: found.resourceMetadataUrl?.href ?? null,
    scope: scopeOf(found.scope?.split(' ') ?? []),
    error: found.error !== undefined && /^[a-z_]{1,40}$/.test(found.error) ? found.error : null,
    dpop: scheme === 'dpop',
  };
}
