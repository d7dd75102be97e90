import type { CredentialValue } from '#domain/capabilities/credentials/credential-value.ts';

/** The headers of a stored credential; none for kinds that are no header by themselves. */
export function authorizationOf(credential: CredentialValue | null): Record<string, string> {
  switch (credential?.kind) {
    case 'basic': {
      const pair = Buffer.from(`${credential.username}:${credential.password}`).toString('base64');
      return { authorization: `Basic ${pair}` };
    }
    case 'bearer':
      return { authorization: `Bearer ${credential.token}` };
    case 'header':
      return { [credential.name.toLowerCase()]: credential.value };
    default:
      return {};
  }
}
