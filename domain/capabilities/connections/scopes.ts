/** Every scope of the lists once, in order; null: none. */
export function unionOf(...lists: (string | null | undefined)[]): string | null {
  const scopes = new Set(lists.flatMap((list) => (list ?? '').split(' ').filter((scope) => scope !== '')));
  return scopes.size === 0 ? null : [...scopes].join(' ');
}
