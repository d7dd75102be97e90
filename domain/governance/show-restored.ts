import type { Caller } from '#domain/access/caller.ts';
import type { Context } from '#domain/access/context.ts';
import type { Response } from '#domain/responses/response.entity.ts';
import { readMapping } from './pii-mapping.ts';
import { restoreValue } from './restore.ts';

/** Whoever brought personal data sees it, and whoever holds `threads.read_pii`; everybody else sees tokens. */
export function maySeeValues(caller: Caller, owner: string): boolean {
  return caller.principalId === owner || caller.granted.has('threads.read_pii');
}

/** Something of a response, as the caller may see it. */
export async function showRestored<T>(ctx: Context, response: Response, value: T): Promise<T> {
  const { redaction } = response.request;
  if (redaction === undefined || !maySeeValues(ctx.caller, response.principalId)) {
    return value;
  }
  return restoreValue(value, await readMapping(ctx, response.tenantId, redaction.holders));
}
