import { z } from 'zod';
import { parseState } from '../shared/stored-text.ts';
import { SeenAddresses } from './seen-addresses.ts';

const maxSitemaps = 1_000;
/** Of addresses of sitemaps that wait; with the hashes of the seen pages, a cursor stays below a mebibyte. */
const maxPendingBytes = 300_000;

const sitemapRefSchema = z.strictObject({ address: z.string(), level: z.int() });
const stateSchema = z.strictObject({
  pending: z.array(sitemapRefSchema),
  current: sitemapRefSchema.extend({ after: z.string() }).nullable(),
  listed: z.string(),
  sitemaps: z.int(),
  pages: z.int(),
  truncated: z.boolean(),
});

export interface SitemapRef {
  address: string;
  /** Indexes above it. */
  level: number;
}

/** Which sitemaps are still to be read, and which pages were listed. */
export class SitemapState {
  readonly pending: SitemapRef[];
  /** The sitemap of which some pages were listed: in the order of their addresses, up to `after`. */
  current: (SitemapRef & { after: string }) | null;
  readonly seen: SeenAddresses;
  truncated: boolean;
  pages: number;
  #sitemaps: number;

  constructor(cursor: string | null) {
    const state = cursor === null ? null : parseState(stateSchema, cursor);
    this.pending = state?.pending ?? [];
    this.current = state?.current ?? null;
    this.seen = new SeenAddresses(state?.listed);
    this.truncated = state?.truncated ?? false;
    this.pages = state?.pages ?? 0;
    this.#sitemaps = state?.sitemaps ?? 0;
  }

  /** Behind those that wait. */
  add(ref: SitemapRef): void {
    if (this.seen.has(ref.address)) {
      return;
    }
    const bytes = this.pending.reduce((sum, { address }) => sum + address.length, ref.address.length);
    if (this.#sitemaps >= maxSitemaps || bytes > maxPendingBytes) {
      this.truncated = true;
      return;
    }
    this.#sitemaps += 1;
    this.seen.add(ref.address);
    this.pending.push(ref);
  }

  get isEnd(): boolean {
    return this.current === null && this.pending.length === 0;
  }

  encode(): string {
    const { pending, current, truncated, pages } = this;
    return JSON.stringify({
      pending,
      current,
      listed: this.seen.encode(),
      sitemaps: this.#sitemaps,
      pages,
      truncated,
    });
  }
}
