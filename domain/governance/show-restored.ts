import type { Caller } from '#domain/access/caller.ts';
import type { Context } from '#domain/access/context.ts';
import type { Response } from '#domain/responses/response.entity.ts';
import { readMapping, type PiiMapping } from './pii-mapping.ts';
import { restoreValue } from './restore.ts';

/** Who reads something that holds tokens. */
export interface Reader {
  principalId: string;
  /** Holds `threads.read_pii`. */
  seesAll: boolean;
}

export function readerOf({ principalId, granted }: Caller): Reader {
  return { principalId, seesAll: granted.has('threads.read_pii') };
}

/** Whoever brought a value sees it, and whoever holds `threads.read_pii`; everybody else sees its token. */
export function visibleTo({ principalId, seesAll }: Reader, mapping: PiiMapping): PiiMapping {
  return seesAll ? mapping : new Map([...mapping].filter(([, { by }]) => by.includes(principalId)));
}

/** Something of a response, as the caller may see it. */
export async function showRestored<T>(ctx: Context, response: Response, value: T): Promise<T> {
  const { redaction } = response.request;
  if (redaction === undefined) {
    return value;
  }
  const mapping = await readMapping(ctx, response.tenantId, redaction.holders);
  return restoreValue(value, visibleTo(readerOf(ctx.caller), mapping));
}
