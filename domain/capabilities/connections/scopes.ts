import type { AuthorizationTarget } from './authorization-servers.ts';

/** Adds the scope of refresh tokens where the server offers it; a request without scopes stays without. */
export function requestedScope(
  { metadata }: Pick<AuthorizationTarget, 'metadata'>,
  scope: string | null,
): string | null {
  const offered = metadata['scopes_supported'];
  const isOffered = Array.isArray(offered) && offered.includes('offline_access');
  return scope === null || !isOffered ? scope : unionOf(scope, 'offline_access');
}

/** Every scope of the lists once, in order; null: none. */
export function unionOf(...lists: (string | null | undefined)[]): string | null {
  const scopes = new Set(lists.flatMap((list) => (list ?? '').split(' ').filter((scope) => scope !== '')));
  return scopes.size === 0 ? null : [...scopes].join(' ');
}

const maxScopes = 100;
const maxLength = 4_000;

/** As many scopes of the lists as one authorization request can name, those of the first list first. */
export function boundedUnion(...lists: (string | null | undefined)[]): string | null {
  const kept: string[] = [];
  let length = -1;
  for (const scope of unionOf(...lists)?.split(' ') ?? []) {
    length += scope.length + 1;
    if (kept.length === maxScopes || length > maxLength) {
      break;
    }
    kept.push(scope);
  }
  return unionOf(kept.join(' '));
}
