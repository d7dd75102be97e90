import { SourceFailure } from '#domain/knowledge/connectors/source.ts';
import type { SourceAccess } from '../provider.ts';

/** The header that carries the connector's credential, or the token of its connection, to an HTTP source; empty without one. @throws SourceFailure */
export async function authorizationOf({
  credential,
  isConnected,
  bearer,
}: Pick<SourceAccess, 'credential' | 'isConnected' | 'bearer'>): Promise<Record<string, string>> {
  if (isConnected === true) {
    return { authorization: `Bearer ${await bearer()}` };
  }
  switch (credential?.kind) {
    case undefined:
      return {};
    case 'bearer':
      return { authorization: `Bearer ${credential.token}` };
    case 'header':
      return { [credential.name.toLowerCase()]: credential.value };
    case 'basic': {
      const pair = Buffer.from(`${credential.username}:${credential.password}`).toString('base64');
      return { authorization: `Basic ${pair}` };
    }
    case 'oauth2_client':
      return { authorization: `Bearer ${await bearer()}` };
    default:
      throw new SourceFailure('auth_failed', 'This kind of credential is not for sources over HTTP.');
  }
}
