import type { ImapFlow } from 'imapflow';

const maxUid = 4_294_967_295;

/**
 * The members of a set such as `3,7:12` or of a list such as `3 7 8`: at most `most` and one more, which shows that
 * there are others. A set is short on the wire and long in memory.
 */
export function uidsOf(set: string, most: number): number[] {
  const uids: number[] = [];
  for (const [, one = '', other = one] of set.matchAll(/(\d{1,10})(?::(\d{1,10}))?/g)) {
    const [first, last] = [Math.min(Number(one), Number(other)), Math.max(Number(one), Number(other))];
    for (let uid = Math.max(first, 1); uid <= Math.min(last, maxUid); uid += 1) {
      uids.push(uid);
      if (uids.length > most) {
        return uids;
      }
    }
  }
  return uids;
}

export interface SetReaders {
  /** Takes the set of each VANISHED answer. */
  vanished: (set: string) => void;
  /** Takes the set or the list of each answer to a search. */
  found: (set: string) => void;
  /** Not called for the answer about one message, which is left out. The parser's time would grow with the square of a line's length, or its memory to hundreds of times of it. */
  tooLarge: () => void;
}

interface Line {
  payload: Buffer;
}
interface Internals {
  handleResponse: (line: Line) => Promise<boolean>;
}

/** Digits and separators in a row; the parser needs a second for twenty times as many. */
const maxSetBytes = 8_192;
const maxTokens = 50_000;

/**
 * Takes sets of messages from the client before it parses them: it would expand `1:4294967295` to 16 million numbers,
 * one message after the other.
 */
export function readSets(client: ImapFlow, { vanished, found, tooLarge }: SetReaders): void {
  const internals = client as unknown as Internals;
  const handle = internals.handleResponse.bind(client);
  internals.handleResponse = (line) => {
    const { payload } = line;
    const head = payload.toString('latin1', 0, 64).toUpperCase();
    if (head.startsWith('* VANISHED ')) {
      vanished(payload.toString('latin1'));
    } else if (head.startsWith('* SEARCH')) {
      found(payload.toString('latin1').split('(', 1)[0] ?? '');
    } else if (head.startsWith('* ESEARCH')) {
      found(/ ALL ([\d:,]+)/i.exec(payload.toString('latin1'))?.[1] ?? '');
    } else if (isBearable(payload)) {
      return handle(line);
    } else if (!/^\* \d{1,10} FETCH /.test(head)) {
      tooLarge();
    }
    // Of one message nothing is said then: its sender decides how long that is.
    return Promise.resolve(true);
  };
}

function isBearable(payload: Buffer): boolean {
  let [run, tokens] = [0, 0];
  for (const byte of payload) {
    const isOfSet = (byte >= 0x30 && byte <= 0x3a) || byte === 0x2c || byte === 0x2a;
    run = isOfSet ? run + 1 : 0;
    tokens += byte === 0x20 || byte === 0x28 ? 1 : 0;
    if (run > maxSetBytes || tokens > maxTokens) {
      return false;
    }
  }
  return true;
}
