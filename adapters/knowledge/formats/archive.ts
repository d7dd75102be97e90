import { fromBufferPromise, type Entry, type ZipFile } from 'yauzl';
import { ExtractionFailure } from '#domain/knowledge/ingestion/document-extractor.ts';
import { decodeText } from './decode-text.ts';

const maxEntries = 10_000;
/** Max bytes that are inflated of one uploaded document, its attachments included. */
const maxInflatedBytes = 64 * 1_024 * 1_024;

/** Length of the end of a directory; the last two say how long the comment after it is. */
const endBytes = 22;

/** What may still be inflated. */
export interface InflationBudget {
  bytes: number;
}

export const inflationBudget = (): InflationBudget => ({ bytes: maxInflatedBytes });

interface Names {
  entries: ReadonlyMap<string, Entry>;
  /** By their name in lower case. */
  folds: ReadonlyMap<string, Entry>;
}

/** The entries of a ZIP file. Archives inside it are entries like others: nothing follows them. */
export class Archive {
  readonly #zip: ZipFile;
  readonly #entries: ReadonlyMap<string, Entry>;
  readonly #folds: ReadonlyMap<string, Entry>;
  readonly #budget: InflationBudget;

  private constructor(zip: ZipFile, { entries, folds }: Names, budget: InflationBudget) {
    this.#zip = zip;
    this.#entries = entries;
    this.#folds = folds;
    this.#budget = budget;
  }

  /** @throws `ExtractionFailure` too_large; errors of yauzl for a broken archive */
  static async open(bytes: Uint8Array, budget: InflationBudget): Promise<Archive> {
    const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const zip = await fromBufferPromise(withoutExtraBytes(buffer), { lazyEntries: true, autoClose: false });
    if (zip.entryCount > maxEntries) {
      throw new ExtractionFailure('too_large');
    }
    const [entries, folds] = [new Map<string, Entry>(), new Map<string, Entry>()];
    for await (const entry of zip.eachEntry()) {
      entries.set(entry.fileName, entry);
      // Names in packages of Office count whatever their case; where two differ in it alone, each has its own.
      const folded = entry.fileName.toLowerCase();
      if (!folds.has(folded)) folds.set(folded, entry);
    }
    return new Archive(zip, { entries, folds }, budget);
  }

  has(name: string): boolean {
    return this.#entryOf(name) !== undefined;
  }

  names(): string[] {
    return [...this.#entries.keys()];
  }

  /** The text of an entry, '' when there is none. @throws `ExtractionFailure` */
  async text(name: string): Promise<string> {
    return this.has(name) ? decodeText(await this.bytes(name)) : '';
  }

  /** The bytes of an entry, none when there is none. @throws `ExtractionFailure` */
  async bytes(name: string): Promise<Uint8Array> {
    const entry = this.#entryOf(name);
    return entry === undefined ? new Uint8Array() : this.#inflate(entry);
  }

  #entryOf(name: string): Entry | undefined {
    return this.#entries.get(name) ?? this.#folds.get(name.toLowerCase());
  }

  async #inflate(entry: Entry): Promise<Uint8Array> {
    if (entry.isEncrypted()) {
      throw new ExtractionFailure('encrypted');
    }
    // What is declared is compared first; what is really inflated is counted below.
    this.#charge(entry.uncompressedSize, 0);
    const parts: Uint8Array[] = [];
    for await (const part of await this.#zip.openReadStreamPromise(entry)) {
      parts.push(part as Uint8Array);
      this.#charge((part as Uint8Array).byteLength, (part as Uint8Array).byteLength);
    }
    return Buffer.concat(parts);
  }

  #charge(needed: number, used: number): void {
    if (needed > this.#budget.bytes) {
      throw new ExtractionFailure('too_large');
    }
    this.#budget.bytes -= used;
  }
}

/** The archive without what follows its directory, and without a comment that was cut off: other programs open it. */
function withoutExtraBytes(archive: Buffer): Buffer {
  const end = archive.lastIndexOf('PK\u0005\u0006', undefined, 'latin1');
  const length = end + endBytes;
  if (end === -1 || length > archive.length || length + archive.readUInt16LE(length - 2) === archive.length) {
    return archive;
  }
  const whole = Buffer.from(archive.subarray(0, length));
  whole.writeUInt16LE(0, length - 2);
  return whole;
}
