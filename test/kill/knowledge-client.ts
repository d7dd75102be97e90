import { setTimeout as sleep } from 'node:timers/promises';
import type { StackProcess } from '../support/stack.ts';
import type { World } from '../support/world.ts';
import type { SourceDocument } from './knowledge-documents.ts';

export interface KnowledgeSpace {
  spaceId: string;
  collectionId: string;
}

export interface Found {
  generation: string | null;
  mode: string;
  results: { filename: string; start: number; score: number; vector_score: number }[];
}

/** Answers that no outage of a server explains. */
const isFault = (status: number): boolean => status >= 400 && status !== 503;

const patienceMs = 90_000;

/** Requests about documents to a gateway that is never killed, though the servers behind it are. */
export class KnowledgeClient {
  readonly #gateway: StackProcess;
  readonly #apiKey: string;

  constructor(gateway: StackProcess, { apiKey }: World) {
    this.#gateway = gateway;
    this.#apiKey = apiKey;
  }

  // eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters
  async send<T>(
    method: string,
    path: string,
    body?: object,
    key?: string,
  ): Promise<{ status: number; data: T; text: string }> {
    const answer = await fetch(`${this.#gateway.url}/api/v1/${path}`, {
      method,
      headers: {
        'X-API-Key': this.#apiKey,
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
        ...(key === undefined ? {} : { 'Idempotency-Key': key }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    const data = answer.ok ? (JSON.parse(text) as { data: T }).data : (undefined as T);
    return { status: answer.status, data, text };
  }

  /** Repeats the request while a server is away. @throws on any other refusal */
  async call<T>(method: string, path: string, body?: object, key?: string): Promise<T> {
    for (let end = performance.now() + patienceMs; ;) {
      const { status, data, text } = await this.send<T>(method, path, body, key);
      if (status < 400) return data;
      if (isFault(status) || performance.now() > end)
        throw new Error(`${method} ${path} answered ${status}: ${text}`);
      await sleep(100);
    }
  }

  async addModel(alias: string, origin: string, dims: number): Promise<string> {
    const model = {
      alias,
      provider_kind: 'openai_compatible',
      provider_model: alias,
      dims,
      max_tokens: 8_000,
    };
    const { id } = await this.call<{ id: string }>('POST', 'admin/embedding-models', {
      ...model,
      base_url: `${origin}/v1`,
    });
    return id;
  }

  async addSpace(name: string): Promise<KnowledgeSpace> {
    const { id: spaceId } = await this.call<{ id: string }>('POST', 'spaces', { name });
    const made = await this.call<{ id: string }>('POST', `spaces/${spaceId}/collections`, { name });
    return { spaceId, collectionId: made.id };
  }

  async changeModel({ spaceId }: KnowledgeSpace, modelId: string): Promise<void> {
    await this.call('PUT', `spaces/${spaceId}/embedding`, { model_id: modelId });
  }

  /** @returns the id of the document; a repeat of the request adds no second one */
  async upload({ spaceId, collectionId }: KnowledgeSpace, document: SourceDocument): Promise<string> {
    const { filename, mediaType, content } = document;
    const path = `spaces/${spaceId}/collections/${collectionId}/documents`;
    const body = { filename, media_type: mediaType, content };
    return (await this.call<{ id: string }>('POST', path, body, `${spaceId}-${filename}`)).id;
  }

  search({ spaceId }: KnowledgeSpace, query: string, alpha?: number) {
    const path = `spaces/${spaceId}/tools/knowledge_search/execute`;
    return this.send<Found>('POST', path, { query, ...(alpha === undefined ? {} : { alpha }) });
  }
}
