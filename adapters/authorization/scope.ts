const scopeToken = /^[\x21\x23-\x5b\x5d-\x7e]{1,256}$/;
const maxTokens = 100;

/** The valid scopes among foreign ones (RFC 6749, 3.3), separated by spaces; null: there are none. */
export function scopeOf(tokens: readonly string[]): string | null {
  const valid = tokens.filter((token) => scopeToken.test(token)).slice(0, maxTokens);
  return valid.length === 0 ? null : [...new Set(valid)].join(' ');
}
