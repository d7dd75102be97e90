import { SourceFailure } from '#domain/knowledge/connectors/source.ts';

/** One line of git's protocol, or one of the marks between lines. */
export type PktLine = Uint8Array | 'flush' | 'delimiter';

const prefixBytes = 4;

/**
 * Reads pkt-lines one after another; memory is bounded by one chunk of the body and one line of 64 KiB. Parts of a line
 * are joined once all have arrived: a body may come in chunks of a byte.
 */
export async function* readPktLines(
  body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): AsyncGenerator<PktLine> {
  let parts: Uint8Array[] = [];
  let [held, needed] = [0, prefixBytes];
  for await (const chunk of body) {
    parts.push(chunk);
    held += chunk.byteLength;
    if (held < needed) continue;
    const bytes = Buffer.concat(parts, held);
    let at = 0;
    for (needed = prefixBytes; held - at >= needed;) {
      const length = lengthAt(bytes, at);
      if (held - at < length) {
        needed = length;
      } else if (length < prefixBytes) {
        if (length < 2) yield length === 0 ? 'flush' : 'delimiter';
        at += prefixBytes;
      } else {
        yield bytes.subarray(at + prefixBytes, at + length);
        at += length;
      }
    }
    held -= at;
    parts = held === 0 ? [] : [bytes.subarray(at)];
  }
  if (held > 0) {
    throw new SourceFailure('source_unreachable', 'The source ended its answer too early.');
  }
}

/** Of the line that begins here; less than 4 for a mark between lines. */
function lengthAt(bytes: Buffer, at: number): number {
  const prefix = bytes.toString('latin1', at, at + prefixBytes);
  const length = /^[0-9a-f]{4}$/i.test(prefix) ? Number.parseInt(prefix, 16) : 3;
  if (length === 3) {
    throw new SourceFailure('source_invalid', 'The answer breaks the protocol of git.');
  }
  return length;
}

/** The text of a line; git's own error line is a failure. */
export function lineText(line: Uint8Array): string {
  const text = Buffer.from(line.buffer, line.byteOffset, line.byteLength).toString('utf8').replace(/\n$/, '');
  if (text.startsWith('ERR ')) {
    throw refusal(text);
  }
  return text;
}

/** The server has no such object, for instance after a force push, or where a server behind its address lags behind. */
export class ObjectMissing extends SourceFailure {
  constructor() {
    super('source_unreachable', 'The repository no longer has an object that its branch named.');
    this.name = 'ObjectMissing';
  }
}

export function refusal(text: string): SourceFailure {
  return /not our ref|not a valid object|missing|unadvertised object/i.test(text)
    ? new ObjectMissing()
    : new SourceFailure('source_invalid', 'The server of the repository refuses the request.');
}

/** A request of version 2: the command with its capabilities, then its arguments. */
export function pktRequest(command: readonly string[], args: readonly string[]): string {
  const lines = (texts: readonly string[]) => texts.map(pkt).join('');
  return `${lines(command)}0001${lines(args)}0000`;
}

function pkt(text: string): string {
  return `${(Buffer.byteLength(text) + 5).toString(16).padStart(4, '0')}${text}\n`;
}
