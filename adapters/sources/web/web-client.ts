import { setTimeout as sleep } from 'node:timers/promises';
import { SourceFailure } from '#domain/knowledge/connectors/source.ts';
import { discardBody, readBeginning } from '../shared/bounded-body.ts';
import { followRedirects } from '../shared/follow-redirects.ts';
import { statusFailure } from '../shared/http-failure.ts';
import { userAgent } from '../shared/user-agent.ts';
import { isOwnRedirect } from './own-redirect.ts';
import { maxRobotsBytes, parseRobots, type Robots } from './robots.ts';
import type { Site } from './site.ts';

const maxRedirects = 5;
const redirectStatuses = new Set([301, 302, 303, 307, 308]);

export type WebAnswer =
  | {
      kind: 'answer';
      response: Response;
      address: string;
      /** The page was moved for good. */
      moved: boolean;
      /** A redirect for the time being was on the way, to what may be another page. */
      detoured: boolean;
    }
  /** To another page of the site, or, as null, to another site. */
  | { kind: 'redirect'; to: string | null; permanent: boolean }
  /** By robots.txt. */
  | { kind: 'disallowed' };

/** Requests to one site, as its robots.txt asks for them. */
export class WebClient {
  readonly #fetch: typeof globalThis.fetch;
  readonly #site: Site;
  readonly #robots = new Map<string, Promise<Robots>>();
  /** By origin: when the next request may be sent. */
  readonly #turns = new Map<string, number>();

  constructor(fetch: typeof globalThis.fetch, site: Site) {
    this.#fetch = fetch;
    this.#site = site;
  }

  /** One request, without following a redirect. */
  async request(
    address: string,
    signal: AbortSignal,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<WebAnswer> {
    const { origin } = new URL(address);
    const robots = await this.robots(origin, signal);
    if (!robots.allows(address)) {
      return { kind: 'disallowed' };
    }
    await this.#turn(origin, robots.delayMs, signal);
    const response = await this.#fetch(address, { signal, headers: { ...headers, 'user-agent': userAgent } });
    const location = response.headers.get('location');
    if (!redirectStatuses.has(response.status) || location === null) {
      return { kind: 'answer', response, address, moved: false, detoured: false };
    }
    await discardBody(response);
    const permanent = response.status === 301 || response.status === 308;
    return { kind: 'redirect', to: this.#site.resolve(location, address), permanent };
  }

  /** Follows redirects inside the site. */
  async follow(
    address: string,
    signal: AbortSignal,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<WebAnswer> {
    let [at, moved, detoured] = [address, false, false];
    for (let hop = 0; hop <= maxRedirects; hop += 1) {
      const answer = await this.request(at, signal, headers);
      if (answer.kind === 'answer') {
        return { ...answer, moved, detoured };
      }
      if (answer.kind === 'disallowed' || answer.to === null) {
        return answer;
      }
      moved ||= answer.permanent;
      detoured ||= !answer.permanent && !(this.#site.accepts(answer.to) && isOwnRedirect(at, answer.to));
      at = answer.to;
    }
    throw new SourceFailure('source_invalid', `The site redirects more than ${maxRedirects} times.`);
  }

  /** Read once for each opened source. */
  async robots(origin: string, signal: AbortSignal): Promise<Robots> {
    const known = this.#robots.get(origin);
    const robots = known ?? this.#readRobots(origin, signal);
    this.#robots.set(origin, robots);
    try {
      return await robots;
    } catch (error) {
      this.#robots.delete(origin);
      throw error;
    }
  }

  /** A site whose robots.txt fails forbids everything for now; without one everything is allowed. */
  async #readRobots(origin: string, signal: AbortSignal): Promise<Robots> {
    const address = `${origin}/robots.txt`;
    const init = { signal, headers: { 'user-agent': userAgent } };
    const { response } = await followRedirects(this.#fetch, address, init);
    if (response.status === 429 || response.status >= 500) {
      await discardBody(response);
      throw statusFailure(response);
    }
    if (!response.ok) {
      await discardBody(response);
      return parseRobots('');
    }
    const { content } = await readBeginning(response, maxRobotsBytes);
    return parseRobots(new TextDecoder().decode(content));
  }

  async #turn(origin: string, delayMs: number, signal: AbortSignal): Promise<void> {
    const now = Date.now();
    const turn = Math.max(now, this.#turns.get(origin) ?? 0);
    this.#turns.set(origin, turn + delayMs);
    if (turn > now) {
      await sleep(turn - now, undefined, { signal });
    }
  }
}
