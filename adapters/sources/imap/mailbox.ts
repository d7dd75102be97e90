import { SourceFailure } from '#domain/knowledge/connectors/source.ts';
import { ChangesExceedLimits } from './imap-failure.ts';
import type { MailboxState } from './listing-state.ts';
import type { Session } from './session.ts';

const firstWindow = 20_000;
const maxWindows = 40;
const maxUid = 4_294_967_295;

/** Opens the mailbox for reading, unless it is open. */
export async function openMailbox({ client }: Session, path: string): Promise<string> {
  const open = client.mailbox;
  const mailbox =
    open !== false && open.path === path ? open : await client.mailboxOpen(path, { readOnly: true });
  return String(mailbox.uidValidity);
}

export interface Sight {
  state: MailboxState;
  /** UIDs deleted since an earlier state; null: the server cannot say. */
  vanished: number[] | null;
}

/**
 * What the mailbox contains now, and what has been deleted since an earlier state.
 * @throws ChangesExceedLimits where the server says too much of what has changed since: it names each message whose
 * flags are others
 */
export async function lookAt(session: Session, path: string, before: MailboxState | null): Promise<Sight> {
  const { client, vanished, beginAnswer, isCut } = session;
  const since =
    before?.modseq == null || !client.enabled.has('QRESYNC')
      ? null
      : { changedSince: BigInt(before.modseq), uidValidity: BigInt(before.validity) };
  vanished.length = 0;
  beginAnswer();
  const opening = client.mailboxOpen(path, { readOnly: true, ...since });
  const mailbox = await opening.catch((error: unknown) => {
    throw since !== null && isCut() ? new ChangesExceedLimits() : error;
  });
  if (since !== null && isCut()) {
    throw new ChangesExceedLimits();
  }
  const { uidValidity, uidNext, highestModseq, noModseq } = mailbox;
  if (uidValidity === undefined || uidNext === undefined) {
    throw new SourceFailure('source_invalid', 'The mail server does not number the messages of a mailbox.');
  }
  const modseq = noModseq === true || highestModseq === undefined ? null : String(highestModseq);
  const isKnown = (mailbox as { qresync?: boolean }).qresync === true;
  return {
    state: { path, validity: String(uidValidity), next: uidNext, modseq },
    vanished: isKnown ? vanished.splice(0) : null,
  };
}

export interface Range {
  from: number;
  /** Exclusive. */
  to: number;
  since: string | null;
}

export interface Found {
  uids: number[];
  /** Where the search goes on; null: the range is searched. */
  next: number | null;
}

/** The UIDs at the beginning of a range, about `count` or more; windows bound the answers of large mailboxes. */
export async function findUids(session: Session, { from, to, since }: Range, count: number): Promise<Found> {
  let uids: number[] = [];
  let [begin, size] = [from, firstWindow];
  for (let windows = 0; begin < to && uids.length < count && windows < maxWindows; windows += 1) {
    const end = Math.min(begin + size, to, maxUid);
    const found = await searchUids(session, { from: begin, to: end, since });
    uids = [...uids, ...found];
    size = found.length === 0 ? size * 4 : size;
    begin = end;
  }
  return { uids: uids.toSorted((one, other) => one - other), next: begin < to ? begin : null };
}

export async function searchUids(
  { client, found }: Session,
  { from, to, since }: Range,
  before?: string,
): Promise<number[]> {
  const query = {
    uid: `${from}:${to - 1}`,
    ...(since === null ? {} : { since: new Date(since) }),
    ...(before === undefined ? {} : { before: new Date(before) }),
  };
  found.length = 0;
  if (!Array.isArray(await client.search(query, { uid: true }))) {
    throw new SourceFailure('source_invalid', 'The mail server does not search its mailbox.');
  }
  return [...new Set(found.splice(0).filter((uid) => uid >= from && uid < to))];
}
