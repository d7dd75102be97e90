import type { FieldWork } from '#domain/foundation/secrets/field-place.ts';
import { openField } from '#domain/foundation/secrets/open-fields.ts';
import { sealField } from '#domain/foundation/secrets/seal-field.ts';
import type { IssuedTokens } from './authorization-servers.ts';
import { tokensPlace } from './connection.entity.ts';

/** The secrets of a connection; stored sealed only. */
export interface ConnectionTokens {
  accessToken: string;
  tokenType: IssuedTokens['tokenType'];
  refreshToken: string | null;
  /** See `Grant`. */
  dpopKey: Record<string, unknown> | null;
}

interface Place {
  tenantId: string;
  id: string;
  ownerId?: string | null | undefined;
}

/** Sealed under the owner's key, so that erasing the person erases the tokens; those of a space under the tenant's. */
export function sealTokens(
  work: FieldWork,
  place: Place,
  { accessToken, tokenType, refreshToken, dpopKey }: ConnectionTokens,
): Promise<string> {
  const tokens: ConnectionTokens = { accessToken, tokenType, refreshToken, dpopKey };
  return sealField(work, tokensPlace(place), JSON.stringify(tokens), place.ownerId ?? null);
}

/** Null: erased, or its key was. */
export async function openTokens(
  work: FieldWork,
  place: Place & { tokens?: string | null | undefined },
): Promise<ConnectionTokens | null> {
  const text = place.tokens == null ? null : await openField(work, tokensPlace(place), place.tokens);
  return text === null ? null : (JSON.parse(text) as ConnectionTokens);
}
