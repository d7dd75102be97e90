import type { Caller } from '#domain/foundation/access/caller.ts';
import type { Context } from '#domain/foundation/access/context.ts';
import type { Acting } from '#domain/identity/roles/in-project.ts';
import type { FieldWork } from '#domain/foundation/secrets/field-place.ts';
import { inThreads, type FoundThread } from './in-thread.ts';
import { Thread } from './thread.entity.ts';
import { readMappings, type KnownEntry, type PiiMapping } from '#domain/governance/redaction/pii-mapping.ts';
import { holderId, type Holder, type Redaction } from '#domain/governance/policy/pii-settings.ts';
import { restoreValue } from '#domain/governance/redaction/restore.ts';

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

type ThreadId = string | null | undefined;

/** Who reads what belongs to a thread, which may be gone, or to none. */
export async function readerIn(ctx: Acting, threadId: ThreadId): Promise<Reader> {
  return (await readersIn(ctx, [threadId]))(threadId);
}

/** The same for several threads at once. */
async function readersIn(
  ctx: Acting,
  threadIds: readonly ThreadId[],
): Promise<(threadId: ThreadId) => Reader> {
  const reader = readerOf(ctx.caller);
  const id = [...new Set(threadIds.flatMap((threadId) => threadId ?? []))];
  if (reader.seesAll || id.length === 0) {
    return () => reader;
  }
  const { tenantId } = ctx.caller;
  const found = await inThreads(ctx, await ctx.em.find(Thread, { tenantId, id }));
  const readers = new Map(found.map((each) => [each.thread.id, readerOf(ctx.caller, each)]));
  return (threadId) => readers.get(threadId ?? '') ?? reader;
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
  return joinVisible(reader, [...(await readMappings(work, tenantId, holders))]);
}

function joinVisible(reader: Reader, mappings: readonly [string, PiiMapping][]): PiiMapping {
  return new Map(mappings.flatMap(([holder, mapping]) => [...visibleTo(reader, { holder, mapping })]));
}

/** What is to be known of a response to show something of it. */
interface Screened {
  threadId?: string | null | undefined;
  request: { redaction?: Redaction | undefined };
}

/** Something of a response, as the caller may see it. */
export async function showRestored<T>(ctx: Context, response: Screened, value: T): Promise<T> {
  const [shown = value] = await showAllRestored(ctx, [{ response, value }]);
  return shown;
}

/** Something of each of several responses, in their order: rights and mappings are read for all at once. */
export async function showAllRestored<T>(
  ctx: Context,
  all: readonly { response: Screened; value: T }[],
): Promise<T[]> {
  const screened = all.filter(({ response }) => response.request.redaction !== undefined);
  const holders = screened.flatMap(({ response }) => response.request.redaction?.holders ?? []);
  const threadIds = screened.map(({ response }) => response.threadId);
  const readerOfThread = await readersIn(ctx, threadIds);
  const mappings = [...(await readMappings(ctx, ctx.caller.tenantId, holders))];
  return all.map(({ response, value }) => {
    const { redaction } = response.request;
    if (redaction === undefined) {
      return value;
    }
    const own = new Set(redaction.holders.map(holderId));
    const known = mappings.filter(([holder]) => own.has(holder));
    return restoreValue(value, joinVisible(readerOfThread(response.threadId), known));
  });
}
