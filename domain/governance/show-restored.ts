import type { Caller } from '#domain/access/caller.ts';
import type { Context } from '#domain/access/context.ts';
import type { Acting } from '#domain/projects/in-project.ts';
import type { Response } from '#domain/responses/response.entity.ts';
import type { FieldWork } from '#domain/secrets/field-place.ts';
import { inThreads, type FoundThread } from '#domain/threads/in-thread.ts';
import { Thread } from '#domain/threads/thread.entity.ts';
import { readMappings, type KnownEntry, type PiiMapping } from './pii-mapping.ts';
import type { Holder } from './pii-settings.ts';
import { restoreValue } from './restore.ts';

/** Who reads something that holds tokens. */
export interface Reader {
  principalId: string;
  /** Holds `threads.read_pii` in the space. */
  seesAll: boolean;
  /** The thread where it holds that, which its role in the thread's project may have given it. */
  seesThread: string | null;
}

/** @param found the thread that is read, or that what is read belongs to */
export function readerOf(caller: Caller, found?: FoundThread<Acting>): Reader {
  const holds = ({ granted }: Caller) => granted.has('threads.read_pii');
  return {
    principalId: caller.principalId,
    seesAll: holds(caller),
    seesThread: found !== undefined && holds(found.there.caller) ? found.thread.id : null,
  };
}

/** Who reads what belongs to a thread, which may be gone, or to none. */
export async function readerIn(ctx: Acting, threadId: string | null | undefined): Promise<Reader> {
  const reader = readerOf(ctx.caller);
  if (reader.seesAll || threadId == null) {
    return reader;
  }
  const { tenantId } = ctx.caller;
  const [found] = await inThreads(ctx, await ctx.em.find(Thread, { tenantId, id: threadId }));
  return found === undefined ? reader : readerOf(ctx.caller, found);
}

/** Whether somebody has come to see less than as the reader `before`. */
export function seesLess(now: Reader, before: Reader): boolean {
  return !now.seesAll && (before.seesAll || (before.seesThread !== null && now.seesThread === null));
}

/**
 * Whoever brought a value sees it, and whoever holds `threads.read_pii`; everybody else sees its token. Who holds it
 * in a thread alone sees what was found there, not what a response brought along from another conversation.
 */
export function visibleTo(
  { principalId, seesAll, seesThread }: Reader,
  { holder, mapping }: { holder: string; mapping: PiiMapping },
): PiiMapping {
  const isSeen = ({ by, count }: KnownEntry) =>
    by.includes(principalId) || (holder === seesThread && count > 0);
  return seesAll ? mapping : new Map([...mapping].filter(([, entry]) => isSeen(entry)));
}

/** What the tokens of one conversation stand for, as far as its reader may see it. */
export async function readVisible(
  work: FieldWork,
  tenantId: string,
  { holders, reader }: { holders: readonly Holder[]; reader: Reader },
): Promise<PiiMapping> {
  const mappings = [...(await readMappings(work, tenantId, holders))];
  return new Map(mappings.flatMap(([holder, mapping]) => [...visibleTo(reader, { holder, mapping })]));
}

/** Something of a response, as the caller may see it. */
export async function showRestored<T>(ctx: Context, response: Response, value: T): Promise<T> {
  const { redaction } = response.request;
  if (redaction === undefined) {
    return value;
  }
  const { holders } = redaction;
  const reader = await readerIn(ctx, response.threadId);
  return restoreValue(value, await readVisible(ctx, response.tenantId, { holders, reader }));
}
