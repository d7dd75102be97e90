import { randomUUID } from 'node:crypto';
import type { SseFrame } from '../support/sse-frames.ts';
import { followResponse, type Recording, type SseRequest } from '../support/sse-recorder.ts';
import type { StackProcess } from '../support/stack.ts';
import type { Json } from '../support/stream-events.ts';
import type { Snapshot } from '../support/stream-outcome.ts';
import type { World } from '../support/world.ts';
import { silent, silentTimeoutSeconds, type Part } from './scripts.ts';

/** An event that the client received, and when (`performance.now()`). */
export interface ReceivedEvent {
  n: number;
  type: string;
  itemId: string | null;
  at: number;
}

export interface LiveOptions {
  index: number;
  part: Part;
  world: World;
  random: () => number;
  /** A running gateway. */
  gateway: () => StackProcess | undefined;
  /** The target of the first request. */
  first?: StackProcess;
  signal: AbortSignal;
}

const unreachable = 'http://127.0.0.1:9';
const snapshotShare = 0.01;

/**
 * One client with one response: it sends one request and reconnects, to any gateway, until it has the end.
 */
export class LiveResponse {
  readonly index: number;
  readonly part: Part;
  readonly received: ReceivedEvent[] = [];
  readonly snapshots: Snapshot[] = [];
  readonly done: Promise<void>;
  id: string | null = null;
  /** The gateway that it is attached to. */
  gateway: StackProcess | null = null;
  /** The message that is being written. */
  open: { id: string; deltas: number } | null = null;
  recording: Recording | null = null;
  error: Error | null = null;
  readonly #options: LiveOptions;
  readonly #key = randomUUID();
  readonly #body: Json;

  constructor(options: LiveOptions) {
    this.index = options.index;
    this.part = options.part;
    this.#options = options;
    const isSilent = options.part === silent;
    this.#body = {
      model: options.part.script.name,
      input: { text: `Question ${options.index} of ${this.#key}` },
      stream: true,
      ...(isSilent ? { platform: { timeout_seconds: silentTimeoutSeconds }, tools: [] } : {}),
    };
    this.done = this.#follow();
  }

  get hasEnded(): boolean {
    return this.recording !== null || this.error !== null;
  }

  /** Whether text arrived within the last moments. */
  isWriting(now: number): boolean {
    const last = this.received.at(-1);
    return this.open !== null && this.open.deltas > 1 && last !== undefined && now - last.at < 250;
  }

  async #follow(): Promise<void> {
    const { signal } = this.#options;
    try {
      this.recording = await followResponse({
        request: (cursor, attempt) => this.#request(cursor, attempt),
        onFrame: (frame) => this.#hear(frame),
        timeoutMs: 900_000,
        signal,
      });
    } catch (error) {
      this.error = error as Error;
    }
  }

  #request(cursor: string | null, attempt: number): SseRequest {
    const { first, gateway, random } = this.#options;
    this.gateway = (attempt === 0 ? first : undefined) ?? gateway() ?? null;
    const url = `${this.gateway?.url ?? unreachable}/api/v1/spaces/${this.#options.world.spaceId}/responses`;
    const headers = { 'X-API-Key': this.#options.world.apiKey };
    // A client that lost its connection requests the stream, or repeats its request with its cursor.
    if (cursor !== null && random() < 0.5) return { url: `${url}/${this.id}`, headers };
    return { url, method: 'POST', headers: { ...headers, 'Idempotency-Key': this.#key }, body: this.#body };
  }

  #hear(frame: SseFrame): void {
    if (frame.id === null || frame.json === undefined) return;
    const colon = frame.id.lastIndexOf(':');
    this.id = frame.id.slice(0, colon);
    const type = String(frame.json['type']);
    const item = frame.json['item'] as Json | undefined;
    const itemId = (frame.json['item_id'] ?? item?.['id'] ?? null) as string | null;
    const n = Number(frame.id.slice(colon + 1));
    this.received.push({ n, type, itemId, at: performance.now() });
    if (type === 'response.output_item.added' && item?.['type'] === 'message') {
      this.open = { id: String(itemId), deltas: 0 };
    } else if (type === 'response.output_item.done' && itemId === this.open?.id) {
      this.open = null;
    } else if (type === 'response.output_text.delta' && this.open !== null) {
      this.open.deltas += 1;
    }
    if (this.#options.random() < snapshotShare) void this.#takeSnapshot(n);
  }

  /** A read that begins after event `n`: invariant O6. A read broken by a kill has no result. */
  async #takeSnapshot(afterN: number): Promise<void> {
    const { gateway, world } = this.#options;
    const url = `${gateway()?.url ?? unreachable}/api/v1/spaces/${world.spaceId}/responses/${this.id}`;
    try {
      const answer = await fetch(url, { headers: { 'X-API-Key': world.apiKey } });
      if (answer.ok)
        this.snapshots.push({ afterN, response: ((await answer.json()) as { data: Json }).data });
    } catch {
      // The gateway was killed meanwhile.
    }
  }
}
