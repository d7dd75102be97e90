/** A refusal by the name that RFC 6749 has for it; another one stays as it is. */
export function withStandardError(
  body: Record<string, unknown>,
  errors: ReadonlyMap<string, string>,
): Record<string, unknown> {
  const { error } = body;
  return typeof error === 'string' ? { error: errors.get(error) ?? error } : body;
}

/** Scopes separated by spaces, where the server separates them by commas. */
export function withStandardScope(body: Record<string, unknown>): Record<string, unknown> {
  const { scope } = body;
  return typeof scope === 'string' ? { ...body, scope: scope.replaceAll(',', ' ').trim() } : body;
}
