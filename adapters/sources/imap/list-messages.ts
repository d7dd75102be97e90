import { SourceFailure, type ListInput, type SourcePage } from '#domain/knowledge/connectors/source.ts';
import {
  firstDay,
  maxPages,
  readCheckpoint,
  readCursor,
  type Checkpoint,
  type Cursor,
} from './listing-state.ts';
import { describeMessages } from './describe-messages.ts';
import { findUids, lookAt, openMailbox, searchUids, type Sight } from './mailbox.ts';
import { writeRef } from './message-ref.ts';
import type { ImapScope } from './scope.ts';
import { maxVanished, type Session } from './session.ts';

const pageMessages = 100;

export async function listMessages(
  session: Session,
  scope: ImapScope,
  input: ListInput,
): Promise<SourcePage> {
  if (input.cursor !== null) {
    return pageAt(session, readCursor(input.cursor), []);
  }
  const before = usableCheckpoint(readCheckpoint(input.checkpoint), scope);
  const since = firstDay(scope.since_days);
  const sights: Sight[] = [];
  const gone: string[] = [];
  let isChanges = before !== null;
  for (const [at, path] of scope.mailboxes.entries()) {
    const earlier = (isChanges && before?.mailboxes[at]) || null;
    const sight = await lookAt(session, path, earlier);
    sights.push(sight);
    if (earlier === null || earlier.validity !== sight.state.validity || sight.vanished === null) {
      isChanges = false;
    } else {
      const uids = [
        ...sight.vanished,
        ...(await agedUids(session, earlier.next, before?.since ?? null, since)),
      ];
      gone.push(...uids.map((uid) => writeRef({ path, validity: earlier.validity, uid, section: null })));
      isChanges = gone.length <= maxVanished;
    }
  }
  const from = scope.mailboxes.map((_, at) => (isChanges ? (before?.mailboxes[at]?.next ?? 1) : 1));
  const now: Checkpoint = { form: 2, mailboxes: sights.map(({ state }) => state), since };
  const start: Omit<Cursor, 'page'> = {
    now,
    from,
    scope: isChanges ? 'changes' : 'everything',
    at: 0,
    uid: from[0] ?? 1,
  };
  const cursor: Cursor = { ...start, page: 1 };
  return { ...(await pageAt(session, cursor, isChanges ? gone : [])), at: JSON.stringify(cursor) };
}

/** Null where it is of other mailboxes, or of fewer days than the scope has now. */
function usableCheckpoint(checkpoint: Checkpoint | null, scope: ImapScope): Checkpoint | null {
  const paths = checkpoint?.mailboxes.map(({ path }) => path) ?? [];
  const since = firstDay(scope.since_days);
  const isSame =
    paths.length === scope.mailboxes.length && scope.mailboxes.every((path, at) => path === paths[at]);
  const isWithin =
    checkpoint !== null && (checkpoint.since === null || (since !== null && checkpoint.since <= since));
  return isSame && isWithin ? checkpoint : null;
}

/** Messages that the scope no longer includes, since days have passed. */
async function agedUids(
  session: Session,
  to: number,
  before: string | null,
  since: string | null,
): Promise<number[]> {
  return since === null || since === before || to <= 1
    ? []
    : searchUids(session, { from: 1, to, since: before }, since);
}

async function pageAt(session: Session, cursor: Cursor, gone: string[]): Promise<SourcePage> {
  const { now, from, scope, at, uid, page } = cursor;
  const mailbox = now.mailboxes[at];
  const rest = { gone, goneWithParts: true as const, scope, total: null };
  if (mailbox === undefined) {
    return { documents: [], next: null, checkpoint: JSON.stringify(now), ...rest };
  }
  if ((await openMailbox(session, mailbox.path)) !== mailbox.validity) {
    throw new SourceFailure(
      'cursor_expired',
      'The mail server has numbered the messages of a mailbox again.',
    );
  }
  const found = await findUids(session, { from: uid, to: mailbox.next, since: now.since }, pageMessages);
  const asked = found.uids.slice(0, pageMessages);
  const { documents, uids } = await describeMessages(session, mailbox, asked);
  const nextUid = found.uids.length > uids.length ? (uids.at(-1) ?? 0) + 1 : found.next;
  const isLast = nextUid === null && at + 1 === now.mailboxes.length;
  if (isLast) {
    return { documents, next: null, checkpoint: JSON.stringify(now), ...rest };
  }
  if (page >= maxPages) {
    return { documents, next: null, checkpoint: null, ...rest, truncated: true };
  }
  const position = nextUid === null ? { at: at + 1, uid: from[at + 1] ?? 1 } : { at, uid: nextUid };
  const next: Cursor = { ...cursor, ...position, page: page + 1 };
  return { documents, next: JSON.stringify(next), checkpoint: null, ...rest };
}
