import { SourceFailure } from '#domain/knowledge/connectors/source.ts';

/** One line of git's protocol, or one of the marks between lines. */
export type PktLine = Uint8Array | 'flush' | 'delimiter';

const invalid = () => new SourceFailure('source_invalid', 'The answer breaks the protocol of git.');

/** Reads pkt-lines one after another; memory is bounded by one chunk of the body and one line of 64 KiB. */
export async function* readPktLines(
  body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): AsyncGenerator<PktLine> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of body) {
    rest = rest.byteLength === 0 ? Buffer.from(chunk) : Buffer.concat([rest, chunk]);
    let at = 0;
    while (rest.byteLength - at >= 4) {
      const prefix = rest.toString('latin1', at, at + 4);
      const length = /^[0-9a-f]{4}$/i.test(prefix) ? Number.parseInt(prefix, 16) : Number.NaN;
      if (length === 0 || length === 1) {
        yield length === 0 ? 'flush' : 'delimiter';
        at += 4;
      } else if (length === 2) {
        at += 4;
      } else if (length >= 4) {
        if (rest.byteLength - at < length) break;
        yield rest.subarray(at + 4, at + length);
        at += length;
      } else {
        throw invalid();
      }
    }
    rest = rest.subarray(at);
  }
  if (rest.byteLength > 0) {
    throw new SourceFailure('source_unreachable', 'The source ended its answer too early.');
  }
}

/** The text of a line; git's own error line is a failure. */
export function lineText(line: Uint8Array): string {
  const text = Buffer.from(line.buffer, line.byteOffset, line.byteLength).toString('utf8').replace(/\n$/, '');
  if (text.startsWith('ERR ')) {
    throw refusal(text);
  }
  return text;
}

/** The server has no such object, for instance after a force push. */
export class ObjectMissing extends SourceFailure {
  constructor() {
    super('source_invalid', 'The repository no longer has an object that its branch named.');
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
