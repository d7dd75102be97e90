import { fromBufferPromise, type Entry, type ZipFile } from 'yauzl';
import { ExtractionFailure } from '#domain/knowledge/ingestion/document-extractor.ts';
import { decodeText } from './decode-text.ts';

const maxEntries = 10_000;
/** Max bytes that are inflated of one uploaded document, its attachments included. */
const maxInflatedBytes = 64 * 1_024 * 1_024;

/** What may still be inflated. */
export interface InflationBudget {
  bytes: number;
}

export const inflationBudget = (): InflationBudget => ({ bytes: maxInflatedBytes });

/** The entries of a ZIP file. Archives inside it are entries like others: nothing follows them. */
export class Archive {
  readonly #zip: ZipFile;
  readonly #entries: ReadonlyMap<string, Entry>;
  readonly #budget: InflationBudget;

  private constructor(zip: ZipFile, entries: ReadonlyMap<string, Entry>, budget: InflationBudget) {
    this.#zip = zip;
    this.#entries = entries;
    this.#budget = budget;
  }

  /** @throws `ExtractionFailure` too_large; errors of yauzl for a broken archive */
  static async open(bytes: Uint8Array, budget: InflationBudget): Promise<Archive> {
    const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const zip = await fromBufferPromise(buffer, { lazyEntries: true, autoClose: false });
    if (zip.entryCount > maxEntries) {
      throw new ExtractionFailure('too_large');
    }
    const entries = new Map<string, Entry>();
    for await (const entry of zip.eachEntry()) {
      entries.set(entry.fileName, entry);
    }
    return new Archive(zip, entries, budget);
  }

  has(name: string): boolean {
    return this.#entries.has(name);
  }

  names(): string[] {
    return [...this.#entries.keys()];
  }

  /** The text of an entry, '' when there is none. @throws `ExtractionFailure` */
  async text(name: string): Promise<string> {
    const entry = this.#entries.get(name);
    return entry === undefined ? '' : decodeText(await this.#inflate(entry));
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
