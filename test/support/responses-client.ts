import { setTimeout as sleep } from 'node:timers/promises';
import type { ResponseRecord } from '#domain/responses/record/response-record.ts';
import { committedApi } from './openapi.ts';
import type { Json } from './stream-events.ts';
import type { World } from './world.ts';

export interface Answer<T> {
  status: number;
  headers: Headers;
  /** The record or page; undefined for an error. */
  data: T;
  meta: Json;
  error: { code: string; param: string | null } & Json;
}

export interface CallOptions {
  method?: 'GET' | 'POST' | 'DELETE';
  body?: unknown;
  headers?: Record<string, string>;
}

/**
 * A caller of the responses of one world, through the given gateway. Every answer is checked against our own
 * OpenAPI document.
 */
export class ResponsesClient {
  readonly #world: Pick<World, 'apiKey' | 'spaceId'>;
  readonly #gateway: () => { url: string };

  constructor(world: Pick<World, 'apiKey' | 'spaceId'>, gateway: () => { url: string }) {
    this.#world = world;
    this.#gateway = gateway;
  }

  get headers(): Record<string, string> {
    return { 'X-API-Key': this.#world.apiKey };
  }

  /** The address of `…/responses` with a suffix. */
  url(path = ''): string {
    return `${this.#gateway().url}/api/v1/spaces/${this.#world.spaceId}/responses${path}`;
  }

  async call<T = ResponseRecord>(path: string, options: CallOptions = {}): Promise<Answer<T>> {
    const { method = 'GET', body, headers = {} } = options;
    const answer = await fetch(this.url(path), {
      method,
      headers: {
        ...this.headers,
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    const api = committedApi();
    const operation = api.operationAt(method, `/v1/spaces/${this.#world.spaceId}/responses${path}`);
    if (operation === undefined) throw new Error(`${method} ${path} is no operation of the API.`);
    const type = answer.headers.get('content-type') ?? undefined;
    api.expectMatches(operation, { status: answer.status, headers: { 'content-type': type }, text });
    const parsed = (text === '' ? {} : JSON.parse(text)) as Pick<Answer<T>, 'data' | 'meta' | 'error'>;
    return { ...parsed, status: answer.status, headers: answer.headers };
  }

  create(body: Json, headers: Record<string, string> = {}): Promise<Answer<ResponseRecord>> {
    return this.call('', { method: 'POST', body, headers });
  }

  async read(id: string): Promise<ResponseRecord> {
    return (await this.call(`/${id}`)).data;
  }

  /** Reads until `holds`, within a time limit. */
  async until(
    id: string,
    holds: (record: ResponseRecord) => boolean,
    withinMs = 30_000,
  ): Promise<ResponseRecord> {
    const deadline = performance.now() + withinMs;
    for (;;) {
      const record = await this.read(id);
      if (holds(record)) return record;
      if (performance.now() > deadline)
        throw new Error(`After ${withinMs} ms the response is still ${record.status}.`);
      await sleep(40);
    }
  }

  ended(id: string, withinMs?: number): Promise<ResponseRecord> {
    return this.until(id, (record) => record.finished_at !== null, withinMs);
  }

  /** Reads until so many characters have been written. */
  async writing(id: string, characters = 20): Promise<ResponseRecord> {
    return this.until(id, (record) => textOf(record).length >= characters);
  }
}

/** The text of every message of the output. */
export function textOf(record: Pick<ResponseRecord, 'output'>): string {
  return record.output
    .flatMap((item) => (item.type === 'message' ? item.content.map((part) => part.text) : []))
    .join('');
}
