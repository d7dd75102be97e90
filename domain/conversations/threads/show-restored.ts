import type { Caller } from '#domain/foundation/access/caller.ts';
import type { Context } from '#domain/foundation/access/context.ts';
import type { Acting } from '#domain/identity/roles/in-project.ts';
import type { FieldWork } from '#domain/foundation/secrets/field-place.ts';
import { inThreads, type FoundThread } from './in-thread.ts';
import { Thread } from './thread.entity.ts';
import { readMappings, type KnownEntry, type PiiMapping } from '#domain/governance/redaction/pii-mapping.ts';
import { holderId, type Holder, type Redaction } from '#domain/governance/policy/pii-settings.ts';
import { restoreValue } from '#domain/governance/redaction/restore.ts';

/** The reader of a resource that contains tokens. */
export interface Reader {
  principalId: string;
  /** Holds `threads.read_pii` in the space. */
  seesAll: boolean;
  /** The thread in which it holds that permission, perhaps by its role in the thread's project. */
  seesThread: string | null;
}

/** @param found the thread that is read, or to which the resource belongs */
export function readerOf(caller: Caller, found?: FoundThread<Acting>): Reader {
  const holds = ({ granted }: Caller) => granted.has('threads.read_pii');
  return {
    principalId: caller.principalId,
    seesAll: holds(caller),
    seesThread: found !== undefined && holds(found.there.caller) ? found.thread.id : null,
  };
}

type ThreadId = string | null | undefined;

/** The reader of a resource of a thread, which may be deleted, or of none. */
export async function readerIn(ctx: Acting, threadId: ThreadId): Promise<Reader> {
  return (await readersIn(ctx, [threadId]))(threadId);
}

/** Like `readerIn` for several threads. */
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

/** Whether `now` sees less than the same reader `before`. */
export function seesLess(now: Reader, before: Reader): boolean {
  return !now.seesAll && (before.seesAll || (before.seesThread !== null && now.seesThread === null));
}

/**
 * Visible to the principal who supplied a value, and to holders of `threads.read_pii`; other readers see its token. A
 * reader who holds it only in a thread sees values found there, not those that a response includes from another
 * conversation.
 */
export function visibleTo(
  { principalId, seesAll, seesThread }: Reader,
  { holder, mapping }: { holder: string; mapping: PiiMapping },
): PiiMapping {
  const isSeen = ({ by, count }: KnownEntry) =>
    by.includes(principalId) || (holder === seesThread && count > 0);
  return seesAll ? mapping : new Map([...mapping].filter(([, entry]) => isSeen(entry)));
}

/** Values of one conversation's tokens, as far as its reader may see them. */
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

/** The facts of a response that decide on restoring its content. */
interface Screened {
  threadId?: string | null | undefined;
  request: { redaction?: Redaction | undefined };
}

/** A value of a response, as the caller may see it. */
export async function showRestored<T>(ctx: Context, response: Screened, value: T): Promise<T> {
  const [shown = value] = await showAllRestored(ctx, [{ response, value }]);
  return shown;
}

/** Values of several responses, in order: permissions and mappings are read for all at once. */
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
