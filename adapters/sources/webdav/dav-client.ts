import { SourceFailure } from '#domain/knowledge/connectors/source.ts';
import { followRedirects, type Followed } from '../shared/follow-redirects.ts';
import { statusFailure } from '../shared/http-failure.ts';
import { discardBody, readBody } from '../shared/bounded-body.ts';
import { minAgeMs } from '../shared/http-version.ts';
import { withoutSlashes } from '../shared/web-url.ts';
import { decodeHref, encodePath, type DavPath } from './hrefs.ts';
import type { DavResponse } from './multistatus.ts';
import { readAnswer } from './read-answer.ts';

/** Of one list of files. */
const maxAnswerBytes = 16 * 1_048_576;
/** By which the clocks of a server and of this machine may differ. */
const otherClockMs = 3_600_000;
const names = ['resourcetype', 'getcontentlength', 'getlastmodified', 'getetag', 'getcontenttype'];
const question = `<?xml version="1.0" encoding="utf-8"?><propfind xmlns="DAV:"><prop>${names.map((name) => `<${name}/>`).join('')}</prop></propfind>`;

export interface Found {
  /** The path of the resource that was asked for, after redirects. */
  path: DavPath;
  responses: DavResponse[];
  /** When the server was asked, in milliseconds of its clock, or of this one where it does not say. */
  askedAt: number;
  /** A time of change this close to that may stand for two contents. */
  marginMs: number;
}

/** A client of WebDAV that only reads. */
export class DavClient {
  readonly #fetch: typeof globalThis.fetch;
  readonly #baseUrl: string;
  readonly #authorization: Record<string, string>;
  readonly #tenantId: string;

  constructor(
    fetch: typeof globalThis.fetch,
    options: { baseUrl: string; authorization: Record<string, string>; tenantId: string },
  ) {
    this.#fetch = fetch;
    this.#baseUrl = withoutSlashes(options.baseUrl);
    this.#authorization = options.authorization;
    this.#tenantId = options.tenantId;
  }

  /** The address of a file. */
  address(ref: string): string {
    return this.#baseUrl + encodePath(ref.split('/').filter(Boolean));
  }

  /** A folder with what is in it; null: it is not there. */
  folder(path: string, depth: 0 | 1, signal: AbortSignal): Promise<Found | null> {
    return this.#find(`${this.address(path)}/`, depth, signal);
  }

  /** What a file is; null: it is not there. */
  file(ref: string, signal: AbortSignal): Promise<Found | null> {
    return this.#find(this.address(ref), 0, signal);
  }

  content(ref: string, etag: string | null, signal: AbortSignal): Promise<Followed> {
    // Without compression the declared length is that of the content.
    const headers = { 'accept-encoding': 'identity', ...(etag !== null && { 'if-none-match': etag }) };
    return followRedirects(this.#fetch, this.address(ref), { headers, signal }, this.#authorization);
  }

  async #find(address: string, depth: 0 | 1, signal: AbortSignal): Promise<Found | null> {
    const [begun, begunAt] = [performance.now(), Date.now()];
    const { response, url } = await followRedirects(
      this.#fetch,
      address,
      {
        method: 'PROPFIND',
        headers: { depth: String(depth), 'content-type': 'application/xml; charset=utf-8' },
        body: question,
        signal,
      },
      this.#authorization,
    );
    const elapsedMs = performance.now() - begun;
    if (response.status === 404 || response.status === 410) {
      await discardBody(response);
      return null;
    }
    if (response.status !== 207) {
      await discardBody(response);
      throw [405, 501].includes(response.status) || response.status < 400
        ? new SourceFailure('scope_invalid', 'The address does not speak WebDAV.')
        : statusFailure(response);
    }
    const xml = await readBody(response, maxAnswerBytes);
    if (xml === null) {
      throw new SourceFailure('source_invalid', 'The list of one folder exceeds 16 MiB.');
    }
    const responses = await readAnswer(xml, this.#tenantId, signal);
    const path = decodeHref(new URL(url).pathname);
    const answeredAt = Date.parse(response.headers.get('date') ?? '');
    return Number.isNaN(answeredAt)
      ? { path, responses, askedAt: begunAt, marginMs: otherClockMs }
      : { path, responses, askedAt: answeredAt - elapsedMs, marginMs: minAgeMs };
  }
}
